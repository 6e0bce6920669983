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

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// openAsUser opens a page and shares its tab, as the user does. It returns the id of the tab.
func (fake *fakeExtension) openAsUser(url string) int {
	fake.t.Helper()
	shared := make(chan int, 1)
	fake.mu.Lock()
	fake.send("", "Target.createTarget", map[string]any{"url": url}, func(m *cdproto.Message) {
		var created struct {
			ID string `json:"targetId"`
		}
		if m.Error == nil && json.Unmarshal(m.Result, &created) == nil {
			shared <- fake.share(wire.Tab{TargetID: created.ID, URL: url}).TabID
		}
	})
	fake.mu.Unlock()
	return await.Receive(fake.t, "the user's tab", shared)
}

// withTab calls f with the shared tab id, while fake.mu is held.
func (fake *fakeExtension) withTab(id int, f func(t *fakeTab)) {
	fake.t.Helper()
	fake.mu.Lock()
	defer fake.mu.Unlock()
	t := fake.tabs[id]
	if t == nil {
		fake.t.Fatalf("tab %d is not shared", id)
	}
	f(t)
}

// awaitTabs waits until the backend lists n tabs.
func awaitTabs(t *testing.T, b *Backend, n int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("%d tabs in the list", n), func() bool { return len(host{b}.Tabs()) == n })
}

// wantCode fails the test if err does not have the code, or if the message and hint of err do not
// contain all parts.
func wantCode(t *testing.T, err error, code executor.Code, parts ...string) {
	t.Helper()
	if executor.CodeOf(err) != code {
		t.Fatalf("error %v (%s), want %s", err, executor.CodeOf(err), code)
	}
	var e *executor.Error
	errors.As(err, &e)
	for _, part := range parts {
		if !strings.Contains(e.Error()+" "+e.Hint, part) {
			t.Errorf("error %q (hint %q) does not contain %q", e.Error(), e.Hint, part)
		}
	}
}

