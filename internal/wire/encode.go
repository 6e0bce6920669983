package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Encode encodes m, including its type and version.
func Encode(m Message) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // messages are never embedded in HTML, and scripts contain many <
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Type(), err)
	}
	members := bytes.TrimSuffix(bytes.TrimSpace(body.Bytes())[1:], []byte("}"))
	out := make([]byte, 0, len(members)+40)
	out = append(out, `{"type":"`...)
	out = append(out, m.Type()...)
	out = append(out, `","v":`...)
	out = strconv.AppendInt(out, Version, 10)
	if len(members) > 0 {
		out = append(out, ',')
		out = append(out, members...)
	}
	return append(out, '}'), nil
}
