package executor

import (
	"context"
	"encoding/json"
)

// A CDPBrowser is a browser that clients of the Chrome DevTools Protocol (CDP) can drive at the same
// time as sessions do. Package relay serves such clients. A [Backend] may implement CDPBrowser. A
// [Manager] implements it with the backend that it selects. ConnectCDP is safe for concurrent use.
type CDPBrowser interface {
	// ConnectCDP connects a CDP client to the browser, which it starts first if necessary. It
	// returns [ErrBadArgs] if the backend does not support CDP clients or its options exclude them,
	// and otherwise the errors of [Lifecycle.Ready]. A nil opts means the defaults.
	ConnectCDP(ctx context.Context, opts *CDPOptions) (CDPConn, error)
}

// CDPOptions are the options of [CDPBrowser.ConnectCDP].
type CDPOptions struct {
	// Name is the name of the client, such as "Playwright/1.55.0". The extension shows it to the
	// user, who can disconnect the client. "" is for a connection that the user need not see.
	Name string
	// Query is for a connection of the caller that only asks for the version and the targets, or opens,
	// shows or closes one. It does not exclude secrets afterwards, as a client does. When it receives the
	// reply to Target.createTarget, TabID knows the tab, unless that takes too long.
	Query bool
}

// A CDPConn is the connection of one CDP client to a browser. What the client enables, intercepts
// and emulates, and the browser contexts that it creates, end with the connection. A CDPConn
// enforces which hosts the browser can reach, and may deny commands, too. Package relay checks those
// that no backend can judge.
//
// Send and Close are safe for concurrent use. Only one goroutine at a time may call Receive.
type CDPConn interface {
	// Send queues a command. Receive returns its reply, which has the same ID and Session, unless the
	// session is detached first. While too many commands have no reply, Send waits, or the command
	// gets a reply with an error. Send returns an error only if the connection has ended or ctx is
	// done. The ID must differ from those of the commands that have no reply yet.
	Send(ctx context.Context, command CDPMessage) error

	// Receive returns the next reply or event. The messages of a session are in the order in which
	// the browser sent them. Unread messages are queued up to a limit, beyond which events about
	// logs, requests, downloads and changed targets are dropped; if that is not enough, the
	// connection ends. Events about logs and requests are also dropped if a page causes them faster
	// than a client can read. Receive returns an error only if ctx is done or the connection has
	// ended, and then the reason.
	Receive(ctx context.Context) (CDPMessage, error)

	// TabID returns the id that sessions use for the tab with a target id, or "" if they have no such
	// tab, such as for a page in a browser context of a client.
	TabID(target string) TabID

	// HandedOver reports whether a page is handed over to the user, see [Handover]. target is the id
	// of its target. The client must not act in it or receive what happens there. For a target that
	// is not a page, or a page that the backend does not know yet, HandedOver reports whether any page
	// is handed over.
	HandedOver(target string) bool

	// HandoversChanged returns a channel that is closed when results of HandedOver may have changed.
	HandoversChanged() <-chan struct{}

	// Close ends the connection and waits, for a limited time, until the browser has ended its CDP
	// sessions. It always returns nil.
	Close() error
}

// A CDPMessage is a command, the reply to a command, or an event. Its JSON values are as the sender
// wrote them.
type CDPMessage struct {
	ID        int64           // of a command and its reply; 0 for an event
	SessionID string          // id of a CDP session; "" is the connection's own session of the browser target
	Method    string          // of a command or an event
	Params    json.RawMessage // of a command or an event; may be nil
	Result    json.RawMessage // of the reply to a successful command
	Error     *CDPError       // of the reply to a failed command
}

// The codes of a [CDPError] that are not specific to a command. They are those of Chromium.
const (
	CDPParseError     = -32700 // the message is not valid JSON
	CDPInvalidRequest = -32600 // the message is not a command
	CDPUnknownMethod  = -32601 // the command does not exist, or no client can use it
	CDPInvalidParams  = -32602
	CDPServerError    = -32000 // the command was denied, or failed
	CDPNoSession      = -32001 // the client has no such CDP session
)

// A CDPError is the error of a failed command.
type CDPError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitempty"`
}
