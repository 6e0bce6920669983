package wire

import (
	"encoding/json"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A Message is a message on the bridge. Its type and version are not fields: [Encode] adds them and
// [Decode] checks them.
type Message interface {
	// Type returns the "type" of the message.
	Type() string

	// check returns an error if a decoded message has an invalid value.
	check() error
}

// A Hello starts the handshake.
type Hello struct {
	Installation string `json:"instance"`      // id of the extension's installation: 1 to 64 of A-Z a-z 0-9 - _
	Run          string `json:"run,omitempty"` // id of the browser's run, in the syntax of instance; changes with each start of the browser
	Ext          Ext    `json:"ext"`
	Nonce        string `json:"nonce"` // 32 random bytes, base64url without padding
	Key          string `json:"key"`   // which key the client has: boot, paired or pairing
}

// Ext describes the extension.
type Ext struct {
	ID      string `json:"id"`      // chrome.runtime.id
	Version string `json:"version"` // version in the manifest
	Chrome  string `json:"chrome"`  // version of the browser
}

// A Challenge is the server's proof that it has the key.
type Challenge struct {
	Nonce string `json:"nonce"` // 32 random bytes, base64url without padding
	MAC   string `json:"mac"`   // MAC of the server, see LABELS
}

// A Proof is the client's proof that it has the key.
type Proof struct {
	MAC string `json:"mac"` // MAC of the client, see LABELS
}

// A Welcome completes the handshake.
type Welcome struct {
	Session     string   `json:"session"` // short id of the browser instance, used in tab ids
	Server      Server   `json:"server"`
	HeartbeatMs int64    `json:"heartbeatMs"` // interval of the server's pings
	Policy      Policy   `json:"policy"`
	Pairing     *Pairing `json:"pairing,omitempty"` // only if key was pairing
}

// Server describes the server.
type Server struct {
	Version string `json:"version"` // version of chrome-mcp
	PID     int    `json:"pid"`
	Name    string `json:"name"` // name shown to the user: which program started the server
}

// Pairing contains the key that replaces a pairing string.
type Pairing struct {
	Key string `json:"key"` // 32 bytes, sealed with the secret of the pairing string
}

// A Rejection reports why the server closes the connection. Its type is "refused".
type Rejection struct {
	Reason  string `json:"reason"`  // one of REASONS
	Message string `json:"message"` // a sentence for the user
}

// A Command requests an operation of the extension.
type Command struct {
	ID        string          `json:"id"`        // a ULID
	Method    string          `json:"method"`    // one of METHODS
	Params    json.RawMessage `json:"params"`    // an object
	TimeoutMs int64           `json:"timeoutMs"` // how long the server waits for the reply
}

// A Result is the reply to a command that succeeded.
type Result struct {
	ID   string          `json:"id"`   // id of the command
	Data json.RawMessage `json:"data"` // depends on the method
}

// A Failure is the reply to a command that failed. Its type is "error".
type Failure struct {
	ID    string  `json:"id"` // id of the command
	Error Problem `json:"error"`
}

// A Problem is the error of a command.
type Problem struct {
	Code    errs.Code       `json:"code"`           // one of CODES
	Message string          `json:"message"`        // what happened, in lower case
	Data    json.RawMessage `json:"data,omitempty"` // with CDP_ERROR: the {code, message} that the browser reported
}

// An Event reports an event in the browser.
type Event struct {
	Event string          `json:"event"` // one of EVENTS
	Data  json.RawMessage `json:"data"`
}

// A PolicyChange replaces the policy. Its type is "policy".
type PolicyChange struct {
	Policy Policy `json:"policy"`
}

// A ServersChange reports that another server of the user started or stopped. The extension then
// searches for servers. Its type is "servers".
type ServersChange struct{}

// A Ping requests a Pong with the same ts.
type Ping struct {
	TS int64 `json:"ts"` // milliseconds since 1970
}

// A Pong is the reply to a Ping.
type Pong struct {
	TS int64 `json:"ts"` // ts of the ping
}

func (*Hello) Type() string         { return "hello" }
func (*Challenge) Type() string     { return "challenge" }
func (*Proof) Type() string         { return "proof" }
func (*Welcome) Type() string       { return "welcome" }
func (*Rejection) Type() string     { return "refused" }
func (*Command) Type() string       { return "command" }
func (*Result) Type() string        { return "result" }
func (*Failure) Type() string       { return "error" }
func (*Event) Type() string         { return "event" }
func (*PolicyChange) Type() string  { return "policy" }
func (*ServersChange) Type() string { return "servers" }
func (*Ping) Type() string          { return "ping" }
func (*Pong) Type() string          { return "pong" }

// A MessageType describes a type of message.
type MessageType struct {
	From string         // sender: "extension", "server" or "both"
	New  func() Message // returns a new zero message
}

// MessageTypes returns all message types, in the order in which a connection uses them.
func MessageTypes() []MessageType {
	return []MessageType{
		{"extension", func() Message { return new(Hello) }},
		{"server", func() Message { return new(Challenge) }},
		{"extension", func() Message { return new(Proof) }},
		{"server", func() Message { return new(Welcome) }},
		{"server", func() Message { return new(Rejection) }},
		{"server", func() Message { return new(Command) }},
		{"extension", func() Message { return new(Result) }},
		{"extension", func() Message { return new(Failure) }},
		{"extension", func() Message { return new(Event) }},
		{"server", func() Message { return new(PolicyChange) }},
		{"server", func() Message { return new(ServersChange) }},
		{"both", func() Message { return new(Ping) }},
		{"both", func() Message { return new(Pong) }},
	}
}

// newMessage maps a type to MessageType.New.
var newMessage = func() map[string]func() Message {
	m := map[string]func() Message{}
	for _, t := range MessageTypes() {
		m[t.New().Type()] = t.New
	}
	return m
}()
