package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// openAsUser opens a page as the browser's user would, and shares it.
func (d *double) openAsUser(url string) int {
	d.t.Helper()
	shared := make(chan int, 1)
	d.mu.Lock()
	d.send("", "Target.createTarget", map[string]any{"url": url}, func(m *cdproto.Message) {
		var made struct {
			ID string `json:"targetId"`
		}
		if m.Error == nil && json.Unmarshal(m.Result, &made) == nil {
			shared <- d.share(wire.Tab{TargetID: made.ID, URL: url}).TabID
		}
	})
	d.mu.Unlock()
	select {
	case id := <-shared:
		return id
	case <-time.After(20 * time.Second):
		d.t.Fatal("the user's tab did not open")
		return 0
	}
}

// with calls f with the record of a tab, under the lock.
func (d *double) with(id int, f func(t *doubleTab)) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tabs[id]
	if t == nil {
		d.t.Fatalf("tab %d is not shared", id)
	}
	f(t)
}

// awaitTabs waits until n tabs are listed.
func awaitTabs(t *testing.T, b *Backend, n int) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		changed := b.Changed()
		if len(host{b}.Tabs()) == n {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%d tabs are listed, want %d", len(host{b}.Tabs()), n)
		}
	}
}

func wantCode(t *testing.T, err error, code executor.Code, parts ...string) {
	t.Helper()
	if executor.CodeOf(err) != code {
		t.Fatalf("error %v (%s), want %s", err, executor.CodeOf(err), code)
	}
	var e *executor.Error
	errors.As(err, &e)
	for _, part := range parts {
		if !strings.Contains(e.Error()+" "+e.Hint, part) {
			t.Errorf("error %q (%q) does not say %q", e.Error(), e.Hint, part)
		}
	}
}

// quickly fails the test when f takes longer than the user would wait.
func quickly(t *testing.T, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > time.Second {
		t.Errorf("%s took %v", what, took)
	}
}

