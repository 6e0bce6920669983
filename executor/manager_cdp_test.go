package executor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A cdpBackend is a fakeBackend whose ConnectCDP fails with its error.
type cdpBackend struct {
	*fakeBackend
	err error
}

func (b *cdpBackend) ConnectCDP(_ context.Context, opts *executor.CDPOptions) (executor.CDPConn, error) {
	if opts == nil || opts.Name != "client" {
		return nil, errors.New("the options are missing")
	}
	return nil, b.err
}

// TestManagerConnectCDP checks which backend a CDP client drives. A session is open there even if
// no call was made: without one, nothing allows the downloads of the client.
func TestManagerConnectCDP(t *testing.T) {
	ext, cdp := pair()
	inExtension, inCDP := errors.New("extension"), errors.New("cdp")
	both := executor.ManagerOptions{Extension: &cdpBackend{ext, inExtension}, CDP: &cdpBackend{cdp, inCDP}}
	prefer := both
	prefer.Prefer = executor.BackendCDP
	without := both
	without.Extension = ext
	for _, tt := range []struct {
		name      string
		opts      executor.ManagerOptions
		connected bool
		want      error
	}{
		{"extension", both, true, inExtension},
		{"no extension is connected", both, false, inCDP},
		{"prefer cdp", prefer, true, inCDP},
		{"backend without CDP clients", without, true, executor.ErrBadArgs},
		{"no backend", executor.ManagerOptions{}, false, executor.ErrNoBackend},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ext.connected.Store(tt.connected)
			before := len(cdp.opened())
			m := executor.NewManager(&tt.opts)
			if _, err := m.ConnectCDP(t.Context(), &executor.CDPOptions{Name: "client"}); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if n := len(cdp.opened()) - before; (n == 1) != (tt.want == inCDP) {
				t.Errorf("%d sessions were opened", n)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			if _, err := m.ConnectCDP(t.Context(), nil); !errors.Is(err, executor.ErrNoBackend) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}
