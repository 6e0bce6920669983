package wire

import (
	"encoding/json"
	"time"
)

// The methods of commands.
const (
	MethodPing       = "ping_probe"  // whether the worker answers
	MethodTabsList   = "tabs_list"   // the shared tabs
	MethodTabNew     = "tab_new"     // a blank tab of the agent's own, in the background, attached
	MethodTabClose   = "tab_close"   // closes an own tab, lets go of a user's
	MethodTabAttach  = "tab_attach"  // attaches the debugger; again and again does no harm
	MethodTabRelease = "tab_release" // detaches the debugger; the tab stays shared
	MethodCDP        = "cdp"         // a command of the browser's own protocol
	MethodConsent    = "consent"     // asks the user in the popup

	// MethodDownloadCancel ends a download that the rules do not allow, and
	// removes what there is of its file.
	MethodDownloadCancel = "download_cancel"
)

// A Method is a row of the table of methods.
type Method struct {
	Name    string
	Timeout time.Duration
	Params  any // a value of the type of params
	Data    any // a value of the type of the result's data; nil when it is the browser's own
}

// The timeouts of commands. A timeout never closes the connection.
const (
	// CommandTimeout is for what a living worker does in milliseconds.
	CommandTimeout = 30 * time.Second
	// SlowTimeout is for what waits for a page, or for a person.
	SlowTimeout = 60 * time.Second
)

// Methods returns every method.
func Methods() []Method {
	return []Method{
		{MethodPing, CommandTimeout, Empty{}, Empty{}},
		{MethodTabsList, CommandTimeout, Empty{}, TabsList{}},
		{MethodTabNew, CommandTimeout, Empty{}, Tab{}},
		{MethodTabClose, CommandTimeout, TabRef{}, TabClosed{}},
		{MethodTabAttach, CommandTimeout, TabRef{}, Tab{}},
		{MethodTabRelease, CommandTimeout, TabRef{}, Empty{}},
		{MethodCDP, CommandTimeout, CDPCommand{}, nil},
		{MethodConsent, SlowTimeout, PromptParams{}, PromptResult{}},
		{MethodDownloadCancel, CommandTimeout, DownloadRef{}, Empty{}},
	}
}

// SlowCDP returns the commands of the browser's own protocol that get
// SlowTimeout.
func SlowCDP() []string {
	return []string{
		"Page.captureScreenshot", "Page.printToPDF",
		"Page.navigate", "Page.navigateToHistoryEntry", "Page.reload",
	}
}

var timeouts = func() map[string]time.Duration {
	m := map[string]time.Duration{}
	for _, method := range Methods() {
		m[method.Name] = method.Timeout
	}
	return m
}()

var slowCDP = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range SlowCDP() {
		m[name] = true
	}
	return m
}()

// Timeout returns how long to wait for the answer to a command. params
// matters for [MethodCDP]: a CDPCommand, or a pointer to one.
func Timeout(method string, params any) time.Duration {
	var cdp string
	switch p := params.(type) {
	case CDPCommand:
		cdp = p.Method
	case *CDPCommand:
		cdp = p.Method
	}
	if method == MethodCDP && slowCDP[cdp] {
		return SlowTimeout
	}
	if d, ok := timeouts[method]; ok {
		return d
	}
	return CommandTimeout
}

// Empty is an empty object.
type Empty struct{}

// A Tab is a shared tab.
type Tab struct {
	TabID    int    `json:"tabId"`    // the browser's
	TargetID string `json:"targetId"` // of the debugger's protocol; equals the id of the main frame
	URL      string `json:"url"`
	Title    string `json:"title"`
	Active   bool   `json:"active"` // in front in its window
	Own      bool   `json:"own"`    // made by tab_new, and not by the user
	Index    int    `json:"index"`  // in its window

	// OpenerTabID is the shared tab whose page opened it. Such a tab is shared
	// with the same server by itself, and is its own if the opener is.
	OpenerTabID int `json:"openerTabId,omitempty"`

	// SharedByUserAt is when the user shared this very tab, in ms since 1970; 0 when
	// it came to be shared by itself.
	SharedByUserAt int64 `json:"chosen,omitempty"`
}

// A TabsList is the answer to tabs_list.
type TabsList struct {
	Tabs []Tab `json:"tabs"`
	// Elsewhere is how many tabs the user shares that other servers drive.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// A TabRef names a tab.
type TabRef struct {
	TabID int `json:"tabId"`
}

// TabClosed is the answer to tab_close: one of the two is true.
type TabClosed struct {
	Closed   bool `json:"closed"`
	Released bool `json:"released"` // no longer shared, but open
}

// A CDPCommand is a command of the browser's own protocol.
type CDPCommand struct {
	TabID     int             `json:"tabId"`
	SessionID string          `json:"sessionId,omitempty"` // of a frame or a worker; none means the tab itself
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"` // an object
}

// A DownloadRef names a download.
type DownloadRef struct {
	ID int `json:"id"`
}

// The kinds of questions.
const (
	ConsentEval      = "eval"      // running scripts in the pages of a site; the extension keeps the answer, and decides by it
	ConsentSite      = "site"      // a site that the rules lack; of this and the following the server keeps the answer
	ConsentMutations = "mutations" // changing pages
	ConsentDownloads = "downloads" // saving files
)

// A PromptParams is a prompt for the user. Calls share a prompt only if all
// fields are equal. The answer "once" applies only to the waiting calls.
type PromptParams struct {
	Kind   string `json:"kind"`
	Origin string `json:"origin"`           // of the site that the call is about
	Tool   string `json:"tool,omitempty"`   // name of the tool; empty with ConsentEval
	Client string `json:"client,omitempty"` // id of the client, chosen by the server
	Call   string `json:"call"`             // hash of the tool and all its arguments
}

// A PromptResult is what the user said.
type PromptResult struct {
	Granted bool   `json:"granted"`
	Answer  string `json:"answer,omitempty"` // once, session or no; with ConsentEval also always, and empty for a stored answer
}
