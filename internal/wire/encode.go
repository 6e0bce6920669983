package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Encode returns f as it is sent.
func Encode(f Message) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // nobody puts it into a page, and scripts are full of <
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("encode %s: %w", f.Type(), err)
	}
	members := bytes.TrimSuffix(bytes.TrimSpace(body.Bytes())[1:], []byte("}"))
	out := make([]byte, 0, len(members)+40)
	out = append(out, `{"type":"`...)
	out = append(out, f.Type()...)
	out = append(out, `","v":`...)
	out = strconv.AppendInt(out, Version, 10)
	if len(members) > 0 {
		out = append(out, ',')
		out = append(out, members...)
	}
	return append(out, '}'), nil
}
