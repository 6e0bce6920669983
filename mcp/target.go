package mcp

import (
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// tabArg is the argument of every tool that works on a tab.
type tabArg struct {
	Tab executor.TabID `json:"tabId,omitempty"`
}

// optionalTarget is the element that a tool may be given: selector, ref or
// neither.
type optionalTarget struct {
	Selector string       `json:"selector,omitempty"`
	Ref      executor.Ref `json:"ref,omitempty"`
}

func (t optionalTarget) target() executor.Target { return newTarget(t.Selector, t.Ref) }

// newTarget returns the target that a tool was given. A selector that looks like
// a ref is a ref: models mix them up, and there is no element of that name.
func newTarget(selector string, ref executor.Ref) executor.Target {
	if r, err := executor.ParseRef(selector); err == nil && ref == "" {
		return executor.Target{Ref: r}
	}
	return executor.Target{Selector: selector, Ref: ref}
}

func (t optionalTarget) check() error {
	if t.target().IsZero() {
		return nil
	}
	return t.target().Validate()
}

// requiredTarget is the element that a tool must be given: exactly one of
// selector and ref.
type requiredTarget struct{ optionalTarget }

func (t requiredTarget) check() error { return t.target().Validate() }

// timeoutArg is how long a call may take. Zero means the executor's default.
type timeoutArg struct {
	TimeoutMS int `json:"timeoutMs,omitempty" min:"1" max:"600000" unit:"milliseconds"`
}

func (t timeoutArg) timeout() time.Duration { return time.Duration(t.TimeoutMS) * time.Millisecond }

// maxCharsArg is how many characters of page text a reader returns. Zero
// means the executor's default.
type maxCharsArg struct {
	MaxChars int `json:"maxChars,omitempty" min:"1" max:"1000000" unit:"characters"`
}
