package wire

import "encoding/json"

// Names of events.
const (
	EventTabShared   = "tab_shared"
	EventTabUpdated  = "tab_updated"
	EventTabUnshared = "tab_unshared"
	EventDetached    = "detached" // the debugger was detached; the tab stays shared
	EventCDP         = "cdp"      // a CDP event
	EventDownload    = "download"
	EventElementSent = "element_sent" // the user chose "Send to agent" in a context menu
	EventStopped     = "stopped"      // the user pressed Stop all
	// EventClientStopped reports that the user pressed Stop at a CDP client.
	EventClientStopped = "client_stopped"
)

// An EventType describes an event.
type EventType struct {
	Name string
	Data any // zero value of the type of Event.Data
}

// EventTypes returns all events.
func EventTypes() []EventType {
	return []EventType{
		{EventTabShared, Tab{}},
		{EventTabUpdated, Tab{}},
		{EventTabUnshared, TabUnshared{}},
		{EventDetached, Detached{}},
		{EventCDP, CDPEvent{}},
		{EventDownload, Download{}},
		{EventElementSent, ElementSent{}},
		{EventStopped, Empty{}},
		{EventClientStopped, ClientRef{}},
	}
}

// UnsharedReasons returns the values of TabUnshared.Reason.
func UnsharedReasons() []string {
	return []string{"user", "released", "stopped", "closed", "locked", "idle", "moved", "other_server", "debugger", "expired"}
}

// DownloadStates returns the values of Download.State.
func DownloadStates() []string { return []string{"in_progress", "complete", "interrupted"} }

// TabUnshared reports that a tab is no longer shared.
type TabUnshared struct {
	TabID  int    `json:"tabId"`
	Reason string `json:"reason"` // one of UNSHARED_REASONS
}

// A ClientRef refers to a CDP client.
type ClientRef struct {
	Client string `json:"client"` // id
}

// ElementSent reports that the user chose "Send to agent" in the context menu of a shared tab. The
// server knows the element, from the contextmenu event.
type ElementSent struct {
	TabID int    `json:"tabId"`
	Frame string `json:"frame,omitempty"` // URL of the document of the frame; missing for the top document
}

// Detached reports that the debugger was detached from a tab that is still shared.
type Detached struct {
	TabID  int    `json:"tabId"`
	Reason string `json:"reason"` // as reported by the browser, or a sentence
}

// A CDPEvent is a CDP event.
type CDPEvent struct {
	TabID     int             `json:"tabId"`
	SessionID string          `json:"sessionId,omitempty"` // CDP session of a frame or worker; empty means the tab itself
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"`

	// Denied reports that the event is about a document that the policy denies. CDP clients do not
	// receive it, except for events about the structure of the page.
	Denied bool `json:"denied,omitempty"`
	// NoConsent reports that the user has not allowed scripts on the site of the document that the
	// event is about. CDP clients do not receive what the document sends.
	NoConsent bool `json:"noConsent,omitempty"`
}

// A Download is the state of a download.
type Download struct {
	ID       int    `json:"id"`              // the browser's download id
	TabID    int    `json:"tabId,omitempty"` // missing if unknown
	URL      string `json:"url"`             // before redirects
	FinalURL string `json:"finalUrl,omitempty"`
	Filename string `json:"filename"` // absolute path; empty until the browser chooses it
	State    string `json:"state"`    // one of DOWNLOAD_STATES
	Bytes    int64  `json:"bytes"`    // number of bytes received
	Total    int64  `json:"total"`    // expected number of bytes; -1 if unknown
	MIME     string `json:"mime"`
	Error    string `json:"error,omitempty"` // as reported by the browser, if interrupted
	// Opened reports that the tab's page opened a popup window for the download, which the browser
	// closed again, so that no page reports the download.
	Opened bool `json:"opened,omitempty"`
}
