package executortest

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A scene is one case: a session, its tab, and the stage that the pages in it
// report to.
type scene struct {
	*testing.T
	*suite
	*stage
	ctx  context.Context
	exec executor.Executor
	tab  executor.TabID
}

// session returns one more session on the backend, closed with the case.
func (c *scene) session(opts executor.SessionOptions) executor.Executor {
	c.Helper()
	ex := c.h.NewSession(c.T, opts)
	c.Cleanup(func() {
		if err := ex.Close(); err != nil {
			c.Errorf("closing the session: %v", err)
		}
	})
	return ex
}

// open opens file in a new tab, which becomes the active one.
func (c *scene) open(file string) executor.TabID {
	c.Helper()
	tab, err := c.exec.NewTab(c.ctx, c.url(file), nil)
	if err != nil {
		c.Fatalf("opening %s: %v", file, err)
	}
	return tab.ID
}

// css and byRef make targets.
func css(selector string) executor.Target    { return executor.Target{Selector: selector} }
func byRef(ref executor.Ref) executor.Target { return executor.Target{Ref: ref} }

// click clicks target and fails the case if that fails.
func (c *scene) click(target executor.Target, opts *executor.ClickOptions) *executor.Action {
	c.Helper()
	a, err := c.exec.Click(c.ctx, c.tab, target, opts)
	if err != nil {
		c.Fatalf("click %+v: %v", target, err)
	}
	if !a.OK {
		c.Errorf("click %+v: OK = false with no error", target)
	}
	return a
}

// eval runs expression in the page and decodes what it gives into v, unless
// that is nil.
func (c *scene) eval(expression string, v any) {
	c.Helper()
	res, err := c.exec.Eval(c.ctx, c.tab, expression, nil)
	if err != nil {
		c.Fatalf("eval %s: %v", expression, err)
	}
	if !res.OK {
		c.Fatalf("eval %s: the page threw %s", expression, res.Error)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(res.Value, v); err != nil {
		c.Fatalf("eval %s gave %s: %v", expression, res.Value, err)
	}
}

// slowness returns how much later than on an idle machine a call may end on
// this one as it is now: three times what a frame takes, 50 ms on an idle one.
func (c *scene) slowness() time.Duration {
	c.Helper()
	worst := time.Duration(0)
	for range 3 {
		start := time.Now()
		c.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))", nil)
		worst = max(worst, time.Since(start))
	}
	return 3 * worst
}

// evalString is eval for an expression that gives a string.
func (c *scene) evalString(expression string) string {
	c.Helper()
	var v string
	c.eval(expression, &v)
	return v
}

// wantValue checks what expression gives in the page now.
func (c *scene) wantValue(expression, want string) {
	c.Helper()
	if got := c.evalString("String(" + expression + ")"); got != want {
		c.Errorf("%s = %q, want %q", expression, got, want)
	}
}

// wantUntouched fails if the page has logged a report of the element, of any
// kind. It reads the page's own log, which holds what has been delivered,
// rather than waiting for a report that does not come.
func (c *scene) wantUntouched(id string) {
	c.Helper()
	var log []report
	c.eval("log", &log)
	for _, r := range log {
		if r.ID == id {
			c.Errorf("#%s got %+v", id, r)
		}
	}
}

// snap takes a snapshot and returns its text.
func (c *scene) snap(opts *executor.SnapshotOptions) string {
	c.Helper()
	s, err := c.exec.Snapshot(c.ctx, c.tab, opts)
	if err != nil {
		c.Fatalf("snapshot: %v", err)
	}
	return s.Text
}

// ref takes a snapshot and returns the ref of the element with that role and
// name.
func (c *scene) ref(role, name string) executor.Ref {
	c.Helper()
	return c.refIn(c.snap(nil), role, name)
}

// refIn returns the ref of the element with that role and name in a snapshot.
func (c *scene) refIn(snapshot, role, name string) executor.Ref {
	c.Helper()
	m := regexp.MustCompile(`(?m)^\s*- ` + role + ` "` + regexp.QuoteMeta(name) + `".*\[ref=(e\d+)\]`).FindStringSubmatch(snapshot)
	if m == nil {
		c.Fatalf("no %s %q with a ref in the snapshot:\n%s", role, name, snapshot)
	}
	return executor.Ref(m[1])
}

// wantCode checks that err is an *executor.Error with the code, whose text
// and hint hold each of parts, in any case of letters.
func (c *scene) wantCode(err error, code executor.Code, parts ...string) {
	c.Helper()
	if err == nil {
		c.Fatalf("no error, want %s", code)
	}
	var e *executor.Error
	if !errors.As(err, &e) {
		c.Fatalf("error %v is no *executor.Error", err)
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

// wantIn and wantNotIn check what a text holds.
func (c *scene) wantIn(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.Errorf("%q is missing in:\n%.3000s", part, text)
		}
	}
}

func (c *scene) wantNotIn(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			c.Errorf("%q should not be in:\n%.3000s", part, text)
		}
	}
}

// wantReported checks in the page's own log that what it reported came in that
// order, each given as its kind and id. It waits for the last one.
func (c *scene) wantReported(reports ...string) {
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
