package chromium

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// helperOf returns the process of a browser's group that has this switch, or 0.
func helperOf(t *testing.T, browser int, mark string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		st, err := processid.ReadStat(pid)
		if err != nil || st.Group != browser || st.Ended() {
			continue
		}
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(line), mark) {
			return pid
		}
	}
	return 0
}

// TestKilledHelpers kills helper processes, which the browser restarts. At most two navigations fail:
// Chromium may lose the first one with the process, which then takes its timeout, and the new process
// does not know the credentials of the proxy. The policy is enforced in the new process as in the old one.
func TestKilledHelpers(t *testing.T) {
	ctx := await.Context(t)
	var hits atomic.Int32
	denied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(denied.Close)
	deniedURL := strings.Replace(denied.URL, "127.0.0.1", "localhost", 1)
	srv := pages(t)
	o := fullOptions(t)
	o.Network = hosts{"127.0.0.1"}
	b := newBrowser(t, o)
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, srv.URL+"/first", nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := running(b).proc.PID
	for _, mark := range []string{"--type=gpu-process", "--utility-sub-type=network.mojom.NetworkService"} {
		var pid int
		await.Until(t, "a process with "+mark, func() bool { pid = helperOf(t, browser, mark); return pid != 0 })
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := pagetest.Of(s, nav.TabID).Screenshot(ctx, nil); err != nil {
			t.Errorf("%s: a screenshot after it: %v", mark, err)
		}
		if _, err := pagetest.Of(s, nav.TabID).Click(ctx, executor.Target{Selector: "h1"}, nil); err != nil {
			t.Errorf("%s: a click after it: %v", mark, err)
		}
		again, err := pagetest.Of(s, nav.TabID).Navigate(ctx, srv.URL+"/again", nil)
		for failures := 0; failures < 2 && err != nil; failures++ {
			if e, ok := errors.AsType[*executor.Error](err); !ok || !e.Retryable && e.Code != executor.ErrTimeout {
				break
			}
			t.Logf("%s: %v", mark, err)
			again, err = pagetest.Of(s, nav.TabID).Navigate(ctx, srv.URL+"/again", nil)
		}
		if err != nil || again.Title != "again" {
			t.Errorf("%s: the page after it: %+v, %v", mark, again, err)
		}
		_, err = pagetest.Of(s, nav.TabID).Navigate(ctx, deniedURL, nil)
		wantCode(t, err, executor.ErrPolicyDenied)
		if _, err := pagetest.Of(s, nav.TabID).Navigate(ctx, srv.URL+"/last", nil); err != nil {
			t.Errorf("%s: navigating back: %v", mark, err)
		}
		if _, err := pagetest.Of(s, nav.TabID).Eval(ctx, "fetch('"+deniedURL+"', {mode: 'no-cors'}).catch(String)", nil); err != nil {
			t.Errorf("%s: %v", mark, err)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the denied server received %d requests", n)
	}
	if running(b).proc.PID != browser {
		t.Error("the browser was replaced")
	}
}

// TestKilledBrowserLosesDownload checks that a download that is lost with its browser is reported
// as failed, and that its file is removed. A download that the server has not answered yet fails
// with the tab.
func TestKilledBrowserLosesDownload(t *testing.T) {
	ctx := await.Context(t)
	requested := make(chan struct{})
	request := sync.OnceFunc(func() { close(requested) })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			w.Header().Set("Content-Disposition", "attachment; filename=report.csv")
			io.WriteString(w, strings.Repeat("a,b\n", 256<<10))
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/unanswered":
			request()
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>start</title><a id=endless href=/endless>1</a> <a id=unanswered href=/unanswered>2</a>")
		}
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	o := testOptions(t)
	o.Isolated = true
	b := newBrowser(t, o)
	s := newSession(t, b)
	if _, err := s.Navigate(ctx, srv.URL, nil); err != nil {
		t.Fatal(err)
	}
	dir, err := running(b).Downloads()
	if err != nil {
		t.Fatal(err)
	}
	kill := func(link string, begun func(*instance) bool, want ...executor.Code) {
		t.Helper()
		got := make(chan error, 1)
		go func() {
			d, err := pagetest.Of(s, "").Download(ctx, &executor.DownloadOptions{Target: executor.Target{Selector: link}})
			if err == nil {
				t.Errorf("%s: the lost download returned %+v", link, d)
			}
			got <- err
		}()
		in := running(b)
		await.Until(t, "the download of "+link, func() bool { return begun(in) })
		if err := syscall.Kill(in.proc.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if code := executor.CodeOf(<-got); !slices.Contains(want, code) {
			t.Errorf("%s: the download ended with %s, want %s", link, code, want)
		}
		if _, err := s.Navigate(ctx, srv.URL, nil); err != nil { // starts another browser
			t.Errorf("%s: the call after it: %v", link, err)
		}
		if left := filesBelow(t, dir.Path()); len(left) > 0 {
			t.Errorf("%s: files left: %v", link, left)
		}
	}
	kill("#endless", func(in *instance) bool {
		in.downloads.mu.Lock()
		defer in.downloads.mu.Unlock()
		return len(in.downloads.transfers) > 0 && len(filesBelow(t, dir.Path())) > 0
	}, executor.ErrDownloadFailed, executor.ErrTargetGone) // the latter during the click
	kill("#unanswered", func(*instance) bool { return notify.IsClosed(requested) }, executor.ErrTargetGone)
}

// TestKilledWhileAttached kills a program that is attached to a browser and that
// does not respond when the browser's user opens tabs. The tabs load.
func TestKilledWhileAttached(t *testing.T) {
	ctx := await.Context(t)
	_, address := startForeignShell(t, t.TempDir())
	users := newUserPages(t, address)
	o := testOptions(t)
	o.CDPEndpoint = address
	s := startServer(t, o)
	s.stop(t)
	const tabs = 3
	for i := range tabs {
		users.open(fmt.Sprint("/", i))
	}
	s.kill()
	for range tabs {
		users.await(ctx)
	}
}

// stop stops all threads of the server.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Wait until no thread runs. On a busy machine a signal takes time.
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(s.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the program is not stopped: %v, %v", status, err)
	}
}

// TestKilledBeforePopupResumes kills a program that is attached to a browser
// after the browser paused a popup window of a user's page for it. The popup
// window and its opener continue.
func TestKilledBeforePopupResumes(t *testing.T) {
	_, address := startForeignShell(t, t.TempDir(), "--disable-popup-blocking")
	for way := range popupScripts {
		t.Run(way, func(t *testing.T) {
			ctx := await.Context(t)
			users := newUserPages(t, address)
			o := fullOptions(t)
			o.CDPEndpoint = address
			s := startServer(t, o)
			users.openOpener(ctx, way)
			before := users.count()
			s.stop(t)
			close(users.openNow)
			users.awaitPaths(ctx, "/opens")
			await.Until(t, "the popup window", func() bool { return users.count() > before })
			s.kill()
			users.awaitPaths(ctx, "/opened", "/popup")
		})
	}
}
