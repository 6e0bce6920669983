package main

import (
	"io"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// tuneMemory keeps the process small. It waits for its client and its browser
// nearly all the time, and what it allocates is results that are soon
// garbage: collecting sooner costs little, and an MCP host may run many
// servers at once.
func tuneMemory() {
	debug.SetGCPercent(50)
}

const (
	// quietTime is how long nobody has to say anything until memory is given
	// back: longer than an agent thinks between two calls of a row.
	quietTime = 5 * time.Second
	// restingMemory is what the process may keep for itself, in bytes.
	restingMemory = 16 << 20
)

// A quietLine sees the lines between client and server, and gives memory back
// to the system when they have been quiet for a while. The runtime by itself
// lets the garbage of a large result lie for minutes when nothing is asked for.
type quietLine struct{ timer *time.Timer }

func newQuietLine() *quietLine {
	return &quietLine{time.AfterFunc(quietTime, giveMemoryBack)}
}

// Close ends it.
func (q *quietLine) Close() { q.timer.Stop() }

// reader and writer return what to read and write by.
func (q *quietLine) reader(r io.Reader) io.Reader { return quietReader{r, q} }
func (q *quietLine) writer(w io.Writer) io.Writer { return quietWriter{w, q} }

type quietReader struct {
	io.Reader
	q *quietLine
}

func (r quietReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil {
		r.q.timer.Reset(quietTime)
	}
	return n, err
}

type quietWriter struct {
	io.Writer
	q *quietLine
}

func (w quietWriter) Write(p []byte) (int, error) {
	w.q.timer.Reset(quietTime)
	return w.Writer.Write(p)
}

// giveMemoryBack collects garbage and gives what is free to the system, where
// that is worth it.
func giveMemoryBack() {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	if s[0].Value.Uint64()-s[1].Value.Uint64() > restingMemory {
		debug.FreeOSMemory()
	}
}
