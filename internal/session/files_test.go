package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
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
