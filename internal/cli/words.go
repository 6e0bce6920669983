package cli

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

var (
	errUnclosedQuote  = errors.New("a quote is not closed")
	errTrailingEscape = errors.New("a backslash is the last character")
)

// jsonStart matches the beginning of a word with a value that may be JSON.
var jsonStart = lazyregexp.New(`^[A-Za-z]+(:=|=)[\[{"]`)

// SplitWords splits a line into words like a POSIX shell: white space separates them, single quotes
// preserve everything, double quotes everything except \" \\ \$ and \`, and a backslash outside of
// quotes the next character. Nothing is expanded. Unlike in a shell, a value that is a JSON array or
// object, or after := any JSON with quotes, is kept verbatim, with its white space.
func SplitWords(line string) ([]string, error) {
	words := []string{}
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			return words, nil
		}
		word, rest, ok := cutJSON(line)
		if !ok {
			var err error
			if word, rest, err = cutWord(line); err != nil {
				return nil, err
			}
		}
		words = append(words, word)
		line = rest
	}
}

// cutJSON cuts a word whose value is JSON from the start of line.
func cutJSON(line string) (word, rest string, ok bool) {
	start := jsonStart().FindString(line)
	if start == "" || strings.HasSuffix(start, `="`) && !strings.HasSuffix(start, `:="`) {
		return "", "", false
	}
	name := len(start) - 1
	d := json.NewDecoder(strings.NewReader(line[name:]))
	var value json.RawMessage
	if d.Decode(&value) != nil {
		return "", "", false
	}
	end := name + int(d.InputOffset())
	if end < len(line) && line[end] != ' ' && line[end] != '\t' {
		return "", "", false
	}
	return line[:end], line[end:], true
}

// cutWord cuts the first word of line, which does not start with white space.
func cutWord(line string) (word, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			return b.String(), line[i:], nil
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return "", "", errUnclosedQuote
			}
			b.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case '"':
			for i++; ; i++ {
				if i == len(line) {
					return "", "", errUnclosedQuote
				}
				if line[i] == '"' {
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				b.WriteByte(line[i])
			}
		case '\\':
			if i++; i == len(line) {
				return "", "", errTrailingEscape
			}
			b.WriteByte(line[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", nil
}

// ShellQuote returns a word in quotes for a POSIX shell.
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
