// Package urlglob matches URLs with the patterns of callers.
package urlglob

import (
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A Pattern matches URLs.
type Pattern struct{ parts []string } // between the wildcards; at least one

// Compile compiles a URL pattern in which * matches any sequence of characters and every other
// character matches itself. It returns ErrBadArgs for a pattern that is not valid UTF-8.
func Compile(pattern string) (*Pattern, error) {
	if !utf8.ValidString(pattern) {
		return nil, errs.Errorf(errs.ErrBadArgs, "Use * for any sequence of characters.", "pattern %q is not valid UTF-8", pattern)
	}
	return &Pattern{strings.Split(pattern, "*")}, nil
}

// Match reports whether the pattern matches all of url. Both can be hostile: the time is proportional
// to their lengths, because the first occurrence of each part leaves the most for the next ones.
func (p *Pattern) Match(url string) bool {
	last := len(p.parts) - 1
	if last == 0 {
		return url == p.parts[0]
	}
	rest, begins := strings.CutPrefix(url, p.parts[0])
	rest, ends := strings.CutSuffix(rest, p.parts[last])
	if !begins || !ends {
		return false
	}
	for _, part := range p.parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}
