package cli

import (
	"os"
	"strings"
	"testing"
)

// TestBadBrowserArgs checks that arguments that are not in the list are errors, in every spelling
// that Chromium accepts.
func TestBadBrowserArgs(t *testing.T) {
	const notListed = "is not one of --accept-lang, "
	for arg, want := range map[string]string{
		"--no-sandbox":                            notListed,
		"--host-resolver-rules=MAP * 192.0.2.1":   notListed,
		"--disable-web-security":                  notListed,
		"--load-extension=/x":                     notListed,
		"--remote-debugging-port=9222":            notListed,
		"--ignore-certificate-errors":             notListed,
		"--use-fake-ui-for-media-stream":          notListed,
		"--enable-features=X":                     notListed,
		"--disable-features=IsolateOrigins":       notListed,
		"--js-flags=--allow-natives-syntax":       notListed,
		"--disable-gpu-sandbox":                   notListed,
		"--proxy-server=http://evil.example":      "use --proxy URL",
		"--user-data-dir=/x":                      "use --profile NAME",
		"--lang=de":                               "use --browser-arg --accept-lang=LANGUAGES",
		"--window-size=800,600":                   "use --viewport WxH",
		"-disable-gpu":                            notListed,
		"/disable-gpu":                            notListed,
		"disable-gpu":                             notListed,
		"--DISABLE-GPU":                           notListed,
		"--Mute-Audio":                            notListed,
		"---mute-audio":                           notListed,
		" --mute-audio":                           notListed,
		"--mute-audio ":                           notListed,
		"--mute-audio\n":                          notListed,
		"--mute-audio\x00":                        notListed,
		"--accept-lang =de":                       notListed,
		"--":                                      notListed,
		"https://example.com":                     notListed,
		"--mute-audio --no-sandbox":               notListed,
		"--mute-audio=":                           "--mute-audio takes no value",
		"--mute-audio=true":                       "--mute-audio takes no value",
		"--accept-lang":                           "--accept-lang needs a value",
		"--accept-lang=":                          "invalid value",
		"--accept-lang=de --no-sandbox":           "invalid value",
		"--accept-lang=de\n":                      "invalid value",
		"--accept-lang=de=x":                      "invalid value",
		"--window-position=1":                     "invalid value",
		"--force-device-scale-factor=0":           "invalid value",
		"--force-device-scale-factor=100":         "invalid value",
		"--touch-events=on":                       "invalid value",
		"--force-color-profile=srgb;--no-sandbox": "invalid value",
	} {
		_, err := Parse([]string{"--browser-arg", arg}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "--browser-arg: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", arg, err, want)
		}
		// A client can send settings that its program has not checked.
		if _, err := SessionSettings("default", t.TempDir(), map[string][]string{"--browser-arg": {arg}}); err == nil {
			t.Errorf("a session accepts %q", arg)
		}
	}
	for _, c := range []struct {
		args, environ []string
		want          string
	}{
		{[]string{"--browser-arg", "--mute-audio", "--browser-arg=--mute-audio"}, nil, "--browser-arg: --mute-audio is set twice"},
		{[]string{"--browser-arg", "--mute-audio", "--cdp-endpoint=http://127.0.0.1:9222"}, nil, "--cdp-endpoint and --browser-arg are mutually exclusive"},
		{[]string{"--browser-arg="}, nil, notListed},
		{nil, []string{"CHROME_MCP_BROWSER_ARG=--mute-audio,--no-sandbox"}, "environment variable CHROME_MCP_BROWSER_ARG: "},
		{nil, []string{"CHROME_MCP_BROWSER_ARG=--mute-audio --no-sandbox"}, "environment variable CHROME_MCP_BROWSER_ARG: "},
		{[]string{"--config", writeConfig(t, `{"browser-arg": ["--mute-audio", "--no-sandbox"]}`)}, nil, `browser-arg: "--no-sandbox" is not one of`},
	} {
		if _, err := Parse(c.args, c.environ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.args, c.environ, err, c.want)
		}
	}
}

func TestBrowserArgsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range browserArgValues {
		if !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), "`"+name+"=") {
			t.Errorf("docs/install.md lacks %s", name)
		}
	}
}
