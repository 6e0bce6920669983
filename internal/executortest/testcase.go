package executortest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// A testCase is one case: a session, its tab, and the site that its pages report to.
type testCase struct {
	*testing.T
	*suite
	*caseSite
	ctx  context.Context
	exec executor.Executor
	tab  executor.TabID
}

// session returns another session on the backend. It is closed with the case.
func (c *testCase) session(opts executor.SessionOptions) executor.Executor {
	c.Helper()
	ex := c.h.NewSession(c.T, opts)
	c.Cleanup(func() {
		if err := ex.Close(); err != nil {
			c.Errorf("closing the session: %v", err)
		}
	})
	return ex
}

// page returns the page of the case's tab.
func (c *testCase) page() executor.Page { return pagetest.Of(c.exec, c.tab) }

// open opens file in a new tab, which becomes the active one.
func (c *testCase) open(file string) executor.TabID {
	c.Helper()
	return c.openURL(c.url(file)).ID
}

// openURL opens url in a new tab, which becomes the active one. An empty url opens a blank tab.
func (c *testCase) openURL(url string) *executor.Tab {
	c.Helper()
	_, tab, err := c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: url})
	if err != nil {
		c.Fatalf("opening %s: %v", url, err)
	}
	return tab
}

// must fails the case if a call has failed, such as c.must(c.page().Back(c.ctx, nil)).
func (c *testCase) must(_ any, err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// errOf returns the error of a call whose result is not needed.
func errOf(_ any, err error) error { return err }

// css and byRef return targets.
func css(selector string) executor.Target    { return executor.Selector(selector) }
func byRef(ref executor.Ref) executor.Target { return executor.Target{Ref: ref} }

// neverTimeout is the timeout of calls that must end for another reason. A call that waits for it uses up
// the time of its case.
const neverTimeout = caseTimeout

// click clicks target and fails the case if that fails. The default timeout is await.HangLimit.
func (c *testCase) click(target executor.Target, opts *executor.ClickOptions) *executor.Action {
	c.Helper()
	o := *cmp.Or(opts, new(executor.ClickOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	a, err := c.page().Click(c.ctx, target, &o)
	if err != nil {
		c.Fatalf("click %+v: %v", target, err)
	}
	if !a.OK {
		c.Errorf("click %+v: OK = false with no error", target)
	}
	return a
}

// eval evaluates expression in the page and decodes the result into v, unless v is nil.
func (c *testCase) eval(expression string, v any) {
	c.Helper()
	res, err := c.page().Eval(c.ctx, expression, nil)
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

// met waits for a condition on the tab of the case and fails the case if it is not met. The default
// timeout is await.HangLimit.
func (c *testCase) met(cond executor.WaitCondition) *executor.WaitResult {
	c.Helper()
	return c.metIn(c.tab, cond)
}

// metIn is met for another tab.
func (c *testCase) metIn(tab executor.TabID, cond executor.WaitCondition) *executor.WaitResult {
	c.Helper()
	cond.Timeout = cmp.Or(cond.Timeout, await.HangLimit)
	res, err := pagetest.Of(c.exec, tab).WaitFor(c.ctx, cond)
	if err != nil || !res.Matched || len(res.Unmet) != 0 {
		c.Fatalf("waiting for %+v: %+v, %v", cond, res, err)
	}
	return res
}

// timesOut makes a call with a timeout, and with longer and longer ones while the machine is too slow:
// until the call fails with ErrTimeout and an error that contains part.
func (c *testCase) timesOut(part string, call func(timeout time.Duration) error) {
	c.Helper()
	for timeout := await.Soon; ; timeout *= 2 {
		err := call(timeout)
		if err == nil || timeout > await.HangLimit || errors.Is(err, executor.ErrTimeout) && strings.Contains(err.Error(), part) {
			c.wantCode(err, executor.ErrTimeout, part)
			return
		}
	}
}

// pastDeadline is timesOut for a call whose context has the deadline.
func (c *testCase) pastDeadline(part string, call func(ctx context.Context) error) {
	c.Helper()
	c.timesOut(part, func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(c.ctx, timeout)
		defer cancel()
		return call(ctx)
	})
}

// loopsForever evaluates an endless loop, which the deadline of the call ends.
func (c *testCase) loopsForever() {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 20*await.Soon) // the loop starts until then, unless the machine is slow
	defer cancel()
	_, err := c.page().Eval(ctx, "for (;;);", nil)
	c.wantCode(err, executor.ErrTimeout)
}

// evalString is eval for an expression whose value is a string.
func (c *testCase) evalString(expression string) string {
	c.Helper()
	var v string
	c.eval(expression, &v)
	return v
}

// wantValue checks the current value of expression in the page.
func (c *testCase) wantValue(expression, want string) {
	c.Helper()
	if got := c.evalString("String(" + expression + ")"); got != want {
		c.Errorf("%s = %q, want %q", expression, got, want)
	}
}

// wantUntouched fails if the page has logged a report of the element, of any kind. It reads the
// page's own log, which contains all delivered events, because waiting for an absent report would
// take time.
func (c *testCase) wantUntouched(id string) {
	c.Helper()
	var log []report
	c.eval("log", &log)
	for _, r := range log {
		if r.ID == id {
			c.Errorf("#%s received %+v", id, r)
		}
	}
}

// snap takes a snapshot and returns its text.
func (c *testCase) snap(opts *executor.SnapshotOptions) string {
	c.Helper()
	return c.snapshot(opts).Text
}

// snapshot takes a snapshot.
func (c *testCase) snapshot(opts *executor.SnapshotOptions) *executor.Snapshot {
	c.Helper()
	s, err := c.page().Snapshot(c.ctx, opts)
	if err != nil {
		c.Fatalf("snapshot: %v", err)
	}
	return s
}

// ref takes a snapshot and returns the ref of the element with that role and
// name.
func (c *testCase) ref(role, name string) executor.Ref {
	c.Helper()
	return c.refIn(c.snap(nil), role, name)
}

// refIn returns the ref of the element with that role and name in a snapshot.
func (c *testCase) refIn(snapshot, role, name string) executor.Ref {
	c.Helper()
	m := regexp.MustCompile(`(?m)^\s*- ` + role + ` "` + regexp.QuoteMeta(name) + `".*\[ref=(e\d+)\]`).FindStringSubmatch(snapshot)
	if m == nil {
		c.Fatalf("%s %q with a ref not found in the snapshot:\n%s", role, name, snapshot)
	}
	return executor.Ref(m[1])
}

// wantCode checks that err is an *executor.Error with the code, whose text and hint contain each of
// parts, ignoring case.
func (c *testCase) wantCode(err error, code executor.Code, parts ...string) {
	c.Helper()
	if err == nil {
		c.Fatalf("no error, want %s", code)
	}
	var e *executor.Error
	if !errors.As(err, &e) {
		c.Fatalf("error %v is not an *executor.Error", err)
	}
	if !errors.Is(err, code) || executor.CodeOf(err) != code {
		c.Fatalf("error %s (%v), want %s", executor.CodeOf(err), err, code)
	}
	said := strings.ToLower(e.Error() + " " + e.Hint)
	for _, part := range parts {
		if !strings.Contains(said, strings.ToLower(part)) {
			c.Errorf("error %q (hint %q) does not name %q", e.Error(), e.Hint, part)
		}
	}
}

// wantIn and wantNotIn check the content of a text.
func (c *testCase) wantIn(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.Errorf("%q is missing in:\n%.3000s", part, text)
		}
	}
}

func (c *testCase) wantNotIn(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			c.Errorf("%q should not be in:\n%.3000s", part, text)
		}
	}
}

// wantReported checks in the page's own log that its reports, each given as kind and id, arrived in
// this order. It waits for the last one.
func (c *testCase) wantReported(reports ...string) {
	c.Helper()
	kind, id, _ := strings.Cut(reports[len(reports)-1], " ")
	c.await(kind, id)
	var log []string
	c.eval("log.map((r) => r.kind + ' ' + r.id)", &log)
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