// TestLifecycle walks one user's tab through what happens to such tabs.
func TestLifecycle(t *testing.T) {
	hung, answer := make(chan struct{}), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			hung <- struct{}{}
			select {
			case <-r.Context().Done():
				return
			case <-answer:
			}
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><button onclick=\"document.title = 'pressed'\">Press</button><p>%s", r.URL.Path, r.URL.Path)
	}))
	defer web.Close()
	server := newServer(t)
	d := startDouble(t, server)
	var record testlog.Recorder
	b := newBackend(t, server, func(o *Options) { o.Audit = &record })
	waitConnected(t, b)
	ctx := t.Context()
	open := func(gate executor.Gate) executor.Executor {
		s, err := b.NewSession(executor.SessionOptions{Gate: gate})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(executor.AllowAll)

	_, err := s.Text(ctx, "", nil)
	wantCode(t, err, executor.ErrTabNotFound, "share")

	first := d.openAsUser(web.URL + "/first")
	awaitTabs(t, b, 1)
	second := d.openAsUser(web.URL + "/second")
	awaitTabs(t, b, 2)

	t.Run("listed without a debugger", func(t *testing.T) {
		tabs, err := s.ListTabs(ctx)
		if err != nil || len(tabs) != 2 || tabs[0].URL != web.URL+"/first" {
			t.Fatalf("listed %+v, %v", tabs, err)
		}
		denied, err := open(executor.GateFunc(func(context.Context, executor.Access) error { return executor.ErrPolicyDenied })).ListTabs(ctx)
		if err != nil || denied[0].URL != executor.DeniedURL || denied[0].Title != "" {
			t.Errorf("denied tabs are listed as %+v, %v", denied, err)
		}
		d.with(first, func(dt *doubleTab) {
			if dt.session != "" {
				t.Error("a list attached the debugger")
			}
		})
	})
	t.Run("the tab shared last is meant", func(t *testing.T) {
		res, err := s.WaitFor(ctx, "", executor.WaitCondition{Text: "/second"})
		if err != nil || !res.Matched {
			t.Fatalf("waited for the page: %+v, %v", res, err)
		}
		d.with(first, func(dt *doubleTab) {
			if dt.session != "" {
				t.Error("the other tab was attached to")
			}
		})
	})
	tabs, _ := s.ListTabs(ctx)
	id := tabs[1].ID

	refOf := func(t *testing.T) executor.Ref {
		t.Helper()
		snap, err := s.Snapshot(ctx, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`button "Press" \[ref=(e\d+)\]`).FindStringSubmatch(snap.Text)
		if m == nil {
			t.Fatalf("no button in %s", snap.Text)
		}
		return executor.Ref(m[1])
	}
	t.Run("refs outlive the debugger", func(t *testing.T) {
		ref := refOf(t)
		letGo := func() {
			d.with(second, func(dt *doubleTab) { d.release(dt, "idle") })
			for (host{b}).Tabs()[1].Page.Attached() { // until it was heard of
				time.Sleep(time.Millisecond)
			}
		}
		letGo()
		a, err := s.Click(ctx, id, executor.Target{Ref: ref}, nil)
		if err != nil || a.Title != "pressed" {
			t.Fatalf("click after an idle time: %+v, %v", a, err)
		}
		if again := refOf(t); again != ref {
			t.Errorf("ref %s became %s", ref, again)
		}
		letGo()
		if _, err := s.Navigate(ctx, id, web.URL+"/second", nil); err != nil {
			t.Fatal(err)
		}
		_, err = s.Click(ctx, id, executor.Target{Ref: ref}, nil)
		wantCode(t, err, executor.ErrRefExpired)
	})
	for reason, want := range map[string]struct {
		code  executor.Code
		words string
	}{
		"canceled_by_user":       {executor.ErrDetached, "user cancelled"},
		"replaced_with_devtools": {executor.ErrDevToolsOpen, "close DevTools"},
		"target_closed":          {executor.ErrDetached, "cannot be debugged"},
	} {
		t.Run("the debugger is taken away in mid-call, "+reason, func(t *testing.T) {
			done := navigate(ctx, s, id, web.URL+"/hangs")
			<-hung
			quickly(t, "the end of the call", func() {
				d.with(second, func(dt *doubleTab) { d.release(dt, reason) })
				wantCode(t, <-done, want.code, want.words)
			})
			answer <- struct{}{} // while a page is on its way, the browser answers no new debugger
			if text, err := s.Text(ctx, id, nil); err != nil {
				t.Errorf("the next call: %+v, %v", text, err)
			}
		})
	}
	t.Run("disconnected in mid-call", func(t *testing.T) {
		if _, err := s.Navigate(ctx, id, web.URL+"/second", nil); err != nil {
			t.Fatal(err)
		}
		ref := refOf(t)
		done := navigate(ctx, s, id, web.URL+"/hangs")
		<-hung
		quickly(t, "the end of the call", func() {
			d.disconnect()
			wantCode(t, <-done, executor.ErrExtensionDisconnected)
		})
		for b.Connected() {
			<-b.Changed()
		}
		_, err := s.Text(ctx, id, nil)
		wantCode(t, err, executor.ErrExtensionDisconnected, "open Chrome")
		if st := b.Status(ctx); st.Ready || st.ExtensionConnected || st.Detail == "" {
			t.Errorf("status %+v", st)
		}
		wantCode(t, s.Ping(ctx), executor.ErrNoBackend)

		d.connect(server)
		waitConnected(t, b)
		if err := s.Ping(ctx); err != nil {
			t.Error(err)
		}
		answer <- struct{}{}
		res, err := s.WaitFor(ctx, id, executor.WaitCondition{Text: "/hangs"})
		if err != nil || !res.Matched {
			t.Fatalf("the tab after the extension came back: %+v, %v", res, err)
		}
		_, err = s.Click(ctx, id, executor.Target{Ref: ref}, nil)
		wantCode(t, err, executor.ErrRefExpired)
		ref = refOf(t)
		page := (host{b}).Tabs()[1].Page
		d.disconnect()
		for b.Connected() {
			<-b.Changed()
		}
		for page.Attached() { // until the tab has heard of it
			time.Sleep(time.Millisecond)
		}
		d.connect(server)
		waitConnected(t, b)
		if a, err := s.Click(ctx, id, executor.Target{Ref: ref}, nil); err != nil || a.Title != "pressed" {
			t.Errorf("a ref from before the extension went: %+v, %v", a, err)
		}
	})
	t.Run("what is the user's is not closed", func(t *testing.T) {
		closed, err := s.CloseTab(ctx, tabs[0].ID)
		if err != nil || closed.Closed || !closed.Released {
			t.Fatalf("closing the user's tab: %+v, %v", closed, err)
		}
		awaitTabs(t, b, 1)
		_, err = s.Text(ctx, tabs[0].ID, nil)
		wantCode(t, err, executor.ErrTabNotFound)
		own, err := s.NewTab(ctx, web.URL+"/own", &executor.NewTabOptions{Inactive: true})
		if err != nil {
			t.Fatal(err)
		}
		if closed, err := s.CloseTab(ctx, own.ID); err != nil || !closed.Closed || closed.Released {
			t.Fatalf("closing a tab of ours: %+v, %v", closed, err)
		}
	})
	t.Run("closed while the browser tells of it", func(t *testing.T) {
		// What is told of a tab is for the race detector: nothing orders it
		// against the call.
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				d.mu.Lock()
				for _, dt := range d.tabs {
					d.tell(wire.EventTabUpdated, dt.Tab)
				}
				d.mu.Unlock()
			}
		}()
		before := len((host{b}).Tabs())
		for range 3 {
			tab, err := s.NewTab(ctx, "", nil)
			if err != nil {
				t.Error(err)
				break
			}
			if _, err := s.CloseTab(ctx, tab.ID); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		<-stopped
		awaitTabs(t, b, before)
	})

	t.Run("consent", func(t *testing.T) {
		granted, answered := false, false
		d.mu.Lock()
		d.consent = func(string) (bool, bool) { return granted, answered }
		d.mu.Unlock()
		_, err := s.Eval(ctx, id, "1", nil)
		wantCode(t, err, executor.ErrConsentRequired, "popup")
		d.mu.Lock()
		answered = true
		d.mu.Unlock()
		_, err = s.Eval(ctx, id, "1", nil)
		wantCode(t, err, executor.ErrPolicyDenied, "user")
		d.mu.Lock()
		granted = true
		d.mu.Unlock()
		if res, err := s.Eval(ctx, id, "1", nil); err != nil || string(res.Value) != "1" {
			t.Errorf("eval with leave: %+v, %v", res, err)
		}
	})
	t.Run("asked for a permission", func(t *testing.T) {
		q := executor.PermissionPrompt{Permission: executor.Permission{Kind: executor.PermitSite, Origin: "https://example.com"}, Site: "https://example.com", Tool: "navigate", Tab: id}
		for _, c := range []struct {
			granted, answered bool
			answer            string
			want              executor.PromptAnswer
			code              executor.Code
		}{
			{code: executor.ErrConsentRequired},
			{true, true, "once", executor.AnswerOnce, ""},
			{true, true, "session", executor.AnswerSession, ""},
			{false, true, "no", executor.AnswerNo, ""},
			{true, true, "no", "", executor.ErrInternal}, // which of them?
			{false, true, "session", "", executor.ErrInternal},
			{true, true, "", "", executor.ErrInternal},
			{true, true, "always", "", executor.ErrInternal},
		} {
			d.mu.Lock()
			d.consent = func(string) (bool, bool) { return c.granted, c.answered }
			d.answer = c.answer
			d.mu.Unlock()
			if got, err := b.Prompt(ctx, q); got != c.want || executor.CodeOf(err) != c.code {
				t.Errorf("%+v: %q, %v", c, got, err)
			}
		}
		q.Kind = "eval"
		_, err := b.Prompt(ctx, q)
		wantCode(t, err, executor.ErrBadArgs, "eval")
	})
	for _, reason := range wire.UnsharedReasons() {
		t.Run("unshared in mid-call, "+reason, func(t *testing.T) {
			n := d.openAsUser(web.URL + "/third")
			awaitTabs(t, b, 2)
			list, err := s.ListTabs(ctx)
			if err != nil {
				t.Fatal(err)
			}
			done := navigate(ctx, s, list[1].ID, web.URL+"/hangs")
			<-hung
			code := executor.ErrDetached
			if reason == "closed" {
				code = executor.ErrTargetGone
			}
			quickly(t, "the end of the call", func() {
				d.with(n, func(dt *doubleTab) { d.unshare(dt, reason) })
				wantCode(t, <-done, code)
			})
			answer <- struct{}{}
			awaitTabs(t, b, 1)
			_, err = s.Text(ctx, list[1].ID, nil)
			wantCode(t, err, executor.ErrTabNotFound)
		})
	}
	t.Run("what was recorded", func(t *testing.T) {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		d.disconnect()
		told := kinds(&record)
		for _, want := range []string{
			"connected", "disconnected", "consent share allowed user", "consent share denied the user pressed Stop",
			"consent eval denied user", "consent eval allowed user",
		} {
			if told[want] == 0 {
				t.Errorf("no %q in %v", want, told)
			}
		}
		for _, never := range []string{"consent share denied the tab was closed", "consent eval allowed"} {
			if told[never] > 0 {
				t.Errorf("%q in %v", never, told)
			}
		}
	})
}

// kinds counts the entries by what happened. Each consent has its tab and its
// origin.
func kinds(l *testlog.Recorder) map[string]int {
	told := map[string]int{}
	for _, e := range l.Entries() {
		kind := string(e.Event)
		if e.Event == audit.EventConsent && e.Tab != "" && strings.HasPrefix(e.Origin, "http://127.0.0.1:") && e.Backend == "extension" {
			kind = strings.TrimSpace(fmt.Sprintln(e.Event, e.Tool, e.Decision, e.Rule))
			if e.Detail != "" {
				kind = fmt.Sprint(e.Event, " ", e.Tool, " ", e.Decision, " ", e.Detail)
			}
		}
		told[kind]++
	}
	return told
}

func navigate(ctx context.Context, s executor.Executor, tab executor.TabID, url string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Navigate(ctx, tab, url, nil)
		done <- err
	}()
	return done
}
