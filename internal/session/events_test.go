package session

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestEventOrder: events come in order, one at a time, and stop hands out
// those that wait.
func TestEventOrder(t *testing.T) {
	const events = 500
	var got []string // by the hook alone, so the race detector sees a second goroutine
	var q eventQueue
	q.start(func(ev executor.Event) { got = append(got, ev.URL) })
	for i := range events {
		q.put(executor.Event{URL: fmt.Sprint(i)})
	}
	q.stop()
	if len(got) != events {
		t.Fatalf("%d events came, want %d", len(got), events)
	}
	for i, url := range got {
		if url != fmt.Sprint(i) {
			t.Fatalf("event %d is %s", i, url)
		}
	}
	q.put(executor.Event{URL: "late"})
	q.stop()
	if len(got) != events || len(q.queue) != 0 {
		t.Errorf("after the end %d events came and %d wait for ever", len(got)-events, len(q.queue))
	}
}

// TestEventOverflow: when the client does not take its events, the oldest are
// dropped, and whoever sends them is not held up.
func TestEventOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		busy := make(chan struct{})
		var q eventQueue
		q.start(func(ev executor.Event) {
			<-busy
			got = append(got, ev.URL)
		})
		q.put(executor.Event{URL: "first"})
		synctest.Wait() // the hook has it
		for i := range maxEvents + 3 {
			q.put(executor.Event{URL: fmt.Sprint(i)})
		}
		close(busy)
		q.stop()
		if len(got) != 1+maxEvents || got[0] != "first" || got[1] != "3" || got[maxEvents] != fmt.Sprint(maxEvents+2) {
			t.Errorf("%d events came: %s, %s … %s", len(got), got[0], got[1], got[len(got)-1])
		}
	})
}

// TestEmit: a session is told of its own tabs and of those of nobody, and of
// no URL that its gate denies.
func TestEmit(t *testing.T) {
	h := newHost(t)
	shown, secret := h.adopt(t, "https://a.test/shown"), h.adopt(t, "https://a.test/secret")
	var mu sync.Mutex
	var got []executor.Event
	s := h.open(t, executor.SessionOptions{Gate: denyURL("secret"), OnEvent: func(ev executor.Event) {
		mu.Lock()
		got = append(got, ev)
		mu.Unlock()
	}})
	other := h.open(t, executor.SessionOptions{})
	if _, err := other.NewTab(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.NewTab(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	tabs := h.browser.Tabs()
	dialog := &executor.Dialog{Message: "hello"}
	file := &executor.Download{SuggestedName: "f"}
	s.Emit(executor.Event{Kind: executor.EventNavigated, URL: "https://a.test/shown"}, shown, "")
	s.Emit(executor.Event{Kind: executor.EventNavigated, URL: "https://a.test/secret"}, secret, "")
	s.Emit(executor.Event{Kind: executor.EventDialog, Dialog: dialog}, shown, "")
	s.Emit(executor.Event{Kind: executor.EventDialog, Dialog: dialog, Download: file}, secret, "")
	s.Emit(executor.Event{Kind: executor.EventDownload, Download: file}, shown, "")
	s.Emit(executor.Event{Kind: executor.EventNavigated}, tabs[2], "") // the other's
	s.Emit(executor.Event{Kind: executor.EventTabOpened}, tabs[3], "")
	s.Emit(executor.Event{Kind: executor.EventTabClosed}, secret, "")
	other.Emit(executor.Event{Kind: executor.EventNavigated}, shown, "") // it has no hook
	s.Close()
	s.Emit(executor.Event{Kind: executor.EventNavigated}, shown, "")
	want := []executor.Event{
		{Kind: executor.EventNavigated, Tab: "cdp:run:t1", URL: "https://a.test/shown"},
		{Kind: executor.EventNavigated, Tab: "cdp:run:t2"},
		{Kind: executor.EventDialog, Tab: "cdp:run:t1", Dialog: dialog},
		{Kind: executor.EventDialog, Tab: "cdp:run:t2"},
		{Kind: executor.EventDownload, Tab: "cdp:run:t1", Download: file},
		{Kind: executor.EventTabOpened, Tab: "cdp:run:t4"},
		{Kind: executor.EventTabClosed, Tab: "cdp:run:t2"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d events came, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}
