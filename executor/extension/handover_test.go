package extension

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestHandoverInChrome checks what ends a handover in the user's Chrome, that its dialogs are for the
// user, and that CDP clients are blocked.
func TestHandoverInChrome(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	u := env.u
	env.b.timing.HandoverReconnect = 100 * time.Millisecond
	handOver := func(t *testing.T, id executor.TabID) *executor.HandedOver {
		t.Helper()
		h, err := pagetest.Of(env.s, id).HandOver(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.End)
		return h
	}
	asks := func(t *testing.T, id executor.TabID, question string) <-chan error {
		t.Helper()
		if !env.b.CanAsk(id) {
			t.Fatal("the user cannot be asked")
		}
		asked := make(chan error, 1)
		go func() {
			o, err := env.b.AskAbout(t.Context(), executor.HandoverQuestion{ID: question, Tab: id, Message: "Do it."})
			if err == nil {
				err = errors.New("answered " + string(o))
			}
			asked <- err
		}()
		// The question is in the pages of the extension.
		u.options("new Promise((done) => { const port = new PagePort(({ questions: [q] }) => { if (q?.kind === 'handover') done(1); }); })", nil)
		return asked
	}
	inHandover := func(t *testing.T, id executor.TabID) {
		t.Helper()
		if _, err := pagetest.Of(env.s, id).Text(await.Expiring(t), nil); !errors.Is(err, executor.ErrTimeout) {
			t.Errorf("reading a page that is handed over to the user: %v", err)
		}
	}

	t.Run("dialog and CDP client", func(t *testing.T) {
		env.t, u.t = t, t
		_, id := env.share("/dialog")
		p := connectCDP(t, env.b)
		h := handOver(t, id)
		raw := u.Find(t, "page", "/dialog")
		if !p.conn.HandedOver(raw.ID) || !p.conn.HandedOver("worker") {
			t.Error("HandedOver does not report that a page is handed over to the user")
		}
		if _, err := pagetest.Of(env.s, id).HandOver(await.Expiring(t)); !errors.Is(err, executor.ErrTimeout) {
			t.Errorf("a second handover: %v", err)
		}
		u.WithSession(t, raw.ID, func(session string) {
			u.Call(t, session, "Page.enable", nil, nil)
			answered := u.Send(session, "Runtime.evaluate", map[string]any{"expression": "confirm('Sure?')"})
			for u.Call(t, session, "Target.getTargetInfo", nil, nil); ; {
				a := <-u.Send(session, "Page.handleJavaScriptDialog", map[string]any{"accept": true})
				if a.Error == nil {
					break
				}
			}
			if a := <-answered; string(a.Result) != `{"result":{"type":"boolean","value":true}}` {
				t.Errorf("the dialog returned %s", a.Result)
			}
		})
		inHandover(t, id)
		h.End()
		if p.conn.HandedOver(raw.ID) || p.conn.HandedOver("worker") {
			t.Error("the page is blocked after the end")
		}
		if _, err := pagetest.Of(env.s, id).Text(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})

	t.Run("the user downloads a file", func(t *testing.T) {
		env.t, u.t = t, t
		_, id := env.share("/save")
		h := handOver(t, id)
		waiting := make(chan error, 1)
		go func() { // it makes the tab busy
			_, err := pagetest.Of(env.s, id).Text(t.Context(), nil)
			waiting <- err
		}()
		await.Until(t, "the call to wait", func() bool {
			return slices.ContainsFunc(host{env.b}.Tabs(), func(tab *session.Tab) bool { return tab.Page.HandedOver() && tab.Page.Queue.Busy() })
		})
		u.WithSession(t, u.Find(t, "page", "/save").ID, func(session string) {
			u.Call(t, session, "Runtime.evaluate", map[string]any{"userGesture": true, "expression": `Object.assign(document.createElement("a"), {
				href: URL.createObjectURL(new Blob(["mine"])), download: "mine.txt"}).click()`}, nil)
		})
		var file string
		await.Until(t, "the file of the user", func() bool {
			u.worker("chrome.downloads.search({state: 'complete'}).then((all) => all.find((d) => d.filename.endsWith('mine.txt'))?.filename ?? '')", &file)
			return file != ""
		})
		if err := env.s.Ping(t.Context()); err != nil { // the reports of the browser have arrived before
			t.Fatal(err)
		}
		h.End()
		if err := <-waiting; err != nil {
			t.Fatal(err)
		}
		a, err := pagetest.Of(env.s, id).Click(t.Context(), executor.Target{Selector: "body"}, nil)
		if err != nil || len(a.Downloads)+len(a.EarlierDownloads) > 0 {
			t.Errorf("the next result: %v, %+v", err, a)
		}
	})

	t.Run("the user closes the tab", func(t *testing.T) {
		env.t, u.t = t, t
		tab, id := env.share("/closed")
		h := handOver(t, id)
		asked := asks(t, id, "q1")
		inHandover(t, id)
		u.worker("chrome.tabs.remove("+strconv.Itoa(tab)+").then(() => 1)", nil)
		<-h.Gone
		if err := <-asked; !errors.Is(err, executor.ErrTabNotFound) && !errors.Is(err, executor.ErrTargetGone) {
			t.Errorf("the question about a closed tab: %v", err)
		}
	})

	t.Run("the user stops sharing", func(t *testing.T) {
		env.t, u.t = t, t
		tab, id := env.share("/stopped")
		h := handOver(t, id)
		asked := asks(t, id, "q2")
		u.toggle(tab)
		<-h.Gone
		if err := <-asked; !errors.Is(err, executor.ErrTabNotFound) && !errors.Is(err, executor.ErrTargetGone) {
			t.Errorf("the question about a tab that is no longer shared: %v", err)
		}
	})

	t.Run("the tab is shared again", func(t *testing.T) {
		for path, during := range map[string]bool{"/after": false, "/during": true} {
			env.t, u.t = t, t
			tab, id := env.share(path)
			h := handOver(t, id)
			u.WithSession(t, u.Find(t, "page", path).ID, func(session string) {
				u.Call(t, session, "Runtime.evaluate", map[string]any{"expression": `{
					const field = document.body.appendChild(document.createElement("input"));
					field.focus();
					field.oninput = () => { document.body.appendChild(document.createElement("p")).textContent = "you typed " + field.value; };
				}`}, nil)
				u.Call(t, session, "Input.insertText", map[string]any{"text": "831942"}, nil)
			})
			if !during {
				h.End()
			}
			u.toggle(tab)
			<-h.Gone
			h.End()
			await.Until(t, "the tab to leave its group", func() bool {
				var group int
				u.worker("chrome.tabs.get("+strconv.Itoa(tab)+").then((t) => t.groupId)", &group)
				return group < 0
			})
			u.toggle(tab)
			var again executor.TabID
			await.Until(t, "the tab to be shared again", func() bool {
				tabs, err := env.s.Tabs(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				again = ""
				for _, tab := range tabs {
					if strings.HasSuffix(tab.URL, path) {
						again = tab.ID
					}
				}
				return again != ""
			})
			text, err := pagetest.Of(env.s, again).Text(t.Context(), nil)
			if err != nil || strings.Contains(text.Content, "831942") || !strings.Contains(text.Content, "you typed ••••") {
				t.Errorf("unshared %s the handover: the text %+v, %v", path, text, err)
			}
			if _, err := pagetest.Of(env.s, again).SavePDF(t.Context(), nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Errorf("unshared %s the handover: a PDF: %v", path, err)
			}
		}
	})

	t.Run("the worker restarts", func(t *testing.T) {
		env.t, u.t = t, t
		env.b.timing.HandoverReconnect = await.HangLimit
		defer func() { env.b.timing.HandoverReconnect = 100 * time.Millisecond }()
		_, id := env.share("/restarted")
		h := handOver(t, id)
		asked := asks(t, id, "q3")
		front := u.open(env.site.URL + "/front") // where the user looks something up
		u.killWorker()
		u.options("new Promise((done) => { const port = new PagePort(({ questions: [q] }) => { if (q?.kind === 'handover') done(1); }); })", nil)
		var active int
		u.worker("chrome.tabs.query({ active: true, lastFocusedWindow: true }).then(([t]) => t.id)", &active)
		if active != front {
			t.Errorf("tab %d is active, want %d: the restarted worker has shown the tab again", active, front)
		}
		u.options("new Promise((done) => { const port = new PagePort(({ questions: [q] }) => { if (q) port.act('handover', { question: q.id, answer: 'done' }).then(done); }); })", nil)
		if err := <-asked; err == nil || err.Error() != "answered done" {
			t.Errorf("the answer: %v", err)
		}
		h.End()
	})

	t.Run("the user closes Chrome", func(t *testing.T) {
		env.t, u.t = t, t
		_, id := env.share("/chrome")
		handOver(t, id)
		asked := asks(t, id, "q3")
		u.CloseGracefully(t)
		if err := <-asked; !errors.Is(err, executor.ErrExtensionDisconnected) && !errors.Is(err, executor.ErrTargetGone) && !errors.Is(err, executor.ErrTabNotFound) {
			t.Errorf("the question after Chrome was closed: %v", err)
		}
	})
}
