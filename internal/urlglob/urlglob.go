// Package urlglob matches URLs with the patterns of callers.
package urlglob

import (
	"strings"

	"github.com/gobwas/glob"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// Compile compiles a URL pattern in which * matches any sequence of characters and every other
// character matches itself. It returns ErrBadArgs for a pattern that is not valid UTF-8.
func Compile(pattern string) (*glob.Pattern, error) {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = glob.QuoteMeta(p)
	}
	g, err := glob.Compile(strings.Join(parts, "*"))
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Use * for any sequence of characters.", "pattern %q: %w", pattern, err)
	}
	return g, nil
}
