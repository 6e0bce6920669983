package relay

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Short names of the error codes.
const (
	codeParse          = executor.CDPParseError
	codeInvalidRequest = executor.CDPInvalidRequest
	codeUnknownMethod  = executor.CDPUnknownMethod
	codeInvalidParams  = executor.CDPInvalidParams
	codeServer         = executor.CDPServerError
	codeNoSession      = executor.CDPNoSession
)

// A request is a command as the client sent it. Its fields refer to the client's message.
type request struct {
	id           int64
	hasID        bool
	method       string
	sessionID    string
	hasSessionID bool
	params       json.RawMessage // an object, or nil
}

// parseRequest parses a message of a client. Its errors are those of Chromium.
func parseRequest(data []byte) (request, *executor.CDPError) {
	var r request
	if !utf8.Valid(data) || !json.Valid(data) {
		return r, &executor.CDPError{Code: codeParse, Message: "JSON: the message is not valid"}
	}
	data = bytes.TrimLeft(data, " \t\r\n")
	if data[0] != '{' {
		return r, invalidRequest("Message must be an object")
	}
	var bad *executor.CDPError
	var hasMethod bool
	members(data, func(key, value []byte) bool {
		ok := true
		switch string(key) {
		case "id":
			r.id, r.hasID = integer(value)
		case "method":
			r.method, hasMethod = text(value)
		case "sessionId":
			if r.sessionID, ok = text(value); !ok {
				bad = invalidRequest("Message may have string 'sessionId' property")
			}
			r.hasSessionID = true
		case "params":
			r.params = value
			if string(value) == "null" {
				r.params = nil
			} else if value[0] != '{' {
				bad = invalidRequest("Message may have object 'params' property")
			}
		default:
			bad = invalidRequest("Message has property other than 'id', 'method', 'sessionId', 'params'")
		}
		return true
	})
	switch {
	case !r.hasID:
		bad = invalidRequest("Message must have integer 'id' property")
	case !hasMethod:
		bad = invalidRequest("Message must have string 'method' property")
	}
	return r, bad
}

func invalidRequest(message string) *executor.CDPError {
	return &executor.CDPError{Code: codeInvalidRequest, Message: message}
}

// integer parses a JSON value, and reports whether it is a 32-bit integer, as Chromium reads it.
func integer(value []byte) (int64, bool) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		return 0, false
	}
	return int64(f), true
}

// text parses a JSON value, and reports whether it is a string.
func text(value []byte) (string, bool) {
	if value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err == nil
}

// members calls f with each key and value of a valid JSON object, until f returns false. A key that
// occurs twice is passed twice: Go and Chromium could disagree about which one counts. For a value
// that is not an object, members does nothing.
//
// It exists because each command is scanned: for a short one, jsontext.Decoder takes 12 times as long
// and allocates 11 times, and for one of 1 MiB it copies the value (measured with Go 1.26).
func members(data []byte, f func(key, value []byte) bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return
	}
	for i = skipSpace(data, i+1); i < len(data) && data[i] == '"'; {
		end := skipValue(data, i)
		key := data[i+1 : max(i+1, end-1)]
		if bytes.IndexByte(key, '\\') >= 0 {
			s, _ := text(data[i:end])
			key = []byte(s)
		}
		i = skipSpace(data, skipSpace(data, end)+1)
		end = skipValue(data, i)
		if end <= i || !f(key, data[i:end]) {
			return
		}
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			for i < len(data) && strings.IndexByte(",:{}[] \n\t\r\"", data[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return min(i, len(data))
		}
	}
	return len(data)
}

// appendMessage appends a reply or event for the client.
func appendMessage(b []byte, m executor.CDPMessage) []byte {
	b = append(b, '{')
	switch {
	case m.Method != "":
		b = appendText(append(b, `"method":`...), m.Method)
		b = appendObject(append(b, `,"params":`...), m.Params)
	case m.Error != nil:
		b = strconv.AppendInt(append(b, `"id":`...), m.ID, 10)
		b = append(append(b, `,"error":`...), encode(m.Error)...)
	default:
		b = strconv.AppendInt(append(b, `"id":`...), m.ID, 10)
		b = appendObject(append(b, `,"result":`...), m.Result)
	}
	if m.SessionID != "" {
		b = appendText(append(b, `,"sessionId":`...), m.SessionID)
	}
	return append(b, '}')
}

func appendObject(b []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(b, "{}"...)
	}
	return append(b, raw...)
}

// appendText appends s as a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return append(b, encode(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// encode returns v as JSON, with the characters of HTML unchanged. v must be a string, a CDPError, or
// consist of values that were decoded from JSON.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// object decodes raw, or returns nil if it is not an object. Keys are case-sensitive, and numbers do
// not lose digits. If a key occurs twice, the map, and so the result of encode for it, has the last
// value.
func object(raw json.RawMessage) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var m map[string]any
	if dec.Decode(&m) != nil {
		return nil
	}
	return m
}
