package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cleaner removes terminal escape sequences and control characters from a text that arrives in
// parts. A sequence may be in several parts. Its zero value is ready to use.
type cleaner struct {
	state int
	long  int // bytes of a string sequence
}

// States of a cleaner.
const (
	plain       = iota
	escape      // after ESC
	control     // in a control sequence (CSI)
	command     // in an operating system command or another string, which ends with ST or BEL
	commandEnds // after ESC in command
)

// maxCommand bounds a string sequence, so that one without an end does not hide all that follows.
const maxCommand = 4 << 10

// clean returns the next part of the text without them.
func (c *cleaner) clean(s string) string {
	if c.state == plain && !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if c.state == commandEnds && r != '\\' {
			c.state = escape // another sequence begins
		}
		switch c.state {
		case plain:
			c.plain(&b, r)
		case escape:
			switch {
			case r == '[':
				c.state = control
			case strings.ContainsRune("]PX^_", r):
				c.state, c.long = command, 0
			case r >= 0x20 && r <= 0x2f: // an intermediate byte: another follows
			default:
				c.state = plain
				if r == '\n' || r > 0x7e {
					c.plain(&b, r)
				}
			}
		case control:
			switch {
			case r >= 0x20 && r <= 0x3f: // a parameter
			case r >= 0x40 && r <= 0x7e:
				c.state = plain
			default: // not a sequence
				c.state = plain
				c.plain(&b, r)
			}
		case command:
			c.long++
			switch {
			case r == 0x1b:
				c.state = commandEnds
			case r == 0x07 || r == 0x9c:
				c.state = plain
			case r == '\n' || c.long > maxCommand:
				c.state = plain
				c.plain(&b, r)
			}
		case commandEnds:
			c.state = plain
		}
	}
	return b.String()
}

// plain adds a character outside of a sequence to b, or begins a sequence.
func (c *cleaner) plain(b *strings.Builder, r rune) {
	switch {
	case r == 0x1b:
		c.state = escape
	case r == 0x9b:
		c.state = control
	case r == 0x90 || r == 0x98 || r >= 0x9d && r <= 0x9f:
		c.state, c.long = command, 0
	case !isControl(r):
		b.WriteRune(r)
	}
}

// isControl reports whether r is a control character other than a tab and the end of a line.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' }

// clean returns a complete text without terminal escape sequences and control characters.
func clean(s string) string {
	var c cleaner
	return c.clean(s)
}

// visible returns s with control characters, line and paragraph separators, and characters that change
// the direction or cannot be seen as escapes, so that what the user reads is what it is.
func visible(s string) string {
	hidden := func(r rune) bool {
		return isControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError
	}
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// cutText returns s, or a prefix of complete characters with at most most bytes, and a note.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:runeStart(s, most)] + "\n[cut here: the text was too long]"
}

// runeStart returns the largest index of a character in s that is not larger than i.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return min(i, len(s))
}
