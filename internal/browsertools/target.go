package browsertools

import (
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

// TabArg is the argument tabId of tools that work on a tab.
type TabArg struct {
	Tab executor.TabID `json:"tabId,omitempty"`
}

func (a TabArg) TabID() executor.TabID { return a.Tab }

// optionalTarget is an optional target: selector, ref or neither.
type optionalTarget struct {
	Selector string       `json:"selector,omitempty"`
	Ref      executor.Ref `json:"ref,omitempty"`
}

func (t optionalTarget) target() executor.Target { return newTarget(t.Selector, t.Ref) }

// newTarget returns the target with a selector or ref. A selector that has the form of a ref is
// used as a ref: models confuse the two, and no HTML element has such a name.
func newTarget(selector string, ref executor.Ref) executor.Target {
	if r, err := executor.ParseRef(selector); err == nil && ref == "" {
		return executor.Target{Ref: r}
	}
	return executor.Target{Selector: selector, Ref: ref}
}

func (t optionalTarget) Check() error {
	if t.target().IsZero() {
		return nil
	}
	return t.target().Validate()
}

// requiredTarget is a required target: exactly one of selector and ref.
type requiredTarget struct{ optionalTarget }

func (t requiredTarget) Check() error { return t.target().Validate() }

// TimeoutArg is the time limit of a call. Zero means the executor's default.
type TimeoutArg struct {
	TimeoutMS int `json:"timeoutMs,omitempty" min:"1" max:"600000" unit:"milliseconds"`
}

func (t TimeoutArg) Timeout() time.Duration { return time.Duration(t.TimeoutMS) * time.Millisecond }

// maxCharsArg is the maximum length of the returned page text, in characters. Zero means the
// executor's default.
type maxCharsArg struct {
	MaxChars int `json:"maxChars,omitempty" min:"1" max:"1000000" unit:"characters"`
}

// offsetArg is the number of characters of page text to skip, to read on.
type offsetArg struct {
	Offset int `json:"offset,omitempty" min:"0" unit:"characters"`
}

// pastEnd reports whether a text of so many characters has none at the offset.
func (a offsetArg) pastEnd(chars int) bool { return a.Offset > 0 && a.Offset >= chars }

// renderPastEnd adds a line if a text of so many characters has none at the offset. It reports
// whether it does.
func renderPastEnd(t *mcptext.Text, a offsetArg, chars int) bool {
	past := a.pastEnd(chars)
	if past {
		t.Line("offset %d is past the end (%s in total)", a.Offset, mcptext.Plural(chars, "character"))
	}
	return past
}
