// Package audit records what agents did. The log has one JSON object per line, in a file that only
// its owner can read.
//
// An [Entry] states the client, the tool, the tab and origin, the policy decision with its rule,
// and the result. It never contains page text (which includes titles, file names and dialog
// messages), arguments of a call, secrets, or more of a URL than its origin.
//
// [Log] writes the file. A program can implement [Recorder] to store entries elsewhere.
package audit

import "time"

// An Event is the type of an [Entry].
type Event string

// The events.
const (
	EventStart        Event = "start"        // a log was opened
	EventEnd          Event = "end"          // it was closed
	EventOpened       Event = "opened"       // a session of a server was opened
	EventClosed       Event = "closed"       // it was closed; Detail is the reason
	EventSession      Event = "session"      // a client started a session
	EventCall         Event = "call"         // a tool call has ended
	EventDenied       Event = "denied"       // an access outside of a call was denied, such as a request of a page
	EventConsent      Event = "consent"      // the user was prompted or answered a prompt, or shared a tab or stopped sharing it
	EventConnected    Event = "connected"    // a browser was launched, attached, or connected through the extension
	EventDisconnected Event = "disconnected" // it exited or disconnected
	EventDownload     Event = "download"     // a download that a page started has ended
	EventDropped      Event = "lost"         // Count entries were dropped while the log was not writable
)

// The values of [Entry.Decision].
const (
	Allowed = "allowed"
	Denied  = "denied"
)

// CDPTool is the beginning of [Entry.Tool] for a command of a CDP client.
const CDPTool = "cdp "

// An Entry is one line of the log. Fields that do not apply to its event are empty.
type Entry struct {
	Time        time.Time `json:"time"`                // in UTC; Log sets it if it is zero
	PID         int       `json:"pid,omitempty"`       // of the server; Log sets it if it is zero
	Event       Event     `json:"event"`               //
	Session     string    `json:"session,omitempty"`   // short random name of the client's session
	Name        string    `json:"name,omitempty"`      // name of the session of a server
	Principal   string    `json:"principal,omitempty"` // of that session: the name of its token; empty for the operating-system user
	Client      string    `json:"client,omitempty"`    // name and version that the client reports
	Tool        string    `json:"tool,omitempty"`      // tool of a call; for other denials, what was denied
	Backend     string    `json:"backend,omitempty"`   // "extension" or "cdp"
	Tab         string    `json:"tab,omitempty"`       // tab id
	Origin      string    `json:"origin,omitempty"`    // scheme://host:port; host:port if the scheme is unknown
	Decision    string    `json:"decision,omitempty"`  // Allowed or Denied; empty without a decision
	Rule        string    `json:"rule,omitempty"`      // rule that decided, such as "allow:example.com"
	Code        string    `json:"code,omitempty"`      // "OK", or the error code of a result
	DurationMS  int64     `json:"ms,omitempty"`        // duration of a call, in milliseconds
	Args        string    `json:"args,omitempty"`      // keyed hash of a call's arguments
	Acted       bool      `json:"acted,omitempty"`     // the call failed or needed no decision, and may have acted
	Bytes       int64     `json:"bytes,omitempty"`     // size of a download, an upload or a saved result
	DeniedParts int       `json:"withheld,omitempty"`  // of an allowed call: number of denials of parts of a page
	Count       int       `json:"count,omitempty"`     // number of repetitions within a minute
	Detail      string    `json:"detail,omitempty"`    // short fixed text, never page text
}

// A Recorder stores entries. *Log implements it. Its methods must be safe for concurrent use and
// must not block for long.
type Recorder interface {
	// Ready returns nil if entries can be stored. If it returns an error, calls that act are
	// denied, so that no action remains unrecorded.
	Ready() error
	// Record stores an entry, now or later.
	Record(Entry)
}
