// Package executortest is the contract suite that every backend must pass. It checks the
// documentation of package executor on real pages.
package executortest

import "github.com/chrome-mcp/chrome-mcp/internal/testing/suite"

// Topics is the suite.
var Topics = []suite.Topic{
	{Name: "tabs", Cases: tabs},
	{Name: "popups", Cases: popups},
	{Name: "navigate", Cases: navigate},
	{Name: "history", Cases: history},
	{Name: "error_pages", Cases: errorPages},
	{Name: "nested_frames", Cases: nestedFrames},
	{Name: "clipboard", Cases: clipboard},
	{Name: "secrets", Cases: secrets},
	{Name: "dialogs", Cases: dialogs},
	{Name: "native_dialogs", Cases: nativeDialogs},
	{Name: "screenshot", Cases: screenshot},
	{Name: "download", Cases: download},
	{Name: "upload", Cases: upload},
	{Name: "save_pdf", Cases: savePDF},
	{Name: "cookies", Cases: cookies},
	{Name: "storage", Cases: storage},
	{Name: "session_state", Cases: sessionState},
	{Name: "gate", Cases: gate},
	{Name: "denied_frames", Cases: deniedFrames},
	{Name: "denied_pixels", Cases: deniedPixels},
	{Name: "hostile_frame", Cases: hostileFrame},
	{Name: "denied_input", Cases: deniedInput},
	{Name: "denied_pointer", Cases: deniedPointer},
	{Name: "sessions", Cases: sessions},
	{Name: "concurrency", Cases: concurrency},
	{Name: "console", Cases: inspectConsole},
	{Name: "requests", Cases: inspectRequests},
	{Name: "emulation", Cases: emulation},
	{Name: "protocol", Cases: protocol},
	{Name: "events", Cases: events},
	{Name: "handover", Cases: handover},
}