// TestLifecycle shares tabs of the user, detaches, disconnects and unshares them during calls, and
// checks the errors and the next calls.
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
	fake := startFakeExtension(t, server)
	var record testlog.Recorder
	b := newBackend(t, server, func(o *Options) { o.Audit = &record })
	waitConnected(t, b)
	ctx := t.Context()
	open := func(gate executor.Gate) executor.Executor {
		s, err := b.NewSession(&executor.SessionOptions{Gate: gate})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(executor.AllowAll)

	_, err := pagetest.Of(s, "").Text(ctx, nil)
	wantCode(t, err, executor.ErrTabNotFound, "share")

	first := fake.openAsUser(web.URL + "/first")
	awaitTabs(t, b, 1)
	second := fake.openAsUser(web.URL + "/second")
	awaitTabs(t, b, 2)

	steps.Run(t, "listing tabs does not attach the debugger", func(t *testing.T) {
		tabs, err := s.Tabs(ctx)
		if err != nil || len(tabs) != 2 || tabs[0].URL != web.URL+"/first" {
			t.Fatalf("tabs %+v, %v", tabs, err)
		}
		denied, err := open(executor.GateFunc(func(context.Context, executor.Access) error { return executor.ErrPolicyDenied })).Tabs(ctx)
		if err != nil || denied[0].URL != executor.DeniedURL || denied[0].Title != "" {
			t.Errorf("denied tabs are listed as %+v, %v", denied, err)
		}
		fake.withTab(first, func(dt *fakeTab) {
			if dt.session != "" {
				t.Error("ListTabs attached the debugger")
			}
		})
	})
	steps.Run(t, "a selected tab is the default tab", func(t *testing.T) {
		_, err := pagetest.Of(s, "").Text(ctx, nil)
		wantCode(t, err, executor.ErrTabNotFound, "no tab is active")
		tabs, _ := s.Tabs(ctx)
		if _, err := s.SelectTab(ctx, tabs[1].ID); err != nil {
			t.Fatal(err)
		}
		res, err := pagetest.Of(s, "").WaitFor(ctx, &executor.WaitCondition{Text: "/second", Timeout: await.HangLimit})
		if err != nil || !res.Matched {
			t.Fatalf("waited for the page: %+v, %v", res, err)
		}
		fake.withTab(first, func(dt *fakeTab) {
			if dt.session != "" {
				t.Error("the debugger was attached to the other tab")
			}
		})
	})
	tabs, _ := s.Tabs(ctx)
	id := tabs[1].ID

	refOf := func(t *testing.T) executor.Ref {
		t.Helper()
		snap, err := pagetest.Of(s, id).Snapshot(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`button "Press" \[ref=(e\d+)\]`).FindStringSubmatch(snap.Text)
		if m == nil {
			t.Fatalf("no button in %s", snap.Text)
		}
		return executor.Ref(m[1])
	}
	steps.Run(t, "refs stay valid after detach", func(t *testing.T) {
		ref := refOf(t)
		release := func() {
			fake.withTab(second, func(dt *fakeTab) { fake.release(dt, "idle") })
			await.Until(t, "the backend to be notified", func() bool { return !(host{b}).Tabs()[1].Page.Attached() })
		}
		release()
		a, err := pagetest.Of(s, id).Click(ctx, executor.Target{Ref: ref}, nil)
		if err != nil || a.Title != "pressed" {
			t.Fatalf("click after detach: %+v, %v", a, err)
		}
		if again := refOf(t); again != ref {
			t.Errorf("ref changed from %s to %s", ref, again)
		}
		release()
		if _, err := pagetest.Of(s, id).Navigate(ctx, web.URL+"/second", nil); err != nil {
			t.Fatal(err)
		}
		_, err = pagetest.Of(s, id).Click(ctx, executor.Target{Ref: ref}, nil)
		wantCode(t, err, executor.ErrRefExpired)
	})
	for reason, want := range map[string]struct {
		code executor.Code
		text string
	}{
		"canceled_by_user":       {executor.ErrDetached, "the user cancel"},
		"replaced_with_devtools": {executor.ErrDevToolsOpen, "close DevTools"},
		"target_closed":          {executor.ErrDetached, "cannot be debugged"},
	} {
		steps.Run(t, "debugger detached during a call: "+reason, func(t *testing.T) {
			done := navigate(ctx, s, id, web.URL+"/hangs")
			select {
			case <-hung:
			case err := <-done:
				t.Fatalf("the navigation ended: %v", err)
			}
			fake.withTab(second, func(dt *fakeTab) { fake.release(dt, reason) })
			wantCode(t, await.Receive(t, "the end of the call", done), want.code, want.text)
			answer <- struct{}{} // during a navigation, the browser does not respond to a new debugger
			if text, err := pagetest.Of(s, id).Text(ctx, nil); err != nil {
				t.Errorf("the next call: %+v, %v", text, err)
			}
		})
	}
	steps.Run(t, "disconnected during a call", func(t *testing.T) {
		if _, err := pagetest.Of(s, id).Navigate(ctx, web.URL+"/second", nil); err != nil {
			t.Fatal(err)
		}
		ref := refOf(t)
		done := navigate(ctx, s, id, web.URL+"/hangs")
		<-hung
		fake.disconnect()
		wantCode(t, await.Receive(t, "the end of the call", done), executor.ErrExtensionDisconnected)
		awaitDisconnected(t, b)
		_, err := pagetest.Of(s, id).Text(ctx, nil)
		wantCode(t, err, executor.ErrExtensionDisconnected, "open Chrome")
		if st := b.Status(ctx); st.Ready || st.ExtensionConnected || st.Detail == "" {
			t.Errorf("status %+v", st)
		}
		wantCode(t, s.Ping(ctx), executor.ErrNoBackend)

		fake.connect(server)
		waitConnected(t, b)
		if err := s.Ping(ctx); err != nil {
			t.Error(err)
		}
		answer <- struct{}{}
		res, err := pagetest.Of(s, id).WaitFor(ctx, &executor.WaitCondition{Text: "/hangs", Timeout: await.HangLimit})
		if err != nil || !res.Matched {
			t.Fatalf("waiting for the page after reconnecting: %+v, %v", res, err)
		}
		_, err = pagetest.Of(s, id).Click(ctx, executor.Target{Ref: ref}, nil)
		wantCode(t, err, executor.ErrRefExpired)
		ref = refOf(t)
		page := (host{b}).Tabs()[1].Page
		fake.disconnect()
		awaitDisconnected(t, b)
		await.Until(t, "the tab to be notified", func() bool { return !page.Attached() })
		fake.connect(server)
		waitConnected(t, b)
		if a, err := pagetest.Of(s, id).Click(ctx, executor.Target{Ref: ref}, nil); err != nil || a.Title != "pressed" {
			t.Errorf("click on a ref from before the disconnect: %+v, %v", a, err)
		}
	})
	steps.Run(t, "closing a user's tab releases it", func(t *testing.T) {
		closed, err := pagetest.Of(s, tabs[0].ID).Close(ctx)
		if err != nil || closed.Closed || !closed.Released {
			t.Fatalf("closing the user's tab: %+v, %v", closed, err)
		}
		awaitTabs(t, b, 1)
		_, err = pagetest.Of(s, tabs[0].ID).Text(ctx, nil)
		wantCode(t, err, executor.ErrTabNotFound)
		_, own, err := s.NewPage(ctx, &executor.NewPageOptions{URL: web.URL + "/own", Inactive: true})
		if err != nil {
			t.Fatal(err)
		}
		if closed, err := pagetest.Of(s, own.ID).Close(ctx); err != nil || !closed.Closed || closed.Released {
			t.Fatalf("closing the session's tab: %+v, %v", closed, err)
		}
	})
	steps.Run(t, "tab closed during tab events", func(t *testing.T) {
		// For the race detector: nothing synchronizes these events with the calls below.
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				fake.mu.Lock()
				for _, dt := range fake.tabs {
					fake.sendEvent(wire.EventTabUpdated, dt.Tab)
				}
				fake.mu.Unlock()
			}
		}()
		before := len((host{b}).Tabs())
		for range 3 {
			_, tab, err := s.NewPage(ctx, nil)
			if err != nil {
				t.Error(err)
				break
			}
			if _, err := pagetest.Of(s, tab.ID).Close(ctx); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		<-stopped
		awaitTabs(t, b, before)
	})

	steps.Run(t, "script consent", func(t *testing.T) {
		granted, answered := false, false
		fake.mu.Lock()
		fake.consent = func(string) (bool, bool) { return granted, answered }
		fake.mu.Unlock()
		_, err := pagetest.Of(s, id).Eval(ctx, "1", nil)
		wantCode(t, err, executor.ErrConsentRequired, "popup")
		fake.mu.Lock()
		answered = true
		fake.mu.Unlock()
		_, err = pagetest.Of(s, id).Eval(ctx, "1", nil)
		wantCode(t, err, executor.ErrPolicyDenied, "user")
		fake.mu.Lock()
		granted = true
		fake.mu.Unlock()
		if res, err := pagetest.Of(s, id).Eval(ctx, "1", nil); err != nil || string(res.Value) != "1" {
			t.Errorf("eval with consent: %+v, %v", res, err)
		}
	})
	steps.Run(t, "permission prompt", func(t *testing.T) {
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
			{true, true, "no", "", executor.ErrInternal}, // contradiction
			{false, true, "session", "", executor.ErrInternal},
			{true, true, "", "", executor.ErrInternal},
			{true, true, "always", "", executor.ErrInternal},
		} {
			fake.mu.Lock()
			fake.consent = func(string) (bool, bool) { return c.granted, c.answered }
			fake.promptAnswer = c.answer
			fake.mu.Unlock()
			if got, err := b.Prompt(ctx, q); got != c.want || executor.CodeOf(err) != c.code {
				t.Errorf("%+v: %q, %v", c, got, err)
			}
		}
		q.Kind = "eval"
		_, err := b.Prompt(ctx, q)
		wantCode(t, err, executor.ErrBadArgs, "eval")
	})
	for _, reason := range wire.UnsharedReasons() {
		steps.Run(t, "unshared during a call: "+reason, func(t *testing.T) {
			n := fake.openAsUser(web.URL + "/third")
			awaitTabs(t, b, 2)
			list, err := s.Tabs(ctx)
			if err != nil {
				t.Fatal(err)
			}
			done := navigate(ctx, s, list[1].ID, web.URL+"/hangs")
			<-hung
			code := executor.ErrDetached
			if reason == "closed" {
				code = executor.ErrTargetGone
			}
			fake.withTab(n, func(dt *fakeTab) { fake.unshare(dt, reason) })
			wantCode(t, await.Receive(t, "the end of the call", done), code)
			answer <- struct{}{}
			awaitTabs(t, b, 1)
			_, err = pagetest.Of(s, list[1].ID).Text(ctx, nil)
			wantCode(t, err, executor.ErrTabNotFound)
		})
	}
	steps.Run(t, "audit log", func(t *testing.T) {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		fake.disconnect()
		counts := countEvents(&record)
		for _, want := range []string{
			"connected", "disconnected", "consent share allowed user", "consent share denied the user pressed Stop",
			"consent eval denied user", "consent eval allowed user",
		} {
			if counts[want] == 0 {
				t.Errorf("no entry %q in %v", want, counts)
			}
		}
		for _, never := range []string{"consent share denied the tab was closed", "consent eval allowed"} {
			if counts[never] > 0 {
				t.Errorf("unexpected entry %q in %v", never, counts)
			}
		}
	})
}

// countEvents counts the entries by event. The key of a consent entry that has a tab, an origin and
// the backend also contains the tool, the decision, and the detail or else the rule.
func countEvents(l *testlog.Recorder) map[string]int {
	counts := map[string]int{}
	for _, e := range l.Entries() {
		kind := string(e.Event)
		if e.Event == audit.EventConsent && e.Tab != "" && strings.HasPrefix(e.Origin, "http://127.0.0.1:") && e.Backend == "extension" {
			kind = strings.TrimSpace(fmt.Sprintln(e.Event, e.Tool, e.Decision, e.Rule))
			if e.Detail != "" {
				kind = fmt.Sprint(e.Event, " ", e.Tool, " ", e.Decision, " ", e.Detail)
			}
		}
		counts[kind]++
	}
	return counts
}

// navigate starts a navigation. The channel receives its error.
func navigate(ctx context.Context, s executor.Executor, tab executor.TabID, url string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := pagetest.Of(s, tab).Navigate(ctx, url, nil)
		done <- err
	}()
	return done
}
