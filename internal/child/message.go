package child

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// MaxMessage is the maximum size, in bytes, of a message between a process and
// its child. It is larger than the default limit of a tool result (8 MiB).
const MaxMessage = 24 << 20

// A Message is sent from a process to its child, or back.
type Message struct {
	Kind string `json:"kind"`
	// Data is the content. Its type depends on the kind.
	Data json.RawMessage `json:"data,omitempty"`
}

// kindReady is the first message of a child process.
const kindReady = "ready"

// NewMessage returns a message with data. It panics if data cannot be encoded as
// JSON.
func NewMessage(kind string, data any) *Message {
	raw, err := marshal(data)
	if err != nil {
		panic(err) // our types can be encoded
	}
	return &Message{kind, raw}
}

// ErrTooLong means that a message has more than MaxMessage bytes.
var ErrTooLong = fmt.Errorf("it is larger than %d MiB", MaxMessage>>20)

// write writes the length of m and m to w.
func (m *Message) write(w io.Writer) error {
	body, err := marshal(m)
	if err != nil {
		return err
	}
	if len(body) > MaxMessage {
		return ErrTooLong
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...))
	return err
}

// readMessage reads one message.
func readMessage(r *bufio.Reader) (*Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return nil, ErrTooLong
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	m := new(Message)
	return m, json.Unmarshal(body, m)
}

// marshal is json.Marshal without HTML escapes: messages contain much HTML.
func marshal(data any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(data)
	return b.Bytes(), err
}
