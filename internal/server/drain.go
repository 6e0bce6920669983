package server

import "context"

// begin counts a request until its handler calls h.running.Done. It reports false while the server
// stops.
func (h *HTTPListener) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.draining {
		h.running.Add(1)
	}
	return !h.draining
}

// stop removes the files of the listener and rejects new requests. The listener stays open until
// shutdown, so that a load balancer gets answers while running requests end.
func (h *HTTPListener) stop() {
	h.removeFiles()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// shutdown waits after stop until the running requests have ended or ctx is done, and closes the
// listener and all connections.
func (h *HTTPListener) shutdown(ctx context.Context) {
	idle := make(chan struct{})
	go func() {
		h.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	shutdown(ctx, h.web)
}
