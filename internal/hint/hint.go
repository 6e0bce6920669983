// Package hint translates the hints of errors for users of the program.
//
// The packages below mcp and internal/cli are a library: a hint of their errors names a Go method
// or option, such as Page.HandleDialog or Options.Headless. Users of the program know the tool
// handle_dialog and the flag --headless instead.
package hint

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Names maps the names in the hints of the library to tools, arguments and flags of the program.
var Names = map[string]string{
	"DialogAnswer.Accept":      "accept: true",
	"Executor.Navigate":        "navigate",
	"Executor.NewPage":         "tab_new",
	"Executor.SaveState":       "session_state",
	"Executor.SelectTab":       "tab_select",
	"Executor.Tabs":            "tabs_list",
	"NavigateOptions.Resubmit": "resubmit: true",
	"Page.Click":               "click",
	"Page.Close":               "tab_close",
	"Page.Download":            "download_file",
	"Page.Eval":                "eval",
	"Page.FillForm":            "fill_form",
	"Page.HandleDialog":        "handle_dialog",
	"Page.Navigate":            "navigate",
	"Page.Reload":              "reload",
	"Page.SelectOption":        "select_option",
	"Page.Upload":              "upload_file",
	"Page.WaitFor":             "wait_for",
	"TypeOptions.Delay":        "delayMs",
	"TypeOptions.KeyEvents":    "keyEvents: true",
	"Page.Type":                "type",
	"Page.Snapshot":            "snapshot",
	"Page.Text":                "get_text",

	"Config.AllowDomains":          "--allow-domain",
	"Config.AllowPrivate":          "--allow-private",
	"Config.Clipboard":             "--clipboard",
	"Config.Downloads":             "--enable-downloads",
	"Config.Mutations":             "--enable-mutations",
	"Config.StateDir":              "--state-dir",
	"Config.Storage":               "--enable-storage",
	"Config.UploadsDir":            "--uploads-dir",
	"ManagerOptions.NoCDPFallback": "--no-cdp-fallback",
	"ManagerOptions.Prefer":        "--prefer",
	"Options.Browser":              "--browser",
	"Options.DataDir":              "--data",
	"Options.Headless":             "--headless",
	"Options.Isolated":             "--isolated",
	"Options.MaxDownloadBytes":     "--max-download",
	"Options.MaxDownloadTotal":     "--max-download-total",
	"Options.MaxDownloads":         "--parallel-downloads",
	"Options.MaxOutputBytes":       "--max-output-total",
	"Options.NoSandbox":            "--no-sandbox",
	"Options.Profile":              "--profile",
	"Options.Proxy":                "--proxy",
	"Pool.MaxBrowsers":             "--max-browsers",
	"SessionOptions.MaxTabs":       "--max-tabs",
	"HTTPOptions.BehindProxy":      "--behind-proxy",
	"HTTPOptions.Certificate":      "--tls-cert and --tls-key",
	"HTTPOptions.PublicURL":        "--public-url",
	"Client.CloseSession":          "chrome-mcp sessions close",
	"Client.Sessions":              "chrome-mcp sessions list",
	"bridge.NewPairing":            "chrome-mcp --print-pairing",
	"chromium.Install":             "chrome-mcp install",
}

var replacer = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(Names)) {
		pairs = append(pairs, name, Names[name])
	}
	return strings.NewReplacer(pairs...)
})

// Translate replaces the names in a hint of the library.
func Translate(hint string) string { return replacer().Replace(hint) }
