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

func (t optionalTarget) target() executor.Target {
	return executor.Target{Selector: t.Selector, Ref: t.Ref}
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
