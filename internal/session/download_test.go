package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

func TestTransferStates(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	running := tab.AddTransfer("report.pdf")
	if running.Tab() != tab {
		t.Error("the transfer is of another tab")
	}
	if got, want := running.Describe(executor.BackendCDP), (executor.Download{Backend: executor.BackendCDP, SuggestedName: "report.pdf", State: "running"}); got != want {
		t.Errorf("running: %+v, want %+v", got, want)
	}
	running.End(download.File{Path: "/d/report (1).pdf", Name: "report (1).pdf", Bytes: 7}, nil)
	running.End(download.File{}, errors.New("too late")) // only the first call counts
	want := executor.Download{Backend: executor.BackendCDP, SuggestedName: "report.pdf", State: "completed", Path: "/d/report (1).pdf", Bytes: 7}
	if got := running.Describe(executor.BackendCDP); got != want {
		t.Errorf("completed: %+v, want %+v", got, want)
	}
	failed := tab.AddTransfer("x")
	failed.End(download.File{Path: "/d/x", Bytes: 3}, errors.New("interrupted"))
	if got, want := failed.Describe(executor.BackendCDP), (executor.Download{Backend: executor.BackendCDP, SuggestedName: "x", State: "canceled", Reason: "interrupted"}); got != want {
		t.Errorf("failed: %+v, want %+v", got, want)
	}
}

// TestUserTransfer checks that nothing reports a download of the user.
func TestUserTransfer(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	tab.onTransfer(func(*Transfer) { t.Error("a call got it") })
	tr := tab.NewUserTransfer("mine.pdf")
	new(Registry).EmitDownload(tr, executor.BackendCDP, "cdp-1-1", func(audit.Entry) { t.Error("it is in the audit log") })
	tr.End(download.File{Path: "/d/mine.pdf", Bytes: 7}, nil)
	new(Registry).EmitDownload(tr, executor.BackendCDP, "cdp-1-1", func(audit.Entry) { t.Error("its end is in the audit log") })
	if news := tab.newDownloads(executor.BackendCDP, 0); tab.transferCount != 0 || tab.hasTransfers() || len(news.Started)+len(news.Earlier)+news.More > 0 {
		t.Errorf("the tab has transfers: %+v", news)
	}
}

// TestFreshDownloads checks that each state of a transfer is reported once.
func TestFreshDownloads(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	startedBefore := 0
	states := func() (list []string) {
		fresh := tab.newDownloads(executor.BackendCDP, startedBefore)
		startedBefore = tab.transferCount
		for _, d := range fresh.Started {
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
	want("before the first")
	a, b := tab.AddTransfer("a"), tab.AddTransfer("b")
	want("both started", "a running", "b running")
	want("nothing new")
	a.End(download.File{Name: "a"}, nil)
	want("a has ended", "earlier a completed")
	want("nothing new again")
	c := tab.AddTransfer("c")
	c.End(download.File{}, errors.New("denied"))
	b.End(download.File{Name: "b"}, nil)
	want("b and c have ended", "c canceled", "earlier b completed")
	if len(tab.transfers) != 0 {
		t.Errorf("%d transfers are stored", len(tab.transfers))
	}
}

// TestOnTransfer checks that the function is called for each new transfer until it is removed.
func TestOnTransfer(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	var started []string
	stop := tab.onTransfer(func(tr *Transfer) {
		started = append(started, tr.Name)
		tab.newDownloads(executor.BackendCDP, 0) // must not deadlock
	})
	tab.AddTransfer("a")
	tab.AddTransfer("b")
	stop()
	tab.AddTransfer("c")
	if len(started) != 2 || started[0] != "a" || started[1] != "b" {
		t.Errorf("got %q, want a and b", started)
	}
}

// TestTransfersAtOnce starts and ends transfers while a client queries them.
func TestTransfersAtOnce(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	done, more := 0, 0
	report := func() {
		fresh := tab.newDownloads(executor.BackendCDP, 0)
		for _, d := range fresh.Started {
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
				tab.AddTransfer(name).End(download.File{Name: name}, nil)
			}
		})
	}
	for range 100 {
		report()
	}
	wg.Wait()
	report()
	// A download that was reported while running may count twice.
	if done+more < 400 || done+more > 800 {
		t.Errorf("%d ends and %d more, want 400 in total", done, more)
	}
}

// TestManyDownloads starts more downloads than a result lists and a tab stores.
func TestManyDownloads(t *testing.T) {
	tab := &Tab{Raw: "t1"}
	running := tab.AddTransfer("running")
	const n = 5000
	for range n {
		tab.AddTransfer("x").End(download.File{}, errors.New("denied"))
	}
	if len(tab.transfers) > maxTransfers {
		t.Errorf("%d transfers are stored", len(tab.transfers))
	}
	fresh := tab.newDownloads(executor.BackendCDP, 1)
	if len(fresh.Earlier) != 1 || len(fresh.Started) != maxReported-1 || maxReported+fresh.More != n+1 || fresh.Earlier[0].SuggestedName != "running" {
		t.Errorf("reported %+v", fresh)
	}
	running.End(download.File{Path: "/d/running"}, nil)
	if fresh := tab.newDownloads(executor.BackendCDP, tab.transferCount); len(fresh.Earlier) != 1 || fresh.Earlier[0].State != "completed" || fresh.More != 0 {
		t.Errorf("after the end of the running download: %+v", fresh)
	}
}

