package session

import (
	"errors"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
)

func TestTransferStates(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	running := tab.Begin("report.pdf")
	if running.Tab() != tab {
		t.Error("the transfer is of another tab")
	}
	if got, want := running.Describe(executor.BackendCDP), (executor.Download{Backend: executor.BackendCDP, SuggestedName: "report.pdf", State: "running"}); got != want {
		t.Errorf("running: %+v, want %+v", got, want)
	}
	running.End(download.File{Path: "/d/report (1).pdf", Name: "report (1).pdf", Bytes: 7}, nil)
	running.End(download.File{}, errors.New("too late")) // the first word counts
	want := executor.Download{Backend: executor.BackendCDP, SuggestedName: "report.pdf", State: "completed", Path: "/d/report (1).pdf", Bytes: 7}
	if got := running.Describe(executor.BackendCDP); got != want {
		t.Errorf("completed: %+v, want %+v", got, want)
	}
	failed := tab.Begin("x")
	failed.End(download.File{Path: "/d/x", Bytes: 3}, errors.New("interrupted"))
	if got, want := failed.Describe(executor.BackendCDP), (executor.Download{Backend: executor.BackendCDP, SuggestedName: "x", State: "canceled", Reason: "interrupted"}); got != want {
		t.Errorf("failed: %+v, want %+v", got, want)
	}
}

// TestFreshDownloads tells of each state of a transfer once.
func TestFreshDownloads(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	begun := 0
	states := func() (list []string) {
		fresh := tab.freshDownloads(executor.BackendCDP, begun)
		begun = tab.began
		for _, d := range fresh.Began {
			list = append(list, d.SuggestedName+" "+d.State)
		}
		for _, d := range fresh.Earlier {
			list = append(list, "earlier "+d.SuggestedName+" "+d.State)
		}
		return list
	}
	want := func(when string, want ...string) {
		t.Helper()
		got := states()
		if len(got) != len(want) {
			t.Fatalf("%s: %q, want %q", when, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
	}
	want("before any")
	a, b := tab.Begin("a"), tab.Begin("b")
	want("both began", "a running", "b running")
	want("nothing new")
	a.End(download.File{Name: "a"}, nil)
	want("a ended", "earlier a completed")
	want("nothing new again")
	c := tab.Begin("c")
	c.End(download.File{}, errors.New("refused"))
	b.End(download.File{Name: "b"}, nil)
	want("b and c ended", "c canceled", "earlier b completed")
	if len(tab.transfers) != 0 {
		t.Errorf("%d transfers are kept", len(tab.transfers))
	}
}

// TestOnBegin is told of what begins until it is stopped.
func TestOnBegin(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	var began []string
	stop := tab.onBegin(func(tr *Transfer) {
		began = append(began, tr.Name)
		tab.freshDownloads(executor.BackendCDP, 0) // no lock is held
	})
	tab.Begin("a")
	tab.Begin("b")
	stop()
	tab.Begin("c")
	if len(began) != 2 || began[0] != "a" || began[1] != "b" {
		t.Errorf("told of %q, want a and b", began)
	}
}

// TestTransfersAtOnce has the browser begin and end transfers while a client
// asks for them.
func TestTransfersAtOnce(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	done, more := 0, 0
	tell := func() {
		fresh := tab.freshDownloads(executor.BackendCDP, 0)
		for _, d := range fresh.Began {
			if d.State == "completed" {
				done++
			}
		}
		more += fresh.More
	}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			for range 100 {
				tab.Begin(name).End(download.File{Name: name}, nil)
			}
		})
	}
	for range 100 {
		tell()
	}
	wg.Wait()
	tell()
	// A download that was reported while running may count twice.
	if done+more < 400 || done+more > 800 {
		t.Errorf("%d ends and %d more, want 400 in all", done, more)
	}
}

// TestManyDownloads starts more downloads than a result lists and a tab stores.
func TestManyDownloads(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	running := tab.Begin("running")
	const n = 5000
	for range n {
		tab.Begin("x").End(download.File{}, errors.New("refused"))
	}
	if len(tab.transfers) > maxTransfers {
		t.Errorf("%d transfers are kept", len(tab.transfers))
	}
	fresh := tab.freshDownloads(executor.BackendCDP, 1)
	if len(fresh.Earlier) != 1 || len(fresh.Began) != maxReported-1 || maxReported+fresh.More != n+1 || fresh.Earlier[0].SuggestedName != "running" {
		t.Errorf("reported are %+v", fresh)
	}
	running.End(download.File{Path: "/d/running"}, nil)
	if fresh := tab.freshDownloads(executor.BackendCDP, tab.began); len(fresh.Earlier) != 1 || fresh.Earlier[0].State != "completed" || fresh.More != 0 {
		t.Errorf("after the end of the running download: %+v", fresh)
	}
}

// TestDownloadArguments: a URL or a target, not both and not neither.
func TestDownloadArguments(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	for _, opts := range []executor.DownloadOptions{{}, {URL: "https://a.test/f", Target: executor.Target{Ref: "e1"}}} {
		if _, err := s.Download(t.Context(), "", opts); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%+v: %v, want ErrBadArgs", opts, err)
		}
	}
	if n := h.started(); n != 0 {
		t.Errorf("the browser was asked for %d times", n)
	}
}
