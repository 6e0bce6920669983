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
	EventStopped     = "stopped" // the user pressed Stop all
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
		{EventStopped, Empty{}},
	}
}

// UnsharedReasons returns the values of TabUnshared.Reason.
func UnsharedReasons() []string {
	return []string{"user", "stopped", "closed", "locked", "idle", "moved", "other_server", "debugger"}
}

// DownloadStates returns the values of Download.State.
func DownloadStates() []string { return []string{"in_progress", "complete", "interrupted"} }

// TabUnshared reports that a tab is no longer shared.
type TabUnshared struct {
	TabID  int    `json:"tabId"`
	Reason string `json:"reason"` // one of UNSHARED_REASONS
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
