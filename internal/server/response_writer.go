package server

import (
	"net/http"
	"sync/atomic"
	"time"
)

// writeTimeout is the time in which a client must receive one part of a response. A response
// that is a stream can last longer.
const writeTimeout = 30 * time.Second

// A boundedWriter disconnects a client that does not read the response. It records the status.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	reserve func(n int64) error // counts the bytes that are being written; may be nil
	refused atomic.Bool         // reserve returned an error, so the response is not complete
	status  int                 // 0 before the header was written
}

func newBoundedWriter(w http.ResponseWriter, timeout time.Duration) *boundedWriter {
	return &boundedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
}

// Unwrap is for http.ResponseController.
func (w *boundedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *boundedWriter) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *boundedWriter) Write(p []byte) (n int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.reserve != nil {
		if err := w.reserve(int64(len(p))); err != nil {
			w.refused.Store(true)
			return 0, err
		}
		defer w.reserve(-int64(len(p)))
	}
	err = w.bounded(func() error {
		n, err = w.ResponseWriter.Write(p)
		return err
	})
	return n, err
}

// FlushError is for http.ResponseController.
func (w *boundedWriter) FlushError() error { return w.bounded(w.control.Flush) }

// Flush implements http.Flusher.
func (w *boundedWriter) Flush() { w.FlushError() }

// bounded runs do with a deadline for its writes. With HTTP/2, a deadline that passes between
// writes would end the stream.
func (w *boundedWriter) bounded(do func() error) error {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = w.control.SetWriteDeadline(time.Time{})
	}
	return err
}
