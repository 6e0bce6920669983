package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// metaError is the key of the machine-readable error in a result's _meta.
const metaError = "chrome-mcp/error"

// errorMeta is the value of metaError.
type errorMeta struct {
	Code       executor.Code        `json:"code"`
	Message    string               `json:"message"`
	Hint       string               `json:"hint,omitempty"`
	Retryable  bool                 `json:"retryable"`
	Candidates []executor.Candidate `json:"candidates,omitempty"`
	Tabs       []executor.Tab       `json:"tabs,omitempty"`
	ID         string               `json:"id,omitempty"` // of an internal error; the log entry has the same id

	tabsHeading string        // of Tabs in the text
	retryAfter  time.Duration // how long the client must wait; 0 if that is unknown
}

// Limits of error texts. Names of elements are page text and can be arbitrarily long.
const (
	maxErrorText  = 2000 // characters
	maxName       = 100  // characters
	maxCandidates = 5
	maxErrorTabs  = 50
)

// classifyError returns the error to report for err, the error of a call with context ctx. If the
// call was canceled, an unclassified error, such as the EOF that ended the session, is a result of
// the cancellation and not a bug. A panic is always a bug.
func (s *toolSession) classifyError(ctx context.Context, t *tool, err error) error {
	_, panicked := errors.AsType[*panicError](err)
	code := executor.CodeOf(err)
	cause := context.Cause(ctx)
	ended := executor.CodeOf(cause) == executor.ErrSessionEnded
	switch {
	case ctx.Err() == nil || panicked:
		return err
	case ended && (code == executor.ErrInternal || code == executor.ErrTimeout):
		return cause
	case code != executor.ErrInternal:
		return err
	}
	s.opts.Logger.Debug("call canceled", "tool", t.name, "error", err)
	return &executor.Error{Code: executor.ErrTimeout, Err: errCanceled, Retryable: true}
}

var errCanceled = errors.New("the call was canceled before it finished")

// failed renders err as a result with isError.
func (s *toolSession) failed(t *tool, err error) *sdk.CallToolResult {
	m := errorMeta{Code: executor.CodeOf(err)}
	about := t // the tool that the hint is about
	if c, ok := errors.AsType[*callError](err); ok {
		about = c.tool
	}
	var e *executor.Error
	switch {
	case errors.As(err, &e):
		m.Code, m.Message, m.Hint, m.Retryable = e.Code, e.Message(), about.hint(e.Hint, e.Retryable), e.Retryable
		m.Candidates = slices.Clone(e.Candidates[:min(len(e.Candidates), maxCandidates)])
		if none, ok := errors.AsType[*executor.NoActiveTabError](e.Err); ok {
			m.Message, m.Tabs, m.tabsHeading = none.Reason, none.Tabs, openTabsHeading
		}
		if choice, ok := errors.AsType[*tabChoiceError](e.Err); ok {
			m.Tabs, m.tabsHeading = choice.tabs, choice.heading
		}
		m.Tabs = m.Tabs[:min(len(m.Tabs), maxErrorTabs)]
	case errors.Is(err, context.Canceled):
		m.Code, m.Message, m.Retryable = executor.ErrTimeout, errCanceled.Error(), true
	case errors.Is(err, context.DeadlineExceeded):
		m.Code, m.Message, m.Hint, m.Retryable = executor.ErrTimeout, "the call did not finish in time", t.hint(executor.HintMoreTime, true), true
	case m.Code != executor.ErrInternal:
		e = &executor.Error{Code: m.Code}
		if err != error(m.Code) {
			e.Err = err
		}
		m.Message = e.Message()
	}
	if limit, ok := errors.AsType[*rateLimitError](err); ok {
		m.retryAfter = limit.delay
	}
	if m.Code == executor.ErrInternal {
		m.ID = strings.ToLower(rand.Text()[:10])
		attrs := []any{"id", m.ID, "tool", t.name, "error", err}
		if p, ok := errors.AsType[*panicError](err); ok {
			attrs = append(attrs, "stack", string(p.stack))
		}
		s.opts.Logger.Error("internal error", attrs...)
		if m.Message == "" {
			m.Message = "internal error in chrome-mcp"
		}
		m.Message += " (id " + m.ID + ")"
		m.Hint = strings.TrimSpace(m.Hint + " The log entry with this id has the details.")
	}
	m.Message, m.Hint = oneLine(m.Message), oneLine(m.Hint)
	for i, c := range m.Candidates {
		m.Candidates[i] = executor.Candidate{Role: oneLine(c.Role), Name: pagetext.Truncate(clean(c.Name), maxErrorText), Item: oneLine(c.Item), Ref: c.Ref}
	}
	m.Tabs = cleanTabs(m.Tabs)
	return &sdk.CallToolResult{
		IsError: true,
		Content: []sdk.Content{&sdk.TextContent{Text: m.text(t)}},
		Meta:    sdk.Meta{metaError: m},
	}
}