// TestDownloadArguments checks that exactly one of URL and target is required.
func TestDownloadArguments(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	for _, opts := range []*executor.DownloadOptions{nil, {}, {URL: "https://a.test/f", Target: executor.Target{Ref: "e1"}}} {
		if _, err := pagetest.Of(s, "").Download(t.Context(), opts); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%+v: %v, want ErrBadArgs", opts, err)
		}
	}
	if n := h.started(); n != 0 {
		t.Errorf("the browser was acquired %d times", n)
	}
}

// TestLateDownload starts and ends a transfer between calls, and checks that the next call of any kind
// reports it, once.
func TestLateDownload(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{Record: true})
	_, tab, err := s.NewPage(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	opened := h.browser.Tabs()[0]
	h.browser.show(t, opened, "https://a.test/")
	all := map[string]func(context.Context) error{
		"Tabs":      func(ctx context.Context) error { _, err := s.Tabs(ctx); return err },
		"SelectTab": func(ctx context.Context) error { _, err := s.SelectTab(ctx, tab.ID); return err },
		"Status":    func(ctx context.Context) error { s.Status(ctx); return nil },
		"NewPage":   func(ctx context.Context) error { _, _, err := s.NewPage(ctx, nil); return err },
		"SaveState": func(ctx context.Context) error { _, err := s.SaveState(ctx, "x"); return err },
		"LoadState": func(ctx context.Context) error { _, err := s.LoadState(ctx, "x"); return err },
		"Navigate":  func(ctx context.Context) error { _, err := s.Navigate(ctx, "https://a.test/", nil); return err },
	}
	for name, call := range calls {
		all[name+" of a page"] = func(ctx context.Context) error { return onPage(ctx, s, "cdp:run:t99", call) }
	}
	for name, call := range all {
		t.Run(name, func(t *testing.T) {
			var reported []string
			ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{
				OnDownload: func(d executor.Download) { reported = append(reported, d.SuggestedName+" "+d.State) },
			})
			ctx, cancel := context.WithCancel(ctx)
			cancel() // the calls need not succeed
			transfer := opened.AddTransfer("late.csv")
			want := []string{"late.csv running"}
			_ = call(ctx)
			if !slices.Equal(reported, want) {
				t.Errorf("after the start: reported %q, want %q", reported, want)
			}
			transfer.End(download.File{Path: "/d/late.csv"}, nil)
			want = append(want, "late.csv completed")
			for range 2 {
				_ = call(ctx)
				if !slices.Equal(reported, want) {
					t.Errorf("after the end: reported %q, want %q", reported, want)
				}
			}
		})
	}
}

// TestLateDownloadOfClosedTab closes the tab of a transfer that has ended since the last result.
func TestLateDownloadOfClosedTab(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	_, tab, err := s.NewPage(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.browser.Tabs()[0].AddTransfer("late.csv").End(download.File{Path: "/d/late.csv"}, nil)
	var reported []string
	ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{
		OnDownload: func(d executor.Download) { reported = append(reported, d.SuggestedName+" "+d.State) },
	})
	if _, err := pagetest.Of(s, tab.ID).Close(ctx); err != nil {
		t.Fatal(err)
	}
	if want := []string{"late.csv completed"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}

// TestManyLateDownloads checks that the number of the ended transfers that are not listed is reported.
func TestManyLateDownloads(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	if _, _, err := s.NewPage(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	opened := h.browser.Tabs()[0]
	h.browser.show(t, opened, "https://a.test/")
	for range 15 {
		opened.AddTransfer("late.csv").End(download.File{Path: "/d/late.csv"}, nil)
	}
	reported, more := 0, 0
	ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{
		OnDownload:      func(executor.Download) { reported++ },
		OnMoreDownloads: func(n int) { more += n },
	})
	before := s.BeforeIdleClose(ctx, h.browser) // which may not close it
	if before == nil || len(before.Downloads) != maxReported || before.MoreDownloads != 15-maxReported || before.Downloads[0].Path != "/d/late.csv" {
		t.Errorf("before the browser closes: %+v", before)
	}
	for range 2 {
		if _, err := s.Tabs(ctx); err != nil || reported != maxReported || more != 15-maxReported {
			t.Errorf("%d reported and %d more, %v", reported, more, err)
		}
	}
	if before := s.BeforeIdleClose(ctx, h.browser); before == nil || len(before.Downloads)+before.MoreDownloads != 0 {
		t.Errorf("after they were reported: %+v", before)
	}
}
