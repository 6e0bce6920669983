package relay

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cdprotoCommands returns the commands of the version of package cdproto that this module requires.
func cdprotoCommands(t *testing.T) []string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/chromedp/cdproto").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	constant := regexp.MustCompile(`(?m)^\s+Command\w+\s+= "(\w+\.\w+)"$`)
	var all []string
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllStringSubmatch(string(source), -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// TestTableComplete checks that the table has a decision on each command of package cdproto, and no
// rule without a command. A new version of the package fails it, so that its new commands are
// noticed.
func TestTableComplete(t *testing.T) {
	commands := cdprotoCommands(t)
	if len(commands) < 600 {
		t.Fatalf("%d commands found", len(commands))
	}
	for _, name := range commands {
		if table()[name] == nil {
			t.Errorf("%s is not in protocol.txt: decide on it, and add it", name)
		}
	}
	known := map[string]bool{}
	for _, d := range domains() {
		known[d.name] = true
		if _, ok := domainRules()[d.name]; !ok {
			t.Errorf("domain %s has no rule", d.name)
		}
	}
	for name := range domainRules() {
		if !known[name] {
			t.Errorf("the rule for domain %s matches no command", name)
		}
	}
	for name := range methodRules() {
		if table()[name] == nil {
			t.Errorf("the rule for %s matches no command", name)
		}
	}
}

// TestDeniedCommands checks that commands that affect the whole browser or this machine are denied.
func TestDeniedCommands(t *testing.T) {
	b := newFake()
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "test")
	for _, name := range []string{
		"Target.exposeDevToolsProtocol", "Target.setRemoteLocations", "Target.sendMessageToTarget",
		"Browser.crash", "Browser.crashGpuProcess", "Browser.getBrowserCommandLine", "Browser.executeBrowserCommand",
		"Browser.getHistogram", "Browser.addPrivacySandboxEnrollmentOverride", "Browser.setDockTile",
		"Tracing.start", "SystemInfo.getInfo", "Memory.prepareForLeakDetection", "Network.loadNetworkResource",
		"Extensions.loadUnpacked", "PWA.install", "Tethering.bind", "Cast.enable", "DeviceAccess.enable",
		"BluetoothEmulation.enable", "FileSystem.getDirectory", "BackgroundService.startObserving", "Autofill.trigger",
		"Ads.getAdMetrics", "Page.crash", "Emulation.addScreen", "Emulation.updateScreen", "HeadlessExperimental.beginFrame", "ServiceWorker.unregister",
		"HeapProfiler.addInspectedHeapObject", "HeapProfiler.getObjectByHeapObjectId",
		"Storage.getTrustTokens", "Unknown.command", "Page.unknown", "Tracing.unknown", "page.navigate",
	} {
		m := c.try("", name, map[string]any{})
		if m.Error == nil || m.Error.Code != codeUnknownMethod || !strings.Contains(m.Error.Message, "'"+name+"' is not available through chrome-mcp: ") {
			t.Errorf("%s: %s %+v", name, m.Result, m.Error)
		}
	}
	if sent := b.sent(); len(sent) != 0 {
		t.Errorf("the browser got %q", sent)
	}
	// Commands for pages would affect all pages if they were sent to the browser's session.
	for _, name := range []string{"Fetch.enable", "Security.setIgnoreCertificateErrors"} {
		c.denied("", name, map[string]any{"ignore": true}, "all pages")
	}
}
