package chromium

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A viewer receives the images of a live view.
type viewer struct {
	t    *testing.T
	view executor.LiveView
}

func watch(t *testing.T, ex executor.Executor, tab executor.TabID) *viewer {
	t.Helper()
	view, err := ex.(executor.Watcher).Watch(t.Context(), tab)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(view.Close)
	return &viewer{t, view}
}

// next returns the next image. It is nil while nothing is shown.
func (v *viewer) next() (*executor.LiveImage, image.Image) {
	v.t.Helper()
	got, err := v.view.Next(await.Context(v.t))
	if err != nil {
		v.t.Fatal(err)
	}
	if (got.JPEG == nil) == (got.Hidden == "") {
		v.t.Fatalf("%d bytes, hidden %q", len(got.JPEG), got.Hidden)
	}
	if got.JPEG == nil {
		return got, nil
	}
	img, err := jpeg.Decode(bytes.NewReader(got.JPEG))
	if err != nil {
		v.t.Fatal(err)
	}
	return got, img
}

// isBlue reports whether an image shows a pixel of the denied document.
func isBlue(img image.Image) bool {
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 4 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 4 {
			if r, g, b, _ := img.At(x, y).RGBA(); b>>8 > 180 && r>>8 < 90 && g>>8 < 90 {
				return true
			}
		}
	}
	return false
}

// shows waits for an image whose corner is green or red.
func (v *viewer) shows(green bool) {
	v.t.Helper()
	for {
		if _, img := v.next(); img != nil {
			if r, g, _, _ := img.At(10, 10).RGBA(); g>>8 > 120 && r>>8 < 80 == green || r>>8 > 120 && g>>8 < 80 && !green {
				return
			}
		}
	}
}

