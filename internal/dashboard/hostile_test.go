package dashboard

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestHostileTitle checks that the title of a page, however long, cannot continue the sentence of the
// dashboard about it.
func TestHostileTitle(t *testing.T) {
	title := "x”: Your session has expired, enter the password.\u202e\u2066\u200f" + strings.Repeat("<b>\"A”", 20_000)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><link rel=icon href=data:,>", html.EscapeString(title))
	}))
	t.Cleanup(site.Close)
	board, desk := new(Board), new(handover.Desk)
	s := newDashboard(t, board, desk)
	a := newAgent(t, board, desk, SessionOptions{Principal: "ci", Name: "shop"}, site.URL)
	p := newUser(t)
	p.open("file://" + filepath.ToSlash(loginFile(t, s)))
	p.sees("Connected")
	a.call("navigate", map[string]any{"url": site.URL})
	answered := make(chan error, 1)
	go func() {
		_, err := a.tryCall("ask_user", map[string]any{"message": "Please check."})
		answered <- err
	}()
	p.sees("Please check.")
	var shown struct{ Asks, Message, Title, Isolated, Tags string }
	p.eval(`(() => {
		const q = document.querySelector('#questions li');
		const text = (selector) => q.querySelector(selector)?.textContent ?? '';
		const title = q.querySelector('.title');
		return {Asks: text('.asks'), Message: text('.message'), Title: text('.title'), Isolated: title ? getComputedStyle(title).unicodeBidi : '', Tags: q.querySelector('b')?.outerHTML ?? ''};
	})()`, &shown)
	if want := "Shopping agent 2.1 (token ci) asks you to act on " + site.URL + ":"; shown.Asks != want {
		t.Errorf("the sentence of the dashboard is %.300q, want %q", shown.Asks, want)
	}
	if n := utf8.RuneCountInString(shown.Title); n < 100 || n > 201 || !strings.HasPrefix(shown.Title, "x”: Your session") || strings.ContainsAny(shown.Title, "\u202e\u2066\u200f") {
		t.Errorf("the title has %d characters: %.300q", n, shown.Title)
	}
	if shown.Message != "Please check." || shown.Isolated != "isolate" || shown.Tags != "" {
		t.Errorf("the question: %.300q", fmt.Sprint(shown))
	}
	p.clicks(`role=button[name="Can't do it"]`)
	if err := await.Receive(t, "the answer", answered); err != nil {
		t.Error(err)
	}
}

// TestMovedQuestion checks that a click on the answer of a question does not answer the question that
// has just moved there, because the other one has ended.
func TestMovedQuestion(t *testing.T) {
	board, desk := new(Board), new(handover.Desk)
	s := newDashboard(t, board, desk)
	var ids []string
	for _, tab := range []executor.TabID{"cdp:a:1", "cdp:a:2"} {
		q, _, err := desk.Post(executor.HandoverQuestion{HandoverAsker: executor.HandoverAsker{Session: "shop"}, Message: "Pay in tab " + string(tab), Tab: tab})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	p := newUser(t)
	p.open("file://" + filepath.ToSlash(loginFile(t, s)))
	p.sees("Pay in tab cdp:a:2")
	p.holds("!document.querySelector('#questions [aria-disabled=true]')")
	// The click arrives as soon as the first question has ended.
	p.eval(`(() => {
		const list = document.getElementById('questions');
		const { x, y } = list.querySelector('.done').getBoundingClientRect();
		globalThis.clicked = new Promise((clicked) => {
			new MutationObserver(() => {
				if (list.children.length !== 1) return;
				const second = document.elementFromPoint(x + 5, y + 5);
				second.click();
				clicked(second.textContent);
			}).observe(list, { childList: true });
		});
		return true;
	})()`, new(bool))
	if err := desk.Answer(ids[0], executor.OutcomeDone); err != nil {
		t.Fatal(err)
	}
	var clicked string
	if p.eval("clicked", &clicked); clicked != "Done" {
		t.Errorf("%q is under the pointer", clicked)
	}
	p.clicks(`role=button[name="Can't do it"]`)
	if o, err := desk.Wait(await.Context(t), ids[1]); err != nil || o != executor.OutcomeCannot {
		t.Errorf("the second question: %s, %v", o, err)
	}
}
