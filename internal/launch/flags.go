package launch

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// windowFrame is the height of the tab strip and the address bar, by which a window is taller than
// its viewport. A headless window also has them. Measured on Chromium 156. A caller that needs the
// exact size sets it in the page.
const windowFrame = 87

// windowHeight returns the height of a window of browser, a path, with a viewport of the given height.
func windowHeight(browser string, viewport int) int {
	if isHeadlessShell(browser) {
		return viewport
	}
	return viewport + windowFrame
}

// isHeadlessShell reports whether browser is the path of a headless shell: a Chromium without a user
// interface, which is called chrome-headless-shell, chromium-headless-shell or headless_shell.
func isHeadlessShell(browser string) bool {
	name := strings.ReplaceAll(filepath.Base(browser), "_", "-")
	return strings.Contains(name, "headless-shell")
}

// backgroundOffSwitches disable browser activity and dialogs that no page and no caller caused.
// They do not hide that the browser is automated.
var backgroundOffSwitches = []string{
	"--no-first-run",
	"--no-default-browser-check",
	"--no-service-autorun",
	"--no-pings",
	"--disable-background-networking",
	"--disable-breakpad",
	"--disable-client-side-phishing-detection",
	"--disable-component-update",
	"--disable-default-apps",
	"--disable-domain-reliability",
	"--disable-field-trial-config",
	"--disable-search-engine-choice-screen",
	"--disable-sync",
	"--hide-crash-restore-bubble",
	"--metrics-recording-only",
	"--safebrowsing-disable-auto-update",
	// Do not use a keyring: its dialog would wait for user input.
	"--password-store=basic",
	"--use-mock-keychain",
	// Do not throttle background tabs.
	"--disable-background-timer-throttling",
	"--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding",
	"--disable-hang-monitor",
	"--disable-prompt-on-repost",
	// The first tab opens a window. Without a window at startup, there is no page to discard and no
	// warning infobar that reduces the viewport.
	"--no-startup-window",
}

// disabledFeatures are disabled for the same reason.
var disabledFeatures = []string{
	"AutofillServerCommunication",
	"CertificateTransparencyComponentUpdater",
	"DestroyProfileOnBrowserClose", // keeps the profile loaded between the last tab and the next
	"DialMediaRouteProvider",
	"GlobalMediaControls",
	"HttpsUpgrades", // keeps http://localhost URLs unchanged
	"InterestFeedContentSuggestions",
	"MediaRouter",
	"OptimizationHints",
	"PasswordManagerOnboarding",
	"PrivacySandboxSettings4",
	"Translate",
	// Each window loads two WebUI pages for the suggestions of the address bar. They take 40 % of
	// the CPU time of a new window. Measured on Chromium 156.
	"WebUIOmniboxAimPopup",
	"WebUIOmniboxPopup",
}

// ProxyFeatures can send requests before or outside of the requests of a page.
var ProxyFeatures = []string{
	"AsyncDns",
	"NetworkTimeServiceQuerying",
	"Prerender2",
}

// blinkSettings are the settings of the renderers. On Linux a click with the middle button pastes
// what is selected anywhere: in another browser context, in a password field, or in another program.
var blinkSettings = []string{"middleClickPasteAllowed=false"}

// reservedSwitches are switches that control the connection to the browser and its profile. Callers
// cannot set them.
var reservedSwitches = []string{
	"remote-debugging-pipe", "remote-debugging-port", "remote-debugging-address", "remote-debugging-io-pipes",
	"user-data-dir", "headless", "no-startup-window",
}

// proxyBypassSwitches are switches that bypass a proxy or weaken browser features that a policy
// depends on.
var proxyBypassSwitches = []string{
	// Where connections go.
	"proxy-server", "proxy-bypass-list", "proxy-pac-url", "proxy-auto-detect", "no-proxy-server", "winhttp-proxy-resolver",
	"host-resolver-rules", "host-rules", "webrtc-ip-handling-policy", "force-webrtc-ip-handling-policy",
	"enable-quic", "origin-to-force-quic-on", "dns-over-https-mode", "dns-over-https-templates",
	"explicitly-allowed-ports", "auth-server-allowlist", "auth-negotiate-delegate-allowlist",
	// Process isolation between sites, and the same-origin policy.
	"disable-site-isolation-trials", "disable-site-isolation-for-policy", "single-process", "process-per-site", "renderer-process-limit",
	"disable-web-security", "allow-file-access-from-files", "allow-running-insecure-content", "unsafely-treat-insecure-origin-as-secure",
	"ip-address-space-overrides", "force-fieldtrials", "force-fieldtrial-params",
	// TLS certificates and keys.
	"ignore-certificate-errors", "ignore-urlfetcher-cert-requests", "allow-insecure-localhost", "ssl-key-log-file",
	// Extensions and DevTools clients.
	"load-extension", "disable-extensions-except", "allowlisted-extension-id", "extensions-on-chrome-urls", "enable-unsafe-extension-debugging",
	"silent-debugger-extension-api", "remote-allow-origins", "custom-devtools-frontend", "enable-devtools-experiments",
	// Executables of browser processes.
	"renderer-cmd-prefix", "utility-cmd-prefix", "gpu-launcher", "browser-subprocess-path",
}

