package session

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestEventOrder checks that events are delivered in order and one at a time, and that Close
// loses none of the queued ones.
func TestEventOrder(t *testing.T) {
	const events = 500
	var got []string // not locked, so that the race detector reports a second goroutine
	var delivery sync.WaitGroup
	q := deliverEvents(&delivery, func(ev executor.Event) { got = append(got, ev.URL) })
	for i := range events {
		q.Put(executor.Event{URL: fmt.Sprint(i)})
	}
	q.Close(errSessionClosed)
	delivery.Wait()
	if len(got) != events {
		t.Fatalf("%d events were delivered, want %d", len(got), events)
	}
	for i, url := range got {
		if url != fmt.Sprint(i) {
			t.Fatalf("event %d is %s", i, url)
		}
	}
	q.Put(executor.Event{URL: "late"})
	q.Close(errSessionClosed)
	if len(got) != events {
		t.Errorf("after Close %d events were delivered", len(got)-events)
	}
}

// TestEventOverflow checks that the oldest events are dropped if the client does not process them,
// and that Put does not block.
func TestEventOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		busy := make(chan struct{})
		var delivery sync.WaitGroup
		q := deliverEvents(&delivery, func(ev executor.Event) {
			<-busy
			got = append(got, ev.URL)
		})
		q.Put(executor.Event{URL: "first"})
		synctest.Wait() // the function has received it
		for i := range maxEvents + 3 {
			q.Put(executor.Event{URL: fmt.Sprint(i)})
		}
		close(busy)
		q.Close(errSessionClosed)
		delivery.Wait()
		if len(got) != 1+maxEvents || got[0] != "first" || got[1] != "3" || got[maxEvents] != fmt.Sprint(maxEvents+2) {
			t.Errorf("%d events were delivered: %s, %s … %s", len(got), got[0], got[1], got[len(got)-1])
		}
	})
}

// TestEmit checks that a session receives events of its tabs and of tabs without an owner, and
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
	if _, _, err := other.NewPage(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.NewPage(t.Context(), nil); err != nil {
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
	s.Emit(executor.Event{Kind: executor.EventNavigated}, tabs[2], "") // the other session's tab
	s.Emit(executor.Event{Kind: executor.EventTabOpened}, tabs[3], "")
	s.Emit(executor.Event{Kind: executor.EventTabClosed}, secret, "")
	other.Emit(executor.Event{Kind: executor.EventNavigated}, shown, "") // it has no OnEvent function
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
		t.Fatalf("%d events were delivered, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}
