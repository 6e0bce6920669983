package compose

import (
	"io"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

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
type idleTrimmer struct {
	in    io.Reader
	out   io.Writer
	timer *time.Timer
}

// newIdleTrimmer returns a trimmer whose Read and Write are the server's input and output.
func newIdleTrimmer(in io.Reader, out io.Writer) *idleTrimmer {
	return &idleTrimmer{in, out, time.AfterFunc(idleDelay, releaseMemory)}
}

// Close stops the trimmer.
func (t *idleTrimmer) Close() { t.timer.Stop() }

func (t *idleTrimmer) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	if err == nil {
		t.timer.Reset(idleDelay)
	}
	return n, err
}

func (t *idleTrimmer) Write(p []byte) (int, error) {
	t.timer.Reset(idleDelay)
	return t.out.Write(p)
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
