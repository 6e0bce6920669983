package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// encoding/json matches keys case-insensitively and accepts duplicate keys, so this file splits
// objects itself, after encoding/json has validated the message. That is fast and copies no values.

// A member is a key and a value of an object.
type member struct {
	key   string
	value []byte
}

// splitObject returns the members of an object. raw must be valid JSON.
func splitObject(raw []byte) ([]member, error) {
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		return nil, errors.New("is not an object")
	}
	var members []member
	seen := map[string]bool{}
	for s := (scanner{raw, 1}); s.more(); {
		var key string
		if err := json.Unmarshal(s.value(), &key); err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fmt.Errorf("has key %q twice", shorten(key))
		}
		seen[key] = true
		members = append(members, member{key, s.value()})
	}
	return members, nil
}

// splitArray returns the elements of an array. raw must be valid JSON without leading white space.
func splitArray(raw []byte) ([][]byte, error) {
	if raw[0] != '[' {
		return nil, errors.New("is not a list")
	}
	elements := [][]byte{}
	for s := (scanner{raw, 1}); s.more(); {
		elements = append(elements, s.value())
	}
	return elements, nil
}

// A scanner iterates over the keys and values of an object, or the elements of an array. raw must
// be valid JSON.
type scanner struct {
	raw []byte
	at  int
}

// more advances to the next value and reports whether there is one.
func (s *scanner) more() bool {
	for {
		switch s.raw[s.at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			s.at++
		case '}', ']':
			return false
		default:
			return true
		}
	}
}

// value returns the next value and advances past it.
func (s *scanner) value() []byte {
	s.more()
	start := s.at
	for depth := 0; ; {
		switch s.raw[s.at] {
		case '"':
			s.skipString()
			if depth == 0 {
				return s.raw[start:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of the object or array that contains a number, a bool or null
				return s.raw[start:s.at]
			}
			if depth--; depth == 0 {
				s.at++
				return s.raw[start:s.at]
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return s.raw[start:s.at]
			}
		}
		s.at++
	}
}

// skipString advances past the string whose opening quote is at s.at.
func (s *scanner) skipString() {
	s.at++
	for {
		end := s.at + bytes.IndexByte(s.raw[s.at:], '"')
		for s.at <= end {
			escape := bytes.IndexByte(s.raw[s.at:end], '\\')
			if escape < 0 {
				s.at = end + 1
				return
			}
			s.at += escape + 2 // also skip the escaped character, which may be the quote at end
		}
	}
}
