package main

import (
	"io"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// tuneMemory reduces the memory use of the process. The process is idle nearly all the time, and
// most of what it allocates are short-lived results. More frequent collections cost little, and an
// MCP host may run many servers at the same time.
func tuneMemory() {
	debug.SetGCPercent(50)
}

const (
	// idleDelay is the time without messages after which memory is released. It is longer than an
	// agent usually pauses between two calls.
	idleDelay = 5 * time.Second
	// idleMemoryTarget is the memory use, in bytes, up to which no memory is released.
	idleMemoryTarget = 16 << 20
)

// An idleTrimmer observes the messages between client and server, and returns memory to the
// operating system when there was none for idleDelay. Without it, the runtime keeps the garbage of
// a large result for minutes while the process is idle.
type idleTrimmer struct{ timer *time.Timer }

func newIdleTrimmer() *idleTrimmer {
	return &idleTrimmer{time.AfterFunc(idleDelay, releaseMemory)}
}

// Close stops the trimmer.
func (q *idleTrimmer) Close() { q.timer.Stop() }

// reader and writer wrap the server's input and output.
func (q *idleTrimmer) reader(r io.Reader) io.Reader { return trimmerReader{r, q} }
func (q *idleTrimmer) writer(w io.Writer) io.Writer { return trimmerWriter{w, q} }

type trimmerReader struct {
	io.Reader
	q *idleTrimmer
}

func (r trimmerReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil {
		r.q.timer.Reset(idleDelay)
	}
	return n, err
}

type trimmerWriter struct {
	io.Writer
	q *idleTrimmer
}

func (w trimmerWriter) Write(p []byte) (int, error) {
	w.q.timer.Reset(idleDelay)
	return w.Writer.Write(p)
}

// releaseMemory collects garbage and returns free memory to the operating system if the process
// uses more than idleMemoryTarget.
func releaseMemory() {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	if s[0].Value.Uint64()-s[1].Value.Uint64() > idleMemoryTarget {
		debug.FreeOSMemory()
	}
}
