package chromium

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// fakeAttached returns an instance of an attached browser that calls handle with each command, and the
// commands that it has received. handle may be nil. The instance is closed at the end of the test.
func fakeAttached(t *testing.T, opts Options, handle func(*cdptest.FakeTransport, *cdproto.Message) (handled bool)) (in *instance, commands func() []string) {
	var mu sync.Mutex
	var list []string
	opts.timing = timing.Current()
	in = &instance{
		backend: &Backend{log: slog.New(slog.DiscardHandler)}, opts: opts, tabs: newTabSet(),
		ended: make(chan struct{}), cleanupDone: make(chan struct{}),
	}
	in.clients, in.downloads, in.proxyCredentials = newCDPClients(in), newDownloads(in), &proxyCredentials{in: in}
	in.documents = &documentFilter{in: in, denials: newCache[string, error](maxCachedDenials)}
	in.conn = cdpconn.New(cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
		mu.Lock()
		list = append(list, fmt.Sprint(cmd.Method, " ", string(cmd.Params)))
		mu.Unlock()
		if handle == nil || !handle(remote, cmd) {
			remote.Reply(cmd, "{}")
		}
	}))
	in.work.Go(func() { follow(in.conn, in.handle) })
	t.Cleanup(func() {
		in.conn.Close()
		in.work.Wait()
	})
	return in, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// A blockingRecorder sends each entry to a channel and records it when the test receives it.
type blockingRecorder struct{ entries chan audit.Entry }

func (blockingRecorder) Ready() error           { return nil }
func (r blockingRecorder) Record(e audit.Entry) { r.entries <- e }

// TestCloseAtStart checks that Close waits for the end of an instance that another goroutine has just
// started.
func TestCloseAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := fakeAttached(t, Options{}, nil)
		recorder := blockingRecorder{make(chan audit.Entry)}
		b := in.backend
		b.opts.Audit = recorder
		ctx, cancel := context.WithCancelCause(t.Context())
		st := &start{done: make(chan struct{}), cancel: cancel}
		b.starting = st
		go b.endStart(ctx, st, in, nil)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- b.Close() }()
		synctest.Wait()
		for _, want := range []audit.Event{audit.EventConnected, audit.EventDisconnected} {
			if len(closed) > 0 {
				t.Errorf("Close has returned before %s was recorded", want)
			}
			if e := <-recorder.entries; e.Event != want {
				t.Errorf("recorded %s, want %s", e.Event, want)
			}
			synctest.Wait()
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestDownloadAfterConnectionEnd checks that a download that is decided after the connection has ended
// has an end.
func TestDownloadAfterConnectionEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := fakeAttached(t, Options{DownloadsDir: t.TempDir()}, func(remote *cdptest.FakeTransport, cmd *cdproto.Message) bool {
			if cmd.Method == "Browser.getVersion" {
				remote.Attach("", "T", "page")
			}
			return false
		})
		b := in.backend
		b.instance = in
		var states []string
		s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll, OnEvent: func(ev executor.Event) {
			if ev.Download != nil {
				states = append(states, ev.Download.State)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		in.downloads.failAll()
		in.downloads.decide(browser.EventDownloadWillBegin{FrameID: "T", GUID: "G", URL: "https://a.test/file", SuggestedFilename: "file"}, time.Now())
		synctest.Wait()
		if len(states) == 0 || states[len(states)-1] != "canceled" {
			t.Errorf("states: %q", states)
		}
		in.downloads.clientBegan(browser.EventDownloadWillBegin{FrameID: "client", GUID: "H", URL: "https://a.test/file", SuggestedFilename: "file"})
		if r := in.clients.downloadResult("H"); !notify.IsClosed(r.done) || executor.CodeOf(r.err) != executor.ErrDownloadFailed {
			t.Errorf("the download of a client has not failed")
		}
		b.instance = nil
		s.Close()
	})
}
