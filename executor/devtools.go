package executor

import (
	"context"
	"encoding/json"
	"time"
)

// Inspector is the part of a [Page] that returns the activity log of a tab: console messages,
// page errors and requests, as the developer tools of a browser show them. It requires
// SessionOptions.Record; other sessions return ErrBadArgs.
//
// The log of a tab contains the newest MaxRecords records of each kind, within a limit of bytes. It
// starts with the tab's first document or, for an adopted tab, when the session first uses the tab.
// Records of a document that the [Gate] does not allow to be read are omitted, also after the tab
// has left the document. The first requests of an out-of-process iframe may be missing.
type Inspector interface {
	// Console returns console messages, oldest first.
	Console(ctx context.Context, opts *ConsoleOptions) (*Console, error)
	// PageErrors returns uncaught errors and unhandled rejections, oldest first.
	PageErrors(ctx context.Context, opts *PageErrorsOptions) (*PageErrors, error)
	// Requests returns the requests of pages, oldest first, or all details of one request. It
	// returns ErrBadArgs for an ID that does not exist or is no longer stored.
	Requests(ctx context.Context, opts *RequestsOptions) (*Requests, error)
}

// The limits of an [Inspector].
const (
	MaxRecords     = 500    // per kind and tab
	DefaultRecords = 50     // per call
	MaxBody        = 20_000 // characters of a response body, unless RequestsOptions says otherwise
)

// A ConsoleLevel is the severity of a console message.
type ConsoleLevel string

// The levels, from the least to the most severe.
const (
	ConsoleDebug   ConsoleLevel = "debug"
	ConsoleInfo    ConsoleLevel = "info" // includes console.log
	ConsoleWarning ConsoleLevel = "warning"
	ConsoleError   ConsoleLevel = "error"
)

// ConsoleOptions are the options of [Inspector.Console].
type ConsoleOptions struct {
	Level ConsoleLevel // minimum level; empty means all
	Limit int          // maximum number, newest first; 0 means DefaultRecords
	Clear bool         // do not return the current messages to this client again
}

// A Console is the result of [Inspector.Console].
type Console struct {
	Messages []ConsoleMessage `json:"messages"`
	Matched  int              `json:"matched"`           // number of matching messages, of which Messages are the newest
	Dropped  int              `json:"dropped,omitempty"` // matching messages that are no longer stored: older ones, and those of a page that logs too much
	Origin   string           `json:"origin"`            // of the tab's document
}

// A ConsoleMessage is one call of a console method by a page.
type ConsoleMessage struct {
	Level ConsoleLevel `json:"level"`
	Text  string       `json:"text"`         // at most 2,000 characters
	At    string       `json:"at,omitempty"` // URL and line of the script
	Time  time.Time    `json:"time"`
}

// PageErrorsOptions are the options of [Inspector.PageErrors].
type PageErrorsOptions struct {
	Limit int // maximum number, newest first; 0 means DefaultRecords
}

// PageErrors is the result of [Inspector.PageErrors].
type PageErrors struct {
	Errors  []PageError `json:"errors"`
	Matched int         `json:"matched"`
	Dropped int         `json:"dropped,omitempty"`
	Origin  string      `json:"origin"`
}

// A PageError is an uncaught error or the unhandled rejection of a promise.
type PageError struct {
	Text      string    `json:"text"` // with the stack, at most 2,000 characters
	Rejection bool      `json:"rejection,omitempty"`
	At        string    `json:"at,omitempty"`
	Time      time.Time `json:"time"`
}

// RequestsOptions are the options of [Inspector.Requests].
type RequestsOptions struct {
	Filter string // only requests whose method, URL, status or type contains this text, ignoring case
	Limit  int    // maximum number, newest first; 0 means DefaultRecords
	ID     string // only this request, in full
	// Body includes the text of the response. It needs ID. A response that a service worker may have
	// from another site, whose text the page cannot read, is ErrBadArgs.
	Body bool
	// BodyChars is the maximum number of characters of the body. 0 means MaxBody.
	BodyChars int
}

// Requests is the result of [Inspector.Requests].
type Requests struct {
	Requests []Request `json:"requests"`
	Matched  int       `json:"matched"`
	Dropped  int       `json:"dropped,omitempty"`
	Origin   string    `json:"origin"`
}

// A Request is one request for a resource. If the Gate denies its site, only the origin of the URL
// is reported. Each redirect hop is a separate request.
type Request struct {
	ID             string        `json:"id"`
	Method         string        `json:"method"` // empty for the first request of a popup window that started before we attached to it
	URL            string        `json:"url"`
	Type           string        `json:"type"` // "document", "fetch", "image" …
	Status         int           `json:"status,omitempty"`
	MIMEType       string        `json:"mimeType,omitempty"`
	Bytes          int64         `json:"bytes"` // received over the network
	Duration       time.Duration `json:"ms"`    // until it ended; 0 while it is running; in JSON, in milliseconds
	Running        bool          `json:"running,omitempty"`
	Error          string        `json:"error,omitempty"`          // the network error, such as "net::ERR_FAILED"
	DeniedByPolicy bool          `json:"deniedByPolicy,omitempty"` // by the policy
	Time           time.Time     `json:"time"`

	// The fields below are set only for a request in full. Values of headers and JSON members whose
	// names indicate secrets are replaced by their length. The body of the request itself is never
	// reported.
	RequestHeaders  map[string]string `json:"requestHeaders,omitempty"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitempty"`
	Body            string            `json:"body,omitempty"`      // at most BodyChars characters
	BodyBytes       int               `json:"bodyBytes,omitempty"` // of the complete body
	BodyTruncated   bool              `json:"bodyTruncated,omitempty"`
	Binary          bool              `json:"binary,omitempty"` // whether Body is omitted because it is not text
}

// plainRequest is a Request without its methods.
type plainRequest Request

// MarshalJSON implements json.Marshaler.
func (r Request) MarshalJSON() ([]byte, error) {
	r.Duration /= time.Millisecond
	return json.Marshal(plainRequest(r))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Request) UnmarshalJSON(data []byte) error {
	p := plainRequest(*r)
	p.Duration /= time.Millisecond
	err := json.Unmarshal(data, &p)
	*r = Request(p)
	r.Duration *= time.Millisecond
	return err
}
