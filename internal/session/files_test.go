package session

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestQueuedUploadReadsNoFiles checks that calls in the call queue of a tab have not read files
// yet.
func TestQueuedUploadReadsNoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		tab := h.adopt(t, "https://a.test/")
		s := h.open(t, executor.SessionOptions{UploadsDir: t.TempDir()})
		upload := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := pagetest.Of(s, "").Upload(ctx, executor.Target{Ref: "e1"}, []string{"nosuch.txt"}, nil)
			return err
		}
		release, err := tab.Page.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := upload(); executor.CodeOf(err) != executor.ErrTimeout {
			t.Errorf("while another call uses the tab: %v", err)
		}
		release()
		if err := upload(); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A reselectingHost is a fakeHost. When a call acquires the browser for the second time, another
// call of the client has selected another tab.
type reselectingHost struct {
	*fakeHost
	session  *Session
	other    *Tab
	acquired int
}

func (h *reselectingHost) Acquire(ctx context.Context) (BrowserInstance, error) {
	if h.acquired++; h.acquired == 2 {
		h.session.selection.choose(h.session.ids.of(h.browser, h.other))
	}
	return h.fakeHost.Acquire(ctx)
}

// TestActiveTabChangesDuringCall checks that a call without a tab id uses the tab that was active
// when it started.
func TestActiveTabChangesDuringCall(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Session) error{
		"navigate": func(ctx context.Context, s *Session) error {
			_, err := s.Navigate(ctx, "https://a.test/next", nil)
			return err
		},
		"save pdf": func(ctx context.Context, s *Session) error {
			_, err := pagetest.Of(s, "").SavePDF(ctx, nil)
			return err
		},
		"download": func(ctx context.Context, s *Session) error {
			_, err := pagetest.Of(s, "").Download(ctx, &executor.DownloadOptions{Target: executor.Target{Ref: "e1"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &reselectingHost{fakeHost: newHost(t)}
			h.browser.downloads = new(download.Dir)
			active := h.adopt(t, "https://a.test/active")
			h.other = h.adopt(t, "https://a.test/other")
			var used []executor.TabID
			s, err := h.sessions.Open(h, executor.SessionOptions{Gate: executor.GateFunc(func(_ context.Context, a executor.Access) error {
				if a.Op == executor.OpNavigate || a.Op == executor.OpDownload {
					used = append(used, a.Tab)
				}
				return executor.Errorf(executor.ErrPolicyDenied, "", "denied")
			})})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			h.session = s.(*Session)
			want := h.session.ids.of(h.browser, active)
			h.session.selection.choose(want)
			if err := call(t.Context(), h.session); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Errorf("error: %v", err)
			}
			if h.acquired < 2 || len(used) == 0 || slices.ContainsFunc(used, func(id executor.TabID) bool { return id != want }) {
				t.Errorf("used tabs %q, want %s; the browser was acquired %d times", used, want, h.acquired)
			}
		})
	}
}
