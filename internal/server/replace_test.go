package server

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A blankWorkspace is a session that the test uses.
type blankWorkspace struct {
	fakeWorkspace
	used *atomic.Bool
}

func (s blankWorkspace) HasState() bool { return s.used.Load() }

// TestReplaceSession opens a session with other settings: it is replaced unless it was used or
// is in use, and then the error names all differences.
func TestReplaceSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wasUsed atomic.Bool
		var closed atomic.Int32
		var settings []Settings
		s := New(Options{Open: func(r OpenRequest) (Workspace, error) {
			settings = append(settings, r.Settings)
			return blankWorkspace{fakeWorkspace{r.Name, &closed}, &wasUsed}, nil
		}})
		replaced := 0
		open := func(settings Settings) error {
			did, err := s.open(t.Context(), osUser, clientID{}, "work", settings, false)
			if did {
				replaced++
			}
			return err
		}
		first, second := Settings{"--headless": {"true"}}, Settings{"--allow-domain": {"example.com"}, "--enable-mutations": {"true"}}
		for _, settings := range []Settings{first, nil, second, second} {
			if err := open(settings); err != nil {
				t.Fatal(err)
			}
		}
		if len(settings) != 2 || closed.Load() != 1 || replaced != 1 || len(settings[1]) != 2 {
			t.Fatalf("opened with %v, closed %d, reported %d", settings, closed.Load(), replaced)
		}
		// use uses the session until its end is called.
		use := func() (end func()) {
			_, end, err := s.use(t.Context(), clientID{}, "work", mustBeOpen)
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		refused := func(what string, after time.Duration) {
			t.Helper()
			start := time.Now()
			err := open(Settings{"--allow-domain": {"example.org"}, "--headless": {"true"}, "--enable-mutations": {"true"}})
			wantError(t, err, errs.ErrBadArgs, `: --allow-domain is ["example.com"] there, not ["example.org"]; --headless is unset there, not ["true"]`)
			if e, ok := errors.AsType[*errs.Error](err); !ok || !strings.Contains(e.Hint, "`Client.CloseSession work`") {
				t.Errorf("%s: hint of %v", what, err)
			}
			if took := time.Since(start); took != after {
				t.Errorf("%s: took %v, want %v", what, took, after)
			}
		}
		end := use()
		refused("in use", timing.Default().SessionUse)
		end()
		// A use that ends shortly afterwards, like that of a call whose response the client already
		// has.
		time.AfterFunc(timing.Default().SessionUse-1, use())
		for _, settings := range []Settings{first, second} {
			if err := open(settings); err != nil {
				t.Error(err)
			}
		}
		// One whose call has succeeded when it ends.
		end = use()
		time.AfterFunc(timing.Default().SessionUse/2, func() {
			wasUsed.Store(true)
			end()
		})
		refused("in use, then used", timing.Default().SessionUse/2)
		refused("used", 0)
		if n := closed.Load(); n != 3 {
			t.Errorf("closed %d sessions", n)
		}
	})
}
