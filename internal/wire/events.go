package wire

import "encoding/json"

// The events.
const (
	EventTabShared   = "tab_shared"
	EventTabUpdated  = "tab_updated"
	EventTabUnshared = "tab_unshared"
	EventDetached    = "detached" // the debugger was taken away; the tab stays shared
	EventCDP         = "cdp"      // an event of the browser's own protocol
	EventDownload    = "download"
	EventStopped     = "stopped" // the user pressed Stop all
)

// An EventType is a row of the table of events.
type EventType struct {
	Name string
	Data any // a value of the type of its data
}

// EventTypes returns every event.
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

// UnsharedReasons returns why a tab can stop being shared.
func UnsharedReasons() []string {
	return []string{"user", "stopped", "closed", "locked", "idle", "moved", "other_server", "debugger"}
}

// DownloadStates returns the states of a download.
func DownloadStates() []string { return []string{"in_progress", "complete", "interrupted"} }

// TabUnshared tells that a tab is no longer shared.
type TabUnshared struct {
	TabID  int    `json:"tabId"`
	Reason string `json:"reason"` // one of UNSHARED_REASONS
}

// Detached tells that the debugger was taken away.
type Detached struct {
	TabID  int    `json:"tabId"`
	Reason string `json:"reason"` // the browser's word, or a sentence
}

// A CDPEvent is an event of the browser's own protocol.
type CDPEvent struct {
	TabID     int             `json:"tabId"`
	SessionID string          `json:"sessionId,omitempty"` // of a frame or a worker; none means the tab itself
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params,omitempty"`
}

// A Download is the state of a download.
type Download struct {
	ID       int    `json:"id"`              // the browser's
	TabID    int    `json:"tabId,omitempty"` // where it is known
	URL      string `json:"url"`             // the first one, before redirects
	FinalURL string `json:"finalUrl,omitempty"`
	Filename string `json:"filename"` // absolute path; empty until it is decided
	State    string `json:"state"`    // one of DOWNLOAD_STATES
	Bytes    int64  `json:"bytes"`    // received so far
	Total    int64  `json:"total"`    // -1 when not known
	MIME     string `json:"mime"`
	Error    string `json:"error,omitempty"` // the browser's word, when interrupted
	// Opened says that the tab's page opened another one for it, which the
	// browser closed again: no page tells of the download.
	Opened bool `json:"opened,omitempty"`
}