// requiredFeatures are the features that a policy depends on, under all past and present Chromium
// names.
var requiredFeatures = []string{
	"IsolateOrigins", "isolate-origins", "SitePerProcess", "site-per-process", "IsolateSandboxedIframes", "OriginIsolationHeader",
	"LocalNetworkAccessChecks", "BlockInsecurePrivateNetworkRequests", "PrivateNetworkAccessForNavigations", "OpaqueResponseBlockingV02",
}

// unsafeUnderProxy returns the part of a switch that is not allowed in a browser behind the egress
// proxy, or "" if the switch is allowed.
func unsafeUnderProxy(name, value string) string {
	if slices.Contains(proxyBypassSwitches, name) {
		return "--" + name
	}
	if name == "disable-features" {
		for feature := range strings.SplitSeq(value, ",") {
			// Other spellings are "Name<Trial", "Name:parameters" and "*Name".
			feature = strings.TrimPrefix(strings.TrimSpace(feature), "*")
			if i := strings.IndexAny(feature, "<:."); i >= 0 {
				feature = feature[:i]
			}
			if slices.ContainsFunc(requiredFeatures, func(required string) bool { return strings.EqualFold(required, feature) }) {
				return "--" + name + "=" + feature
			}
		}
	}
	return ""
}

// arguments returns the command-line arguments of a browser on the profile in dir.
func (o *Options) arguments(dir string, headless bool) ([]string, error) {
	args := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + dir,
		fmt.Sprintf("--window-size=%d,%d", o.Width, windowHeight(o.Browser, o.Height)),
	}
	args = append(args, backgroundOffSwitches...)
	off := slices.Concat(disabledFeatures, dialogFeatures)
	if headless {
		args = append(args, "--headless=new", "--hide-scrollbars", "--mute-audio")
	} else if o.Color != "" {
		rgb, _ := strconv.ParseUint(o.Color[1:], 16, 32) // the options are valid
		args = append(args, fmt.Sprintf("--install-autogenerated-theme=%d,%d,%d", rgb>>16, rgb>>8&0xff, rgb&0xff))
	}
	if o.NoSandbox {
		args = append(args, "--no-sandbox")
	}
	if o.ProxyServer != "" {
		proxied, err := ProxyArguments(o.ProxyServer)
		if err != nil {
			return nil, err
		}
		args = append(args, proxied...)
		off = append(off, ProxyFeatures...)
	}

	if o.CertificateKey != "" {
		args = append(args, "--ignore-certificate-errors-spki-list="+o.CertificateKey)
	}
	if o.NoBackForwardCache {
		off = append(off, "BackForwardCache")
	}

	var settings []string
	for _, arg := range o.ExtraArgs {
		name, value, err := CheckArgument(arg, o.ProxyServer != "")
		switch {
		case err != nil:
			return nil, err
		case name == "disable-features":
			// Chromium uses only the last of several; ours must stay effective.
			off = append(off, strings.Split(value, ",")...)
		case name == "blink-settings":
			settings = append(settings, strings.Split(value, ",")...) // here also only the last is used
		default:
			args = append(args, arg)
		}
	}
	settings = append(settings, blinkSettings...)
	return append(args, "--disable-features="+strings.Join(off, ","), "--blink-settings="+strings.Join(settings, ",")), nil
}

// ProxyArguments returns the arguments of a browser whose network goes through the proxy at server,
// a host and port, only.
func ProxyArguments(server string) ([]string, error) {
	host, _, err := net.SplitHostPort(server)
	if err != nil || host == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, "Specify host:port.", "proxy %q is not an address", server)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return []string{
		"--proxy-server=http://" + server,
		"--proxy-bypass-list=<-loopback>", // loopback also uses the proxy
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE " + host,
		"--disable-quic",
		"--dns-prefetch-disable",
	}, nil
}

// CheckArgument splits a command-line argument of a caller, and returns an error if it is not
// allowed.
func CheckArgument(arg string, proxied bool) (name, value string, err error) {
	if name, value, err = splitSwitch(arg); err != nil {
		return "", "", err
	}
	if slices.Contains(reservedSwitches, name) {
		return "", "", executor.Errorf(executor.ErrBadArgs, "Use the corresponding option, if there is one.", "browser argument --%s is set by the launch itself", name)
	}
	if name == "blink-settings" {
		for setting := range strings.SplitSeq(value, ",") {
			for _, ours := range blinkSettings {
				if key, _, _ := strings.Cut(ours, "="); strings.EqualFold(key, strings.TrimSpace(strings.SplitN(setting, "=", 2)[0])) && setting != ours {
					return "", "", executor.Errorf(executor.ErrBadArgs, "Remove the setting.", "browser argument --blink-settings changes %s, which must stay off", key)
				}
			}
		}
	}
	if proxied {
		if unsafe := unsafeUnderProxy(name, value); unsafe != "" {
			return "", "", executor.Errorf(executor.ErrBadArgs, "Remove the argument. The network policy does not allow it.", "browser argument %s affects the network or weakens site isolation", unsafe)
		}
	}
	return name, value, nil
}

// splitSwitch splits "--name=value". It rejects an argument that is not a switch, because Chromium
// would open it as a page.
func splitSwitch(arg string) (name, value string, err error) {
	rest, ok := strings.CutPrefix(arg, "-")
	rest = strings.TrimPrefix(rest, "-")
	name, value, _ = strings.Cut(rest, "=")
	if !ok || name == "" {
		return "", "", executor.Errorf(executor.ErrBadArgs, "Write --name or --name=value.", "browser argument %q is not a switch", arg)
	}
	return strings.ToLower(name), value, nil
}
