package cdpconn

import (
	"errors"
	"fmt"
	"strconv"
)

// MaxDepth limits the levels of objects and arrays in the parameters of a command. Chromium's parser
// (kStackLimit in crdtp's json.cc) reads values that are in at most 300 of them, one of which is the
// message.
const MaxDepth = 290

// checkParams returns why Chromium's parser cannot read parameters, which must be valid JSON, or nil. Its
// error for them names neither the command nor the session, so the command would never get a reply.
func checkParams(params []byte) error {
	depth := 0
	for i := 0; i < len(params); i++ {
		switch c := params[i]; {
		case c == '"':
			for i++; i < len(params) && params[i] != '"'; i++ {
				if params[i] == '\\' {
					i++
				}
			}
		case c == '{', c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("the parameters have more than %d levels of objects and arrays", MaxDepth)
			}
		case c == '}', c == ']':
			depth--
		case c >= '0' && c <= '9': // the sign does not matter
			start := i
			for i+1 < len(params) && isNumeric(params[i+1]) {
				i++
			}
			if _, err := strconv.ParseFloat(string(params[start:i+1]), 64); err != nil {
				return errors.New("a number in the parameters exceeds the range of 64-bit floating point")
			}
		}
	}
	return nil
}

// isNumeric reports whether c can be in a JSON number.
func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}
