package relay

import (
	"errors"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// countWindow is how long repeated entries are counted before the counts are written.
	countWindow = time.Minute
	// maxKinds is the maximum number of different entries within countWindow.
	maxKinds = 2000
)

// An auditor records the commands of clients. A client may send thousands of equal commands per
// second, so the first is written immediately, and the others are counted. A nil auditor records
// nothing.
type auditor struct {
	recorder audit.Recorder

	mu     sync.Mutex // guards the fields below
	counts map[audit.Entry]int
	timer  *time.Timer
}

func newAuditor(r audit.Recorder) *auditor {
	if r == nil {
		return nil
	}
	return &auditor{recorder: r, counts: map[audit.Entry]int{}}
}

// ready returns a denial if the audit log is not writable. Commands that act or read then fail.
func (a *auditor) ready() error {
	if a != nil && a.recorder.Ready() != nil {
		return denied("The user must make the audit log writable.", "the audit log is not writable")
	}
	return nil
}

// connected records a new client.
func (a *auditor) connected(c *Client) {
	if a != nil {
		a.recorder.Record(audit.Entry{Event: audit.EventSession, Session: c.ID, Client: c.Name, Detail: "CDP client"})
	}
}

// record records a command on a page: the tab, which may be empty, and the page's origin. err is why
// the command was not sent or has failed, or nil.
func (a *auditor) record(c *Client, what string, tab executor.TabID, origin string, err error) {
	if a == nil {
		return
	}
	e := audit.Entry{Event: audit.EventCall, Session: c.ID, Client: c.Name, Tool: what, Tab: string(tab), Origin: origin}
	protocol, isProtocol := errors.AsType[*protocolError](err)
	switch {
	case err == nil:
		e.Decision = audit.Allowed
	case errors.Is(err, executor.ErrPolicyDenied), isProtocol && protocol.Code == codeUnknownMethod:
		e.Decision, e.Rule = audit.Denied, executor.RuleOf(err)
	}
	if err != nil {
		e.Code = string(executor.CodeOf(err))
	}
	if isProtocol {
		e.Code = string(executor.ErrBadArgs)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, known := a.counts[e]; known {
		a.counts[e] = n + 1
		return
	}
	if len(a.counts) >= maxKinds {
		a.flushLocked()
	}
	if len(a.counts) == 0 {
		a.timer = time.AfterFunc(countWindow, a.flush)
	}
	a.counts[e] = 0
	a.recorder.Record(e)
}

// flush writes the counted entries.
func (a *auditor) flush() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flushLocked()
}

// flushLocked is flush with a.mu held.
func (a *auditor) flushLocked() {
	for e, n := range a.counts {
		if n > 0 {
			e.Count = n
			a.recorder.Record(e)
		}
	}
	clear(a.counts)
	if a.timer != nil {
		a.timer.Stop()
	}
}
