package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// A Case is one case: a session, its tab, and the site that its pages report to.
type Case struct {
	Checks
	*Runner
	*Site
	Ctx  context.Context
	Exec executor.Executor
	Tab  executor.TabID
}

// Session returns another session on the backend. It is closed with the case.
func (c *Case) Session(opts executor.SessionOptions) executor.Executor {
	c.Helper()
	ex := c.H.NewSession(c.T, opts)
	c.Cleanup(func() {
		if err := ex.Close(); err != nil {
			c.Errorf("closing the session: %v", err)
		}
	})
	return ex
}

// Page returns the page of the case's tab.
func (c *Case) Page() executor.Page { return pagetest.Of(c.Exec, c.Tab) }

// Open opens file in a new tab, which becomes the active one.
func (c *Case) Open(file string) executor.TabID {
	c.Helper()
	return c.OpenURL(c.URL(file)).ID
}

// OpenURL opens url in a new tab, which becomes the active one. An empty url opens a blank tab.
func (c *Case) OpenURL(url string) *executor.Tab {
	c.Helper()
	_, tab, err := c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: url})
	if err != nil {
		c.Fatalf("opening %s: %v", url, err)
	}
	return tab
}

// ErrOf returns the error of a call whose result is not needed.
func ErrOf(_ any, err error) error { return err }

// Selector and ByRef return targets.
func Selector(selector string) executor.Target { return executor.Selector(selector) }

func ByRef(ref executor.Ref) executor.Target { return executor.ByRef(ref) }

// NeverTimeout is the timeout of calls that must end for another reason. A call that waits for it uses up
// the time of its case.
const NeverTimeout = caseTimeout

// Click clicks target and fails the case if that fails. The default timeout is await.HangLimit.
func (c *Case) Click(target executor.Target, opts *executor.ClickOptions) *executor.Action {
	c.Helper()
	o := *cmp.Or(opts, new(executor.ClickOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	a, err := c.Page().Click(c.Ctx, target, &o)
	if err != nil {
		c.Fatalf("click %+v: %v", target, err)
	}
	if !a.OK {
		c.Errorf("click %+v: OK = false with no error", target)
	}
	return a
}

// Eval evaluates expression in the page and decodes the result into v, unless v is nil.
func (c *Case) Eval(expression string, v any) {
	c.Helper()
	res, err := c.Page().Eval(c.Ctx, expression, nil)
	if err != nil {
		c.Fatalf("eval %s: %v", expression, err)
	}
	if !res.OK {
		c.Fatalf("eval %s: exception %s", expression, res.Error)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(res.Value, v); err != nil {
		c.Fatalf("eval %s returned %s: %v", expression, res.Value, err)
	}
}

// Met waits for a condition on the tab of the case and fails the case if it is not met. The default
// timeout is await.HangLimit.
func (c *Case) Met(cond executor.WaitCondition) *executor.WaitResult {
	c.Helper()
	return c.MetIn(c.Tab, cond)
}

// MetIn is Met for another tab.
func (c *Case) MetIn(tab executor.TabID, cond executor.WaitCondition) *executor.WaitResult {
	c.Helper()
	cond.Timeout = cmp.Or(cond.Timeout, await.HangLimit)
	res, err := pagetest.Of(c.Exec, tab).WaitFor(c.Ctx, &cond)
	if err != nil || !res.Matched || len(res.Unmet) != 0 {
		c.Fatalf("waiting for %+v: %+v, %v", cond, res, err)
	}
	return res
}

// TimesOut makes a call with a timeout, and with longer and longer ones while the machine is too slow:
// until the call fails with ErrTimeout and an error that contains part.
func (c *Case) TimesOut(part string, call func(timeout time.Duration) error) {
	c.Helper()
	for timeout := await.Soon; ; timeout *= 2 {
		err := call(timeout)
		if err == nil || timeout > await.HangLimit || errors.Is(err, executor.ErrTimeout) && strings.Contains(err.Error(), part) {
			c.WantCode(err, executor.ErrTimeout, part)
			return
		}
	}
}

// PastDeadline is TimesOut for a call whose context has the deadline.
func (c *Case) PastDeadline(part string, call func(ctx context.Context) error) {
	c.Helper()
	c.TimesOut(part, func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(c.Ctx, timeout)
		defer cancel()
		return call(ctx)
	})
}

// LoopsForever evaluates an endless loop, which the deadline of the call ends.
func LoopsForever(c *Case) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Ctx, 20*await.Soon) // the loop starts until then, unless the machine is slow
	defer cancel()
	_, err := c.Page().Eval(ctx, "for (;;);", nil)
	c.WantCode(err, executor.ErrTimeout)
}

// EvalString is Eval for an expression whose value is a string.
func (c *Case) EvalString(expression string) string {
	c.Helper()
	var v string
	c.Eval(expression, &v)
	return v
}

// WantValue checks the current value of expression in the page.
func (c *Case) WantValue(expression, want string) {
	c.Helper()
	if got := c.EvalString("String(" + expression + ")"); got != want {
		c.Errorf("%s = %q, want %q", expression, got, want)
	}
}

// WantUntouched fails if the page has logged a report of the element, of any kind. It reads the
// page's own log, which contains all delivered events, because waiting for an absent report would
// take time.
func (c *Case) WantUntouched(id string) {
	c.Helper()
	var log []Report
	c.Eval("log", &log)
	for _, r := range log {
		if r.ID == id {
			c.Errorf("#%s received %+v", id, r)
		}
	}
}

// Snap takes a snapshot and returns its text.
func (c *Case) Snap(opts *executor.SnapshotOptions) string {
	c.Helper()
	return c.Snapshot(opts).Text
}

// Snapshot takes a snapshot.
func (c *Case) Snapshot(opts *executor.SnapshotOptions) *executor.Snapshot {
	c.Helper()
	s, err := c.Page().Snapshot(c.Ctx, opts)
	if err != nil {
		c.Fatalf("snapshot: %v", err)
	}
	return s
}

// Ref takes a snapshot and returns the ref of the element with that role and
// name.
func (c *Case) Ref(role, name string) executor.Ref {
	c.Helper()
	return c.RefIn(c.Snap(nil), role, name)
}

// WantReported checks in the page's own log that its reports, each given as kind and id, arrived in
// this order. It waits for the last one.
func (c *Case) WantReported(reports ...string) {
	c.Helper()
	kind, id, _ := strings.Cut(reports[len(reports)-1], " ")
	c.Await(kind, id)
	var log []string
	c.Eval("log.map((r) => r.kind + ' ' + r.id)", &log)
	at := -1
	for _, r := range reports {
		next := slices.Index(log, r)
		if next < 0 || next < at {
			c.Errorf("the page reported %q, want the first of each in the order %q", log, reports)
			return
		}
		at = next
	}
}
