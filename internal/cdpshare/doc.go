// Package cdpshare lets several CDP clients share one CDP session of a browser. It decides what each
// of them receives and when it answers; the caller sends the messages.
package cdpshare

import "encoding/json"

// A Command is a CDP command for the browser.
type Command struct {
	Method string
	Params json.RawMessage
}

// encode returns the JSON of a value that can be encoded.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug: only our own types are encoded
	}
	return data
}
