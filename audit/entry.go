// Package audit keeps a log of what agents did: one JSON object a line, in a
// file that only its user can read.
//
// An [Entry] tells who did what where, whether the policy allowed it and by
// which rule, and how it came out. It never holds text of a page (titles, file
// names and the messages of dialogs are that, too), an argument of a call, a
// secret, or more of a URL than its origin.
//
// [Log] writes the file. Whatever takes a [Recorder] can be given something
// else as well, to keep the record elsewhere.
package audit

import "time"

// An Event says what kind of thing an [Entry] tells of.
type Event string

// The events.
const (
	EventStart        Event = "start"        // a log was opened
	EventEnd          Event = "end"          // it was closed
	EventSession      Event = "session"      // a client began a session
	EventCall         Event = "call"         // a call of a tool has ended
	EventDenied       Event = "denied"       // something that is no call was denied, such as a request of a page's
	EventConsent      Event = "consent"      // the user answered a question, or shared a tab or took it back
	EventConnected    Event = "connected"    // a browser was launched, joined, or connected by its extension
	EventDisconnected Event = "disconnected" // it ended or went away
	EventDownload     Event = "download"     // a download that a page began has ended
	EventLost         Event = "lost"         // Count entries were lost while the log could not be written
)

// The values of [Entry.Decision].
const (
	Allowed = "allowed"
	Denied  = "denied"
)

// An Entry is one line of the log. Fields that have no meaning for its event
// are empty.
type Entry struct {
	Time     time.Time `json:"time"`               // in UTC; set by Log when it is zero
	PID      int       `json:"pid,omitempty"`      // of the server; set by Log when it is zero
	Event    Event     `json:"event"`              //
	Session  string    `json:"session,omitempty"`  // a short random name of the client's session
	Client   string    `json:"client,omitempty"`   // its name and version, as it gives them
	Tool     string    `json:"tool,omitempty"`     // of a call; of what else was denied, what it was
	Backend  string    `json:"backend,omitempty"`  // "extension" or "cdp"
	Tab      string    `json:"tab,omitempty"`      // the tab's id
	Origin   string    `json:"origin,omitempty"`   // scheme://host:port; without the scheme where only host and port are known
	Decision string    `json:"decision,omitempty"` // Allowed or Denied; empty where nothing had to be decided
	Rule     string    `json:"rule,omitempty"`     // that decided, such as "allow:example.com"
	Code     string    `json:"code,omitempty"`     // "OK", or the error code of a result
	Millis   int64     `json:"ms,omitempty"`       // how long a call took
	Args     string    `json:"args,omitempty"`     // a keyed hash of a call's arguments
	Acted    bool      `json:"acted,omitempty"`    // of a call that failed: it was allowed to act before, and may have
	Bytes    int64     `json:"bytes,omitempty"`    // of a download
	Withheld int       `json:"withheld,omitempty"` // of a call that was allowed: how often part of a page was denied to it
	Count    int       `json:"count,omitempty"`    // how often the same happened again within a minute
	Detail   string    `json:"detail,omitempty"`   // a few words of ours
}

// A Recorder keeps entries. *Log is one. Its methods must be safe for
// concurrent use and quick.
type Recorder interface {
	// Ready returns nil when entries can be kept. Calls that act are refused
	// with its error when they cannot: what is done is not to go unrecorded.
	Ready() error
	// Record keeps an entry, now or when it can.
	Record(Entry)
}
