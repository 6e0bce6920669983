package wire

import (
	"encoding/json"
	"time"
)

// Methods of commands.
const (
	MethodPing        = "ping_probe"   // checks that the service worker responds
	MethodTabsList    = "tabs_list"    // lists the shared tabs
	MethodTabNew      = "tab_new"      // opens a blank background tab for the agent and attaches to it
	MethodTabClose    = "tab_close"    // closes an agent's tab, stops sharing a user's tab
	MethodTabAttach   = "tab_attach"   // attaches the debugger; idempotent
	MethodTabRelease  = "tab_release"  // detaches the debugger; the tab stays shared
	MethodTabUsed     = "tab_used"     // reports that an agent's call uses a tab, which renews the time that it is shared for
	MethodTabsOpened  = "tabs_opened"  // reports whether all tabs that pages opened are shared
	MethodOpenTargets = "open_targets" // reports which tabs are open, also those that are not shared
	MethodCDP         = "cdp"          // sends a CDP command
	MethodConsent     = "consent"      // prompts the user in the extension popup
	MethodCDPClients  = "cdp_clients"  // replaces the list of the server's CDP clients, which the popup shows

	// MethodHandover hands a tab over to the user: it shows the tab and the question, and waits for
	// the answer. A repeated command with the same id waits for the same question.
	MethodHandover = "handover"
	// MethodHandoverEnd removes the question of a handover.
	MethodHandoverEnd = "handover_end"

	// MethodDownloadCancel cancels a download that the policy denies and removes its partial file.
	MethodDownloadCancel = "download_cancel"
)

// A Method describes a method of commands.
type Method struct {
	Name    string
	Timeout time.Duration
	Params  any // zero value of the type of Command.Params
	Data    any // zero value of the type of Result.Data; nil if the browser determines it
}

// Timeouts of commands. A timeout never closes the connection.
const (
	// CommandTimeout applies to commands that a running service worker completes in milliseconds.
	CommandTimeout = 30 * time.Second
	// SlowTimeout applies to commands that wait for a page or the user.
	SlowTimeout = 60 * time.Second
	// ClientTimeout applies to commands of CDP clients, which may wait for a promise of a page and
	// have their own timeouts.
	ClientTimeout = 10 * time.Minute
)

// Methods returns all methods.
func Methods() []Method {
	return []Method{
		{MethodPing, CommandTimeout, Empty{}, Empty{}},
		{MethodTabsList, CommandTimeout, Empty{}, TabsList{}},
		{MethodTabNew, CommandTimeout, Empty{}, Tab{}},
		{MethodTabClose, CommandTimeout, TabRef{}, TabClosed{}},
		{MethodTabAttach, CommandTimeout, TabRef{}, Tab{}},
		{MethodTabRelease, CommandTimeout, TabRef{}, Empty{}},
		{MethodTabUsed, CommandTimeout, TabRef{}, Empty{}},
		{MethodTabsOpened, CommandTimeout, Empty{}, TabsOpened{}},
		{MethodOpenTargets, CommandTimeout, Targets{}, Targets{}},
		{MethodCDP, CommandTimeout, CDPCommand{}, nil},
		{MethodConsent, SlowTimeout, PromptParams{}, PromptResult{}},
		{MethodCDPClients, CommandTimeout, CDPClients{}, Empty{}},
		{MethodHandover, SlowTimeout, HandoverParams{}, HandoverResult{}},
		{MethodHandoverEnd, CommandTimeout, HandoverRef{}, Empty{}},
		{MethodDownloadCancel, CommandTimeout, DownloadRef{}, Empty{}},
	}
}

// SlowCDP returns the CDP methods that use [SlowTimeout].
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

