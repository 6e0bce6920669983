package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// encoding/json takes "TYPE" for "type", and the last of two equal keys. So
// objects are taken apart here, once it has said that the whole is valid:
// that is quick, and copies nothing.

// A member is a key of an object with its value.
type member struct {
	key   string
	value []byte
}

// splitObject returns the members of an object, which is valid JSON.
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

// splitArray returns the elements of an array, which is valid JSON.
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

// A scanner goes through the values of one object or array of valid JSON.
type scanner struct {
	raw []byte
	at  int
}

// more goes to the next value, or reports that there is none.
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

// value returns the next value and goes past it.
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
			if depth == 0 { // the end of what surrounds a number or a word
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

// skipString goes past a string, whose first quote is next.
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
			s.at += escape + 2 // with what is escaped, which may be that quote
		}
	}
}