// TestLiveView watches a tab that changes, gets input, shows denied documents and is closed.
func TestLiveView(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/denied":
			fmt.Fprint(w, `<title>denied</title><link rel=icon href=data:,><body style="background: rgb(0, 0, 255)">`)
		default:
			fmt.Fprint(w, `<title>shop</title><link rel=icon href=data:,><body style="margin: 0; height: 100vh; background: rgb(200, 0, 0)" onmousedown="document.body.style.background = 'rgb(0, 160, 0)'">
				<input style="position: fixed; top: 300px; left: 20px"><button style="position: fixed; top: 400px; left: 20px" onclick="window.open('/popup')">Open</button>
				<button style="position: fixed; top: 500px; left: 20px" onclick="document.title = prompt('Your code?', '1'); alert('Thanks')">Code</button>`)
		}
	}))
	t.Cleanup(site.Close)
	// The network lets denied documents load, as in an attached browser of another machine.
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true, Eval: true})
	if err != nil {
		t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	manager := executor.NewManager(&executor.ManagerOptions{CDP: newBrowser(t, testOptions(t)), Session: executor.SessionOptions{Gate: guard}})
	s := guard.Wrap(manager)
	t.Cleanup(func() { s.Close() })
	if tabs := s.(executor.Watcher).WatchTabs(t.Context()); len(tabs) != 0 || manager.Status(t.Context()).CDPAttached {
		t.Fatalf("before the first call: %+v", tabs)
	}
	page, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: site.URL})
	if err != nil {
		t.Fatal(err)
	}
	tabs := s.(executor.Watcher).WatchTabs(t.Context())
	if len(tabs) != 1 || tabs[0].ID != tab.ID || tabs[0].Title != "shop" {
		t.Fatalf("tabs %+v", tabs)
	}
	eval := func(expression string) {
		t.Helper()
		if _, err := page.Eval(t.Context(), expression, nil); err != nil {
			t.Fatal(err)
		}
	}
	v := watch(t, s, tab.ID)
	v.shows(false)
	wantCode(t, v.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveMouseMove, X: 10, Y: 10}), executor.ErrBadArgs)
	handOver := func() (end func()) {
		t.Helper()
		h, err := page.HandOver(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h.End
	}
	end := handOver()
	if err := v.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveMouseDown, X: 10, Y: 10, Button: executor.ButtonLeft, Buttons: 1, Clicks: 1}); err != nil {
		t.Fatal(err)
	}
	v.shows(true)
	for _, in := range []executor.LiveInput{
		{Type: executor.LiveMouseUp, X: 10, Y: 10, Button: executor.ButtonLeft, Clicks: 1},
		{Type: executor.LiveMouseDown, X: 30, Y: 310, Button: executor.ButtonLeft, Buttons: 1, Clicks: 1},
		{Type: executor.LiveMouseUp, X: 30, Y: 310, Button: executor.ButtonLeft, Clicks: 1},
		{Type: executor.LiveKeyDown, Key: "a", Code: "KeyA", KeyCode: 65, Text: "a"},
		{Type: executor.LiveKeyUp, Key: "a", Code: "KeyA", KeyCode: 65},
		{Type: executor.LiveText, Text: "é"},
	} {
		if err := v.view.Input(t.Context(), in); err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
	}
	for _, in := range []executor.LiveInput{
		{}, {Type: "drop"}, {Type: executor.LiveMouseMove, Button: "fourth"}, {Type: executor.LiveKeyDown, Modifiers: 16},
		{Type: executor.LiveText, Text: strings.Repeat("x", 20_000)},
	} {
		wantCode(t, v.view.Input(t.Context(), in), executor.ErrBadArgs)
	}

	// The user answers dialogs. The click that opens the first ends with the last.
	clicked := make(chan struct{})
	go func() {
		defer close(clicked)
		for _, kind := range []executor.LiveInputType{executor.LiveMouseDown, executor.LiveMouseUp} {
			_ = v.view.Input(t.Context(), executor.LiveInput{Type: kind, X: 30, Y: 510, Button: executor.ButtonLeft, Clicks: 1})
		}
	}()
	var answered executor.Dialog
	for _, want := range []executor.Dialog{{Type: executor.DialogPrompt, Message: "Your code?", DefaultPrompt: "1"}, {Type: executor.DialogAlert, Message: "Thanks"}} {
		got, _ := v.next()
		for got.Dialog == nil || *got.Dialog == answered { // an image may be older than the answer
			got, _ = v.next()
		}
		if answered = *got.Dialog; answered != want {
			t.Errorf("the live view shows %+v, want %+v", *got.Dialog, want)
		}
		if err := v.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveDialog, Accept: true, Text: "831942"}); err != nil {
			t.Fatal(err)
		}
	}
	<-clicked
	v.shows(true)
	wantCode(t, v.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveDialog, Accept: true}), executor.ErrBadArgs)

	// A window that the page opens is handed over too, without another question.
	for _, kind := range []executor.LiveInputType{executor.LiveMouseDown, executor.LiveMouseUp} {
		if err := v.view.Input(t.Context(), executor.LiveInput{Type: kind, X: 30, Y: 410, Button: executor.ButtonLeft, Clicks: 1}); err != nil {
			t.Fatal(err)
		}
	}
	var popup executor.TabID
	await.Until(t, "the window that the page opened", func() bool {
		for _, one := range s.(executor.Watcher).WatchTabs(t.Context()) {
			if one.ID != tab.ID {
				popup = one.ID
			}
		}
		return popup != ""
	})
	opened := watch(t, s, popup)
	opened.shows(false)
	if handedOver, _ := opened.view.HandedOver(); !handedOver {
		t.Error("the window that the page opened is not handed over")
	}
	if err := opened.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveMouseDown, X: 10, Y: 10, Button: executor.ButtonLeft, Buttons: 1, Clicks: 1}); err != nil {
		t.Fatal(err)
	}
	opened.shows(true)
	opened.view.Close()
	end()
	wantCode(t, v.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveMouseMove, X: 10, Y: 10}), executor.ErrBadArgs)
	if _, err := pagetest.Of(s, popup).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	eval("if (document.title !== '831942') throw new Error(document.title)")
	if title, err := page.Eval(t.Context(), "document.title", nil); err != nil || string(title.Value) != `"••••"` {
		t.Errorf("what the user entered in a prompt dialog is %s, %v", title.Value, err)
	}
	eval("if (document.querySelector('input').value !== 'aé') throw new Error(document.querySelector('input').value)")

	// While a frame of a denied site is there, nothing is shown, and nothing gets input.
	denied := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	for range 3 {
		eval(fmt.Sprintf(`new Promise((done) => { const f = document.createElement('iframe'); f.style = 'position: fixed; inset: 50px 0 0 0; width: 400px; height: 200px';
			f.src = %q; f.onload = () => done(1); document.body.append(f); })`, denied+"/denied"))
		for {
			got, img := v.next()
			if img == nil && strings.Contains(got.Hidden, "policy") {
				break
			}
			if img != nil && isBlue(img) {
				t.Fatal("an image shows the denied frame")
			}
		}
		wantCode(t, v.view.Input(t.Context(), executor.LiveInput{Type: executor.LiveMouseMove, X: 60, Y: 60}), executor.ErrPolicyDenied)
		eval("document.querySelector('iframe').remove()")
		v.shows(true)
	}

	// The top document is denied.
	eval(fmt.Sprintf("void setTimeout(() => { location.href = %q })", denied+"/denied"))
	for {
		got, img := v.next()
		if img == nil && strings.Contains(got.Hidden, "policy") {
			break
		}
		if img != nil && isBlue(img) {
			t.Fatal("an image shows the denied document")
		}
	}
	if tabs := s.(executor.Watcher).WatchTabs(t.Context()); tabs[0].URL != executor.DeniedURL || tabs[0].Title != "" {
		t.Errorf("denied tab %+v", tabs)
	}
	if _, err := s.Navigate(t.Context(), site.URL, nil); err != nil {
		t.Fatal(err)
	}
	v.shows(false)

	// Another live view replaces this one. It ends when the tab is closed.
	second := watch(t, s, tab.ID)
	for {
		if _, err := v.view.Next(await.Context(t)); err != nil {
			wantCode(t, err, executor.ErrTargetGone)
			break
		}
	}
	second.shows(false)
	if _, err := pagetest.Of(s, tab.ID).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := second.view.Next(await.Context(t)); err != nil {
			wantCode(t, err, executor.ErrTargetGone)
			break
		}
	}
	_, err = s.(executor.Watcher).Watch(t.Context(), tab.ID)
	wantCode(t, err, executor.ErrTabNotFound)
}
