package server

import (
	"context"
	"io"
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// healthz reports that the process runs.
func healthz(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		failWith(w, http.StatusMethodNotAllowed, errs.Errorf(errs.ErrBadArgs, "Use GET.", "method not allowed"))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "ok\n")
}

// readyz reports whether the server accepts calls.
func (f *Front) readyz(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	draining := f.draining
	f.mu.Unlock()
	if draining {
		failWith(w, http.StatusServiceUnavailable, errStopping())
		return
	}
	healthz(w, r)
}

// begin counts a request that runs, and reports false while the server stops.
func (f *Front) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return false
	}
	f.running++
	return true
}

func (f *Front) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running--; f.running == 0 && f.draining {
		close(f.idle)
	}
}

// stop removes the files of the front and rejects new requests. The listener stays open until shutdown, so
// that a load balancer gets answers while running requests end.
func (f *Front) stop() {
	f.removeFiles()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draining = true
	f.idle = make(chan struct{})
	if f.running == 0 {
		close(f.idle)
	}
}

// shutdown waits after stop until the running requests have ended or ctx is done, and closes the
// listener and all connections.
func (f *Front) shutdown(ctx context.Context) {
	select {
	case <-f.idle:
	case <-ctx.Done():
	}
	shutdown(ctx, f.web)
}
