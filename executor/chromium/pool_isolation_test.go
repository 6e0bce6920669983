package chromium

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// isolationPage records the keys and the drag events that it receives.
const isolationPage = `<!doctype html><title>isolation</title><style>p { height: 40px }</style>
<p id=source draggable=true>source</p><p id=target>target</p><input id=field><a id=popup href=/popup target=_blank>popup</a>
<script>
const keys = [], drags = [];
addEventListener('keydown', (e) => keys.push(e.key));
source.ondragstart = (e) => e.dataTransfer.setData('text/plain', document.body.dataset.secret);
for (const type of ['dragenter', 'dragover', 'drop']) {
	addEventListener(type, (e) => { e.preventDefault(); drags.push(type + ' ' + e.dataTransfer.getData('text/plain')); });
}
</script>`

// isolationWorker is a shared worker that sends each page the number of pages that have connected.
const isolationWorker = `let pages = 0; onconnect = (e) => e.ports[0].postMessage(++pages);`

// An isolationTest has two sessions in one browser. Both may load the site.
type isolationTest struct {
	one, two *Backend
	a, b     executor.Executor // the sessions of one and two
	url      string
}

// fresh loads the page in the active tabs of both sessions.
func (i *isolationTest) fresh(t *testing.T) {
	t.Helper()
	mustNavigate(t, i.a, i.url)
	mustNavigate(t, i.b, i.url)
}

// TestPoolIsolation loads the same page in two sessions in one browser. The sessions have separate
// permissions, input, drags and tabs, and survive a crash of the other's page.
func TestPoolIsolation(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, isolationWorker)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, isolationPage)
	}))
	t.Cleanup(site.Close)
	p, dir := newPool(t)
	i := &isolationTest{one: inPool(t, p, dir, "127.0.0.1"), two: inPool(t, p, dir, "127.0.0.1", "localhost"), url: site.URL + "/"}
	i.a, i.b = newSession(t, i.one), newSession(t, i.two)
	i.fresh(t)
	if x, y := running(i.one).proc.PID, running(i.two).proc.PID; x != y {
		t.Fatalf("the sessions use the processes %d and %d", x, y)
	}
	for _, tt := range []struct {
		name string
		test func(*isolationTest, *testing.T)
	}{
		{"permissions", (*isolationTest).permissions},
		{"keys", (*isolationTest).keys},
		{"drag data", (*isolationTest).dragData},
		{"crash", (*isolationTest).crash},
		{"tabs", (*isolationTest).tabs},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i.fresh(t)
			tt.test(i, t)
		})
	}
}

// openPopup opens a popup window in the foreground.
func (i *isolationTest) openPopup(t *testing.T, s executor.Executor) executor.Page {
	t.Helper()
	res, err := pagetest.Of(s, "").Click(await.Context(t), executor.Selector("#popup"), nil)
	if err != nil || len(res.NewTabs) != 1 {
		t.Fatalf("opening a popup window: %+v, %v", res, err)
	}
	return pagetest.Of(s, res.NewTabs[0].ID)
}

