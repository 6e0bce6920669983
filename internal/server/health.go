package server

import (
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
func (h *HTTPListener) readyz(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	draining := h.draining
	h.mu.Unlock()
	if draining {
		failWith(w, http.StatusServiceUnavailable, errStopping())
		return
	}
	healthz(w, r)
}
