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
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// The keys of what a result has in its _meta for programs, which do not parse the text.
const (
	ErrorKey = "chrome-mcp/error" // an ErrorInfo
	NoteKey  = "chrome-mcp/note"  // the note, a string
)

// ErrorInfo is the error of a call that failed.
type ErrorInfo struct {
	Code       executor.Code        `json:"code"`
	Message    string               `json:"message"`
	Hint       string               `json:"hint,omitempty"`
	Retryable  bool                 `json:"retryable"`
	Candidates []executor.Candidate `json:"candidates,omitempty"`
	Tabs       []executor.Tab       `json:"tabs,omitempty"`
	ID         string               `json:"id,omitempty"` // of an internal error; the log entry has the same id
	RetryAfter time.Duration        `json:"-"`            // how long the client must wait; 0 if that is unknown

	tabsHeading string // of Tabs in the text
}

// Limits of the lists in an error.
const (
	maxCandidates = 5
	maxErrorTabs  = 50
)

// classifyError returns the error to report for err, the error of a call of t with context ctx, which
// has run if ran is set. If the call was canceled, an unclassified error, such as the EOF that ended
// the session, is a result of the cancellation and not a bug: if the cause has a code, because the
// session ended or the user stopped the call, it is the error to report. A panic is always a bug.
func (r *toolRunner) classifyError(ctx context.Context, t *tool, ran bool, err error) error {
	_, panicked := errors.AsType[*panicError](err)
	_, classified := errors.AsType[*executor.Error](err)
	code := executor.CodeOf(err)
	cause := context.Cause(ctx)
	ended := cause != nil && executor.CodeOf(cause) != executor.ErrInternal
	late := errors.Is(err, context.DeadlineExceeded)
	switch {
	case panicked:
		return err
	case ended && (code == executor.ErrInternal || code == executor.ErrTimeout):
		return cause
	case code != executor.ErrInternal:
		return err
	case ctx.Err() == nil && (classified || !late && !errors.Is(err, context.Canceled)):
		return err
	}
	r.opts.Logger.Debug("call canceled", "tool", t.name, "error", err)
	if late {
		return t.unfinished(ran, errLate)
	}
	return t.unfinished(ran, errCanceled)
}

var (
	errCanceled = errors.New("the call was canceled before it finished")
	errLate     = errors.New("the call did not finish in time")
)

// unfinished returns the error of a call of t that ended because of why. If it has run, and running it
// twice is not the same as running it once, it is not retryable.
func (t *tool) unfinished(ran bool, why error) error {
	e := &executor.Error{Code: executor.ErrTimeout, Err: why, Retryable: true}
	switch {
	case ran && !t.kind.hints.readOnly && !t.kind.hints.idempotent:
		e.Err, e.Hint, e.Retryable = fmt.Errorf("%w, and may have had effects", why), "Check what it did before you try again.", false
	case why == errLate:
		e.Hint = executor.HintMoreTime
	}
	return e
}

// renderError renders err, the error of a call with context ctx, as a result with isError.
func (r *toolRunner) renderError(ctx context.Context, t *tool, err error) *sdk.CallToolResult {
	m := ErrorInfo{Code: executor.CodeOf(err)}
	about := t // the tool that the hint is about
	if c, ok := errors.AsType[*callError](err); ok {
		about = c.tool
	}
	var e *executor.Error
	switch {
	case errors.As(err, &e):
		m.Code, m.Message, m.Hint, m.Retryable = e.Code, e.Message(), r.hint(ctx, about, e.Hint, e.Retryable), e.Retryable
		m.Candidates = slices.Clone(e.Candidates[:min(len(e.Candidates), maxCandidates)])
		if none, ok := errors.AsType[*executor.NoActiveTabError](e.Err); ok {
			m.Message, m.Tabs, m.tabsHeading = none.Reason, none.Tabs, browsertools.OpenTabsHeading
		}
		if choice, ok := errors.AsType[*browsertools.TabChoiceError](e.Err); ok {
			m.Tabs, m.tabsHeading = choice.Tabs, choice.Heading
		}
		m.Tabs = m.Tabs[:min(len(m.Tabs), maxErrorTabs)]
	case m.Code != executor.ErrInternal:
		e = &executor.Error{Code: m.Code}
		if err != error(m.Code) {
			e.Err = err
		}
		m.Message = e.Message()
	}
	if limit, ok := errors.AsType[*rateLimitError](err); ok {
		m.RetryAfter = limit.delay
	}
	if m.Code == executor.ErrInternal {
		m.ID = strings.ToLower(rand.Text()[:10])
		attrs := []any{"id", m.ID, "tool", t.name, "error", err}
		if p, ok := errors.AsType[*panicError](err); ok {
			attrs = append(attrs, "stack", string(p.stack))
		}
		r.opts.Logger.Error("internal error", attrs...)
		if m.Message == "" {
			m.Message = "internal error in chrome-mcp"
		}
		m.Message += " (id " + m.ID + ")"
		m.Hint = strings.TrimSpace(m.Hint + " The log entry with this id has the details.")
	}
	m.Message, m.Hint = mcptext.OneLine(m.Message), mcptext.OneLine(m.Hint)
	for i, c := range m.Candidates {
		m.Candidates[i] = executor.Candidate{Role: mcptext.OneLine(c.Role), Name: pagetext.Truncate(mcptext.Clean(c.Name), mcptext.MaxErrorText), Item: mcptext.OneLine(c.Item), Ref: c.Ref}
	}
	m.Tabs = mcptext.CleanTabs(m.Tabs)
	return &sdk.CallToolResult{
		IsError: true,
		Content: []sdk.Content{&sdk.TextContent{Text: m.text(t)}},
		Meta:    sdk.Meta{ErrorKey: m},
	}
}

// text returns "CODE: What happened. What to do next." and the candidates, one per line.
func (m *ErrorInfo) text(t *tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", m.Code)
	if m.Code == executor.ErrBadArgs && t.hasParam(firstWord(m.Message)) {
		b.WriteString(mcptext.WithPeriod(m.Message))
	} else {
		b.WriteString(mcptext.WithPeriod(capitalize(m.Message)))
	}
	if m.Hint != "" {
		b.WriteString(" " + mcptext.WithPeriod(capitalize(m.Hint)))
	}
	for i, c := range m.Candidates {
		if i == 0 {
			b.WriteString("\nCandidates:")
		}
		fmt.Fprintf(&b, "\n%s %s", mcptext.RoleOf(c.Role), mcptext.Quote(c.Name, mcptext.MaxName))
		if c.Item != "" {
			fmt.Fprintf(&b, " in %s", mcptext.Quote(c.Item, mcptext.MaxName))
		}
		fmt.Fprintf(&b, " [ref=%s]", c.Ref)
	}
	if len(m.Tabs) > 0 {
		var list mcptext.Text
		browsertools.TabsResult{Tabs: m.Tabs}.Render(&list)
		b.WriteString("\n" + m.tabsHeading + ":\n" + list.String())
	}
	return b.String()
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

func (t *tool) hasParam(name string) bool {
	return slices.ContainsFunc(toolschema.Params(t.args), func(p toolschema.Param) bool { return p.Name == name })
}

// ErrorCode returns the code of the error that a result of a tool reports, and whether it reports
// one. It is for clients.
func ErrorCode(res *sdk.CallToolResult) (executor.Code, bool) {
	meta, _ := res.Meta[ErrorKey].(map[string]any)
	code, ok := meta["code"].(string)
	return executor.Code(code), ok
}
