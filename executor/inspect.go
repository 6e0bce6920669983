package executor

import (
	"context"
	"time"
)

// Inspector is the part of an [Executor] that tells what happened in a tab, as
// a browser's developer tools do. Only a session with SessionOptions.Record
// has it; others get ErrBadArgs.
//
// Of each tab the newest is kept, at most MaxRecords of a kind and a bounded
// number of bytes, from the tab's first document on, or from when the session
// first used a tab that it adopted. What a document did that the [Gate] does
// not let be read is not told, before and after the tab has left it. What a
// frame with a process of its own requests in its first moments may be missing.
type Inspector interface {
	// Console tells what pages wrote to the console, the newest last.
	Console(ctx context.Context, tab TabID, opts *ConsoleOptions) (*Console, error)
	// PageErrors tells of uncaught errors and rejections, the newest last.
	PageErrors(ctx context.Context, tab TabID, opts *PageErrorsOptions) (*PageErrors, error)
	// Requests tells which requests pages made, the newest last, or all about
	// one of them. ErrBadArgs is an ID that is not, or no longer, kept.
	Requests(ctx context.Context, tab TabID, opts *RequestsOptions) (*Requests, error)
}

// The bounds of what an [Inspector] keeps and tells.
const (
	MaxRecords     = 500 // of a kind, in each tab
	DefaultRecords = 50  // that one call tells
	MaxBody        = 20_000
)

// A ConsoleLevel is how grave a message is.
type ConsoleLevel string

// The levels, the least grave first.
const (
	ConsoleDebug   ConsoleLevel = "debug"
	ConsoleInfo    ConsoleLevel = "info" // console.log too
	ConsoleWarning ConsoleLevel = "warning"
	ConsoleError   ConsoleLevel = "error"
)

// ConsoleOptions are the options of [Inspector.Console].
type ConsoleOptions struct {
	Level ConsoleLevel // this one and what is graver; empty is all
	Limit int          // the newest so many; 0 means DefaultRecords
	Clear bool         // do not tell this client again what there is now
}

// A Console is what pages wrote to the console.
type Console struct {
	Messages []ConsoleMessage `json:"messages"`
	Matched  int              `json:"matched"`           // of which Messages are the newest
	Dropped  int              `json:"dropped,omitempty"` // more messages that were not stored: older ones, and those of a page that logs too much
	Origin   string           `json:"origin"`            // of the tab's document
}

// A ConsoleMessage is one call of the console, by a page.
type ConsoleMessage struct {
	Level ConsoleLevel `json:"level"`
	Text  string       `json:"text"`         // at most 2,000 characters
	At    string       `json:"at,omitempty"` // URL and line of the script
	Time  time.Time    `json:"time"`
}

// PageErrorsOptions are the options of [Inspector.PageErrors].
type PageErrorsOptions struct {
	Limit int // the newest so many; 0 means DefaultRecords
}

// PageErrors are uncaught errors.
type PageErrors struct {
	Errors  []PageError `json:"errors"`
	Matched int         `json:"matched"`
	Dropped int         `json:"dropped,omitempty"`
	Origin  string      `json:"origin"`
}

// A PageError is one error that no script caught, or the rejection of a
// promise that none handled.
type PageError struct {
	Text      string    `json:"text"` // with the stack, at most 2,000 characters
	Rejection bool      `json:"rejection,omitempty"`
	At        string    `json:"at,omitempty"`
	Time      time.Time `json:"time"`
}

// RequestsOptions are the options of [Inspector.Requests].
type RequestsOptions struct {
	Filter string // only those whose method, URL, status or type has this text, in any case of letters
	Limit  int    // the newest so many; 0 means DefaultRecords
	ID     string // only this one, in full
	Body   bool   // with the text of its response; needs ID
}

// Requests are requests of pages.
type Requests struct {
	Requests []Request `json:"requests"`
	Matched  int       `json:"matched"`
	Dropped  int       `json:"dropped,omitempty"`
	Origin   string    `json:"origin"`
}

// A Request is one request for a resource. Of one to a site that the Gate
// denies only the origin is told. Each redirect is a request of its own.
type Request struct {
	ID       string    `json:"id"`
	Method   string    `json:"method"`
	URL      string    `json:"url"`
	Type     string    `json:"type"` // "document", "fetch", "image" …
	Status   int       `json:"status,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	Bytes    int64     `json:"bytes"` // that came over the network
	Millis   int64     `json:"ms"`    // until it ended; 0 while it runs
	Running  bool      `json:"running,omitempty"`
	Error    string    `json:"error,omitempty"`   // the network's, such as "net::ERR_FAILED"
	Refused  bool      `json:"refused,omitempty"` // by the policy
	Time     time.Time `json:"time"`

	// In full only. Values of headers, and of members of JSON, whose names say
	// that they are secrets are replaced by their length. What a request carries
	// in its body is never told.
	RequestHeaders  map[string]string `json:"requestHeaders,omitempty"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitempty"`
	Body            string            `json:"body,omitempty"`      // at most MaxBody characters
	BodyBytes       int               `json:"bodyBytes,omitempty"` // of all of it
	Binary          bool              `json:"binary,omitempty"`    // it is not told: it is no text
}