// text returns "CODE: What happened. What to do next." and the candidates, one per line.
func (m *errorMeta) text(t *tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", m.Code)
	if m.Code == executor.ErrBadArgs && t.hasParam(firstWord(m.Message)) {
		b.WriteString(withPeriod(m.Message))
	} else {
		b.WriteString(withPeriod(capitalize(m.Message)))
	}
	if m.Hint != "" {
		b.WriteString(" " + withPeriod(capitalize(m.Hint)))
	}
	for i, c := range m.Candidates {
		if i == 0 {
			b.WriteString("\nCandidates:")
		}
		fmt.Fprintf(&b, "\n%s %s", roleOf(c.Role), quote(c.Name, maxName))
		if c.Item != "" {
			fmt.Fprintf(&b, " in %s", quote(c.Item, maxName))
		}
		fmt.Fprintf(&b, " [ref=%s]", c.Ref)
	}
	if len(m.Tabs) > 0 {
		var list text
		tabsResult{m.Tabs}.render(&list)
		b.WriteString("\n" + m.tabsHeading + ":\n" + list.String())
	}
	return b.String()
}

// cleanTabs returns a copy of tabs whose page text is cleaned and truncated.
func cleanTabs(tabs []executor.Tab) []executor.Tab {
	tabs = slices.Clone(tabs)
	for i, t := range tabs {
		tabs[i].URL = pagetext.Truncate(clean(t.URL), maxURL)
		tabs[i].Title = pagetext.Truncate(clean(t.Title), maxErrorText)
		tabs[i].Note = oneLine(t.Note)
	}
	return tabs
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

// capitalize returns s with an upper-case first letter. It returns s unchanged if the first word
// has characters other than lower-case letters (a flag, a URL scheme, a quoted text), is the name
// of a tool, or describes a quoted text after it, as in: button "Pay" is disabled.
func capitalize(s string) string {
	word := firstWord(s)
	for _, r := range strings.TrimRight(word, ".,;") {
		if r < 'a' || r > 'z' {
			return s
		}
	}
	if s == "" || strings.HasPrefix(s[len(word):], ` "`) || toolsetOf(word) != "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// withPeriod returns s with a period at the end, unless it already ends in punctuation.
func withPeriod(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

func (t *tool) hasParam(name string) bool {
	return slices.ContainsFunc(paramsOf(t.args), func(p param) bool { return p.name == name })
}

// oneLine returns s cleaned, with its lines joined, truncated to maxErrorText characters.
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

// ErrorCode returns the code of the error that a result of a tool reports, and whether it reports
// one. It is for clients.
func ErrorCode(res *sdk.CallToolResult) (executor.Code, bool) {
	meta, _ := res.Meta[metaError].(map[string]any)
	code, ok := meta["code"].(string)
	return executor.Code(code), ok
}