// Timeout returns how long to wait for the reply to a command. For [MethodCDP], params must be a
// CDPCommand or a pointer to one; for other methods it is ignored.
func Timeout(method string, params any) time.Duration {
	var cdp, client string
	switch p := params.(type) {
	case CDPCommand:
		cdp, client = p.Method, p.Client
	case *CDPCommand:
		cdp, client = p.Method, p.Client
	}
	if client != "" {
		return ClientTimeout
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
	TabID    int    `json:"tabId"`    // tab id of the chrome.tabs API
	TargetID string `json:"targetId"` // CDP target id; equals the id of the main frame
	URL      string `json:"url"`
	Title    string `json:"title"`
	Active   bool   `json:"active"` // whether it is the active tab of its window
	Own      bool   `json:"own"`    // opened by tab_new, not by the user
	Index    int    `json:"index"`  // position in its window

	// OpenerTabID is the shared tab whose page opened this tab, or 0. Such a tab is automatically
	// shared with the same server, and Own is the same as for the opener.
	OpenerTabID int `json:"openerTabId,omitempty"`

	// SharedByUserAt is when the user shared this tab, in milliseconds since 1970. 0 means that it
	// was shared automatically.
	SharedByUserAt int64 `json:"chosen,omitempty"`

	// Renewable reports that sharing ends some time after the last tab_used.
	Renewable bool `json:"renewable,omitempty"`
}

// A TabsList is the result of tabs_list.
type TabsList struct {
	Tabs []Tab `json:"tabs"`
	// Elsewhere is the number of shared tabs that other servers drive.
	Elsewhere int `json:"elsewhere,omitempty"`
	// Ended has the open tabs that were shared and no longer are, with the reasons.
	Ended []TabUnshared `json:"ended,omitempty"`
}

// A TabRef refers to a tab.
type TabRef struct {
	TabID int `json:"tabId"`
}

// TabClosed is the result of tab_close. Exactly one field is true.
type TabClosed struct {
	Closed   bool `json:"closed"`
	Released bool `json:"released"` // no longer shared, but still open
}

// TabsOpened is the result of tabs_opened.
type TabsOpened struct {
	// Pending is the number of new tabs that a page may have opened, because the browser has not
	// reported yet who opened them. If it is 0, an event tab_shared was sent before for each tab
	// that a page of a shared tab opened.
	Pending int `json:"pending"`
}

// Targets are the target ids of tabs. The result of open_targets has those of its parameters that are
// open.
type Targets struct {
	Targets []string `json:"targets"`
}

// A CDPCommand is a CDP command.
type CDPCommand struct {
	TabID     int             `json:"tabId"`
	SessionID string          `json:"sessionId,omitempty"` // CDP session of a frame or worker; empty means the tab itself
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"` // an object
	// MaxString is how many characters of a string the result of Runtime.evaluate and
	// Runtime.awaitPromise may have; 0 means any number. A result with a longer string has only the
	// member result, whose strings are cut, and the members cut, which is true, and threw.
	MaxString int `json:"maxString,omitempty"`
	// Client is the id of the CDP client that sent the command; it is empty for commands of tools.
	// Other checks apply to the commands of clients.
	Client string `json:"client,omitempty"`
}

// CDPClients are the CDP clients of a server, in the order in which they connected. A new connection
// has none.
type CDPClients struct {
	Clients []CDPClient `json:"clients"`
}

// A CDPClient is a connected CDP client.
type CDPClient struct {
	ID   string `json:"id"`   // as in CDPCommand.Client
	Name string `json:"name"` // shown to the user
}

// A DownloadRef refers to a download.
type DownloadRef struct {
	ID int `json:"id"` // the browser's download id
}

// Kinds of permission prompts. The extension stores and applies the answer to ConsentEval. The
// server stores the answers to the others.
const (
	ConsentEval      = "eval"      // run scripts in the pages of a site
	ConsentSite      = "site"      // use a site that the policy does not allow
	ConsentMutations = "mutations" // change pages
	ConsentDownloads = "downloads" // save files
	ConsentClipboard = "clipboard" // use the user's clipboard in pages of a site
)

// A PromptParams is a prompt for the user. Calls share a prompt only if all
// fields are equal. The answer "once" applies only to the waiting calls.
type PromptParams struct {
	Kind   string `json:"kind"`
	Origin string `json:"origin"`           // origin of the site that the call is about
	Tool   string `json:"tool,omitempty"`   // name of the tool; empty with ConsentEval
	Client string `json:"client,omitempty"` // id of the MCP client, chosen by the server; with ConsentEval that of a CDP client, if one asks
	Call   string `json:"call"`             // hash of the tool and all its arguments; the id of a CDP client
}

// A PromptResult is the user's answer to a prompt.
type PromptResult struct {
	Granted bool   `json:"granted"`
	Answer  string `json:"answer,omitempty"` // once, session or no; with ConsentEval also always, and empty for a stored answer
}

// HandoverParams is a question to the user about a tab. The extension itself names the site and the
// agent.
type HandoverParams struct {
	ID      string `json:"id"` // of the question, chosen by the server
	TabID   int    `json:"tabId"`
	Message string `json:"message"` // what the user is asked to do, written by the agent
	// Again means that the question was sent before, so the tab is not shown again: the user may be
	// elsewhere in the meantime.
	Again bool `json:"again"`
}

// A HandoverRef refers to the question of a handover.
type HandoverRef struct {
	ID string `json:"id"`
}

// A HandoverResult is the user's answer to the question of a handover.
type HandoverResult struct {
	Answer string `json:"answer"` // one of HANDOVER_ANSWERS
}

// MaxHandoverMessage is the maximum length of HandoverParams.Message, in characters. The user reads
// all of it before acting.
const MaxHandoverMessage = 500

// HandoverAnswers returns the values of HandoverResult.Answer.
func HandoverAnswers() []string { return []string{"done", "cannot"} }