// permissions grants permissions to the origin in one context, as the browser's user interface
// does. A session cannot grant them.
func (i *isolationTest) permissions(t *testing.T) {
	names := []string{"geolocation", "notifications"}
	for _, s := range []executor.Executor{i.a, i.b} {
		_, err := pagetest.Of(s, "").CDP(await.Context(t), "Browser.grantPermissions", map[string]any{"permissions": names})
		wantCode(t, err, executor.ErrNotActionable)
	}
	in := running(i.one)
	err := in.conn.BrowserSession().Call(await.Context(t), "Browser.grantPermissions", map[string]any{
		"permissions": names, "origin": strings.TrimSuffix(i.url, "/"), "browserContextId": in.contextID,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const states = "Promise.all(['geolocation', 'notifications'].map((name) => navigator.permissions.query({name}))).then((all) => all.map((p) => p.state).join())"
	if got := eval(t, i.a, states); got != `"granted,granted"` {
		t.Errorf("the session with the permissions: %s", got)
	}
	if got := eval(t, i.b, states); strings.Contains(got, "granted") {
		t.Errorf("the other session: %s", got)
	}
}

// keys types in both pages at the same time, each of which is in a background tab. Both have the
// focus, and each receives only the keys of its session.
func (i *isolationTest) keys(t *testing.T) {
	for _, s := range []executor.Executor{i.a, i.b} {
		popup := i.openPopup(t, s)
		defer func() {
			if _, err := popup.Close(await.Context(t)); err != nil {
				t.Errorf("closing the popup window: %v", err)
			}
		}()
		if _, err := pagetest.Of(s, "").Click(await.Context(t), executor.Selector("#field"), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []executor.Executor{i.a, i.b} {
		if got := eval(t, s, "[document.hasFocus(), document.visibilityState]"); got != `[true,"visible"]` {
			t.Errorf("focus and visibility: %s", got)
		}
	}
	const presses = 5
	var typing sync.WaitGroup
	for key, s := range map[string]executor.Executor{"a": i.a, "b": i.b} {
		typing.Go(func() {
			for range presses {
				if _, err := pagetest.Of(s, "").Press(await.Context(t), key, nil); err != nil {
					t.Errorf("pressing %s: %v", key, err)
				}
			}
		})
	}
	typing.Wait()
	for key, s := range map[string]executor.Executor{"a": i.a, "b": i.b} {
		text := strings.Repeat(key, presses)
		if got, want := eval(t, s, "[keys.join(''), field.value]"), fmt.Sprintf("[%q,%[1]q]", text); got != want {
			t.Errorf("keys and text of session %s: %s, want %s", key, got, want)
		}
	}
}

// tabs opens a popup window and workers in one session. The other session and its page do not find
// them.
func (i *isolationTest) tabs(t *testing.T) {
	ids := func(s executor.Executor) (ids []executor.TabID) {
		tabs, err := s.Tabs(await.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, tab := range tabs {
			ids = append(ids, tab.ID)
		}
		return ids
	}
	before := ids(i.a)
	const connect = "new Promise((done) => { worker = new SharedWorker('/worker.js'); worker.port.onmessage = (e) => done(e.data) })"
	eval(t, i.b, "navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready).then(() => 0)")
	if got := eval(t, i.b, connect); got != "1" {
		t.Errorf("the shared worker has %s pages", got)
	}
	i.openPopup(t, i.b)
	if got := ids(i.b); len(got) != 2 {
		t.Errorf("the tabs of the session that opened a popup window: %q", got)
	}
	if got := ids(i.a); !slices.Equal(got, before) {
		t.Errorf("the tabs of the other session: %q, want %q", got, before)
	}
	for _, tab := range ids(i.b) {
		_, err := pagetest.Of(i.a, tab).Text(await.Context(t), nil)
		wantCode(t, err, executor.ErrStaleTab)
	}
	for _, method := range []string{"Target.getTargets", "Target.getBrowserContexts", "Target.setDiscoverTargets", "Target.attachToBrowserTarget", "Browser.getWindowForTarget"} {
		_, err := pagetest.Of(i.a, "").CDP(await.Context(t), method, map[string]any{"discover": true})
		wantCode(t, err, executor.ErrNotActionable)
	}
	if got := eval(t, i.a, connect); got != "1" {
		t.Errorf("the other session's page is page %s of the shared worker", got)
	}
	if got := eval(t, i.a, "navigator.serviceWorker.getRegistrations().then((all) => all.length)"); got != "0" {
		t.Errorf("the other session's page has %s service workers", got)
	}
}

// dragData drags data in one page while the other session moves its pointer and releases a button.
func (i *isolationTest) dragData(t *testing.T) {
	eval(t, i.a, "document.body.dataset.secret = 'secret', 0")
	mouse := func(s executor.Executor, action executor.MouseAction, selector string, dx float64) {
		t.Helper()
		var at [2]float64
		point := eval(t, s, fmt.Sprintf("(({x, y}) => [x + 20, y + 20])(document.querySelector(%q).getBoundingClientRect())", selector))
		if err := json.Unmarshal([]byte(point), &at); err != nil {
			t.Fatal(err)
		}
		if _, err := pagetest.Of(s, "").Mouse(await.Context(t), &executor.MouseOptions{Action: action, X: at[0] + dx, Y: at[1]}); err != nil {
			t.Fatalf("%s on %s: %v", action, selector, err)
		}
	}
	mouse(i.a, executor.MouseMove, "#source", 0)
	mouse(i.a, executor.MouseDown, "#source", 0)
	for dx := range 4 {
		mouse(i.a, executor.MouseMove, "#source", float64(4*dx))
	}
	mouse(i.a, executor.MouseMove, "#target", 0)
	for _, action := range []executor.MouseAction{executor.MouseMove, executor.MouseDown, executor.MouseMove, executor.MouseUp} {
		mouse(i.b, action, "#target", 0)
	}
	mouse(i.a, executor.MouseUp, "#target", 0)
	if got := eval(t, i.a, "drags.at(-1) ?? ''"); got != `"drop secret"` {
		t.Errorf("the last drag event of the page that dragged: %s", got)
	}
	// After the drop, the data cannot be dropped again.
	for _, action := range []executor.MouseAction{executor.MouseMove, executor.MouseDown, executor.MouseMove, executor.MouseUp} {
		mouse(i.b, action, "#target", 0)
	}
	if got := eval(t, i.b, "drags"); got != "[]" {
		t.Errorf("drag events of the other session's page: %s", got)
	}
	eval(t, i.b, "document.body.dataset.secret = 'own', 0")
	res, err := pagetest.Of(i.b, "").Drag(await.Context(t), executor.Selector("#source"), executor.Selector("#target"), nil)
	if err != nil || res.Drop != executor.DragAccepted {
		t.Errorf("a drag in the other session: %+v, %v", res, err)
	}
	if got := eval(t, i.b, "drags.at(-1) ?? ''"); got != `"drop own"` {
		t.Errorf("the last drag event of the other session's page: %s", got)
	}
}

// crash ends the renderer process of one page. The session reports it and recovers by a reload. The
// other session's page keeps its state.
func (i *isolationTest) crash(t *testing.T) {
	eval(t, i.b, "state = 'kept', 0")
	_, err := pagetest.Of(i.a, "").CDP(await.Context(t), "Page.crash", nil)
	wantCode(t, err, executor.ErrTargetGone)
	_, err = pagetest.Of(i.a, "").Eval(await.Context(t), "1", nil)
	wantCode(t, err, executor.ErrTargetGone)
	if got := eval(t, i.b, "state"); got != `"kept"` {
		t.Errorf("state of the other session's page: %s", got)
	}
	if _, err := pagetest.Of(i.b, "").Press(await.Context(t), "x", nil); err != nil {
		t.Errorf("a key in the other session: %v", err)
	}
	if got := eval(t, i.b, "keys.join()"); got != `"x"` {
		t.Errorf("keys in the other session: %s", got)
	}
	if _, err := pagetest.Of(i.a, "").Reload(await.Context(t), nil); err != nil {
		t.Errorf("reloading the crashed page: %v", err)
	}
	if got := eval(t, i.a, "document.title"); got != `"isolation"` {
		t.Errorf("after the reload: %s", got)
	}
}
