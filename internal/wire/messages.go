package wire

import (
	"encoding/json"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Message is one message. Its type and version are not fields: [Encode] adds
// them, [Decode] checks them.
type Message interface {
	// Type returns "type" of the frame.
	Type() string

	// check says what is wrong with the values of a decoded frame.
	check() error
}

// A Hello opens the handshake.
type Hello struct {
	Instance string `json:"instance"`      // of the extension's installation: 1 to 64 of A-Z a-z 0-9 - _
	Run      string `json:"run,omitempty"` // of the browser, as instance: another one after each start of it
	Ext      Ext    `json:"ext"`
	Nonce    string `json:"nonce"` // 32 random bytes, base64url without padding
	Key      string `json:"key"`   // which key the client holds: boot, paired or pairing
}

// Ext describes the extension.
type Ext struct {
	ID      string `json:"id"`      // as the browser gives it
	Version string `json:"version"` // of the manifest
	Chrome  string `json:"chrome"`  // version of the browser
}

// A Challenge is the server's proof that it holds the key.
type Challenge struct {
	Nonce string `json:"nonce"` // 32 random bytes, base64url without padding
	MAC   string `json:"mac"`   // of the server, see LABELS
}

// A Proof is the client's proof that it holds the key.
type Proof struct {
	MAC string `json:"mac"` // of the client, see LABELS
}

// A Welcome ends the handshake.
type Welcome struct {
	Session     string   `json:"session"` // short; names this connection in tab ids
	Server      Server   `json:"server"`
	HeartbeatMs int64    `json:"heartbeatMs"` // between two pings
	Policy      Policy   `json:"policy"`
	Pairing     *Pairing `json:"pairing,omitempty"` // only when key was pairing
}

// Server describes the server.
type Server struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	Name    string `json:"name"` // for people: which program started it
}

// Pairing is the key that a pairing string was exchanged for.
type Pairing struct {
	Key string `json:"key"` // 32 bytes, sealed with the secret of the string
}

// A RejectedMessage frame says why the connection is about to close.
type RejectedMessage struct {
	Reason  string `json:"reason"`  // one of REASONS
	Message string `json:"message"` // a sentence for the user
}

// A Command asks the extension to do something.
type Command struct {
	ID        string          `json:"id"`        // a ULID
	Method    string          `json:"method"`    // one of METHODS
	Params    json.RawMessage `json:"params"`    // an object
	TimeoutMs int64           `json:"timeoutMs"` // how long the server waits
}

// A Result answers a command.
type Result struct {
	ID   string          `json:"id"`
	Data json.RawMessage `json:"data"`
}

// A Failure answers a command that failed. Its type is "error".
type Failure struct {
	ID    string  `json:"id"`
	Error Problem `json:"error"`
}

// A Problem is what went wrong.
type Problem struct {
	Code    executor.Code   `json:"code"`           // one of CODES
	Message string          `json:"message"`        // what happened, in lower case
	Data    json.RawMessage `json:"data,omitempty"` // with CDP_ERROR: the browser's own {code, message}
}

// An Event tells what happened in the browser.
type Event struct {
	Event string          `json:"event"` // one of EVENTS
	Data  json.RawMessage `json:"data"`
}

// A PolicyChange replaces the rules. Its type is "policy".
type PolicyChange struct {
	Policy Policy `json:"policy"`
}

// A ServersChange tells that another server of this user came or went. The
// extension looks for itself who it is. Its type is "servers".
type ServersChange struct{}

// A Ping is to be answered by a Pong with the same ts.
type Ping struct {
	TS int64 `json:"ts"` // milliseconds since 1970
}

// A Pong answers a Ping.
type Pong struct {
	TS int64 `json:"ts"` // of the ping
}

func (*Hello) Type() string           { return "hello" }
func (*Challenge) Type() string       { return "challenge" }
func (*Proof) Type() string           { return "proof" }
func (*Welcome) Type() string         { return "welcome" }
func (*RejectedMessage) Type() string { return "refused" }
func (*Command) Type() string         { return "command" }
func (*Result) Type() string          { return "result" }
func (*Failure) Type() string         { return "error" }
func (*Event) Type() string           { return "event" }
func (*PolicyChange) Type() string    { return "policy" }
func (*ServersChange) Type() string   { return "servers" }
func (*Ping) Type() string            { return "ping" }
func (*Pong) Type() string            { return "pong" }

// A MessageType is a row of the table of frames.
type MessageType struct {
	From string         // who sends it: "extension", "server" or "both"
	New  func() Message // makes an empty one
}

// MessageTypes returns every type of frame, in the order of a conversation.
func MessageTypes() []MessageType {
	return []MessageType{
		{"extension", func() Message { return new(Hello) }},
		{"server", func() Message { return new(Challenge) }},
		{"extension", func() Message { return new(Proof) }},
		{"server", func() Message { return new(Welcome) }},
		{"server", func() Message { return new(RejectedMessage) }},
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

var newFrame = func() map[string]func() Message {
	m := map[string]func() Message{}
	for _, t := range MessageTypes() {
		m[t.New().Type()] = t.New
	}
	return m
}()
