package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaError is the key of the machine-readable error in a result's _meta.
const metaError = "chrome-mcp/error"

// errorMeta is what stands under metaError.
type errorMeta struct {
	Code       executor.Code        `json:"code"`
	Message    string               `json:"message"`
	Hint       string               `json:"hint,omitempty"`
	Retryable  bool                 `json:"retryable"`
	Candidates []executor.Candidate `json:"candidates,omitempty"`
	ID         string               `json:"id,omitempty"` // of an internal error, in the log too
}

// Limits of what an error tells, in characters. Names of elements, which are
// page text, can be as long as the page likes.
const (
	maxErrorText  = 2000
	maxName       = 100
	maxCandidates = 5
)

// blame returns the error that a call whose context is ctx ended with. Whatever
// a call that was cancelled stumbled over on its way out, such as the EOF that
// ended the session, is no bug; a panic is one also then.
func (s *session) blame(ctx context.Context, t *tool, err error) error {
	var p *panicError
	if ctx.Err() == nil || executor.CodeOf(err) != executor.ErrInternal || errors.As(err, &p) {
		return err
	}
	s.log.Debug("a call was cancelled", "tool", t.name, "error", err)
	return &executor.Error{Code: executor.ErrTimeout, Err: errCancelled, Retryable: true}
}

var errCancelled = errors.New("the call was cancelled before it finished")

// failed renders an error.
func (s *session) failed(t *tool, err error) *sdk.CallToolResult {
	m := errorMeta{Code: executor.CodeOf(err)}
	var e *executor.Error
	switch {
	case errors.As(err, &e):
		m.Code, m.Message, m.Hint, m.Retryable = e.Code, e.Message(), t.hint(e.Hint, e.Retryable), e.Retryable
		m.Candidates = slices.Clone(e.Candidates[:min(len(e.Candidates), maxCandidates)])
	case errors.Is(err, context.Canceled):
		m.Code, m.Message, m.Retryable = executor.ErrTimeout, errCancelled.Error(), true
	case errors.Is(err, context.DeadlineExceeded):
		m.Code, m.Message, m.Retryable = executor.ErrTimeout, "the deadline passed", true
	case m.Code != executor.ErrInternal:
		e = &executor.Error{Code: m.Code}
		if err != error(m.Code) {
			e.Err = err
		}
		m.Message = e.Message()
	}
	if m.Code == executor.ErrInternal {
		m.ID = strings.ToLower(rand.Text()[:10])
		attrs := []any{"id", m.ID, "tool", t.name, "error", err}
		var p *panicError
		if errors.As(err, &p) {
			attrs = append(attrs, "stack", string(p.stack))
		}
		s.log.Error("internal error", attrs...)
		if m.Message == "" {
			m.Message = "a bug in chrome-mcp stopped the call"
		}
		m.Message += " (id " + m.ID + ")"
		m.Hint = strings.TrimSpace(m.Hint + " The log has the details under that id.")
	}
	m.Message, m.Hint = oneLine(m.Message), oneLine(m.Hint)
	for i, c := range m.Candidates {
		m.Candidates[i] = executor.Candidate{Role: oneLine(c.Role), Name: ended(clean(c.Name), maxErrorText), Ref: c.Ref}
	}
	return &sdk.CallToolResult{
		IsError: true,
		Content: []sdk.Content{&sdk.TextContent{Text: m.text(t)}},
		Meta:    sdk.Meta{metaError: m},
	}
}

// text returns "CODE: What happened. What to do next." and the candidates,
// one a line.
func (m *errorMeta) text(t *tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", m.Code)
	if m.Code == executor.ErrBadArgs && t.hasParam(firstWord(m.Message)) {
		b.WriteString(stopped(m.Message))
	} else {
		b.WriteString(stopped(capitalised(m.Message)))
	}
	if m.Hint != "" {
		b.WriteString(" " + stopped(capitalised(m.Hint)))
	}
	for i, c := range m.Candidates {
		if i == 0 {
			b.WriteString("\nPerhaps one of these was meant:")
		}
		fmt.Fprintf(&b, "\n%s %s [ref=%s]", roleOf(c.Role), quote(c.Name, maxName), c.Ref)
	}
	return b.String()
}

// maxRole is the length of the longest role, menuitemcheckbox.
const maxRole = 16

// roleOf returns the role of a candidate, quoted if it may be page text. Our
// executors only return roles of a fixed list.
func roleOf(role string) own {
	if len(role) <= maxRole && isWord(role) {
		return own(role)
	}
	return quote(role, maxName)
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// capitalised gives s a capital, unless its first word is no plain word (a
// flag, a URL's scheme, what stands in quotes), is a tool's name, or names what
// stands in quotes after it, as in: button "Pay" is disabled.
func capitalised(s string) string {
	word := firstWord(s)
	for _, r := range strings.TrimRight(word, ".,;") {
		if r < 'a' || r > 'z' {
			return s
		}
	}
	if s == "" || strings.HasPrefix(s[len(word):], ` "`) || isTool(word) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// stopped gives s a full stop, unless it ends in one of some kind.
func stopped(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

func isTool(name string) bool { return toolsetOf(name) != "" }

func (t *tool) hasParam(name string) bool {
	return slices.ContainsFunc(paramsOf(t.args), func(p param) bool { return p.name == name })
}

// oneLine cleans s, joins its lines and cuts it to what an error may tell.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	n, quoted, escaped := 0, false, false
	for i, r := range s {
		if n++; n > maxErrorText {
			if s = s[:i] + "…"; quoted {
				s += `"` // close the truncated quote
			}
			return s
		}
		if r == '"' && !escaped {
			quoted = !quoted
		}
		escaped = r == '\\' && !escaped
	}
	return s
}
