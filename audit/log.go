package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// The defaults of [Options].
const (
	DefaultMaxBytes = 10 << 20 // bytes
	DefaultKeep     = 9        // rotated files
)

// Options are the options of [Open].
type Options struct {
	// MaxBytes is the size at which the file is rotated. 0 means DefaultMaxBytes.
	MaxBytes int64
	// Keep is the number of rotated files that are kept. 0 means DefaultKeep.
	Keep int
	// Logger receives one message when the log becomes unwritable, and one when it is writable
	// again. Nil disables logging.
	Logger *slog.Logger
}

// maxWaiting is the maximum number of entries that wait in memory while the log is not writable.
// Calls that read continue during that time.
const maxWaiting = 1000

// A Log writes entries to a file. Several processes may write to one file at the same time. Its
// methods are safe for concurrent use.
//
// When Record returns, the entry has been written to the operating system but not synced to the
// disk. No written entry is lost if the process is killed; the last entries may be lost if the
// machine crashes.
type Log struct {
	file file
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex // guards the fields below
	folded  denialCounter
	waiting [][]byte // lines that are not yet written
	dropped int      // number of entries that did not fit into waiting
	failing error    // error of the last write, or nil
	closed  bool
}

var _ Recorder = (*Log)(nil)

// Open opens the log in the file at path, and appends to it. It creates the file with mode 0600 if
// it does not exist. Open returns an error if the file is a symbolic link or not a regular file, if
// it has more than one hard link, if it belongs to another user or others can read it, or if others
// can replace it in its directory. Nil opts mean the defaults.
func Open(path string, opts *Options) (*Log, error) {
	o := *cmp.Or(opts, new(Options))
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l := &Log{file: file{path: path, max: o.MaxBytes, keep: o.Keep}, log: o.Logger, now: time.Now}
	line, err := l.line(Entry{Event: EventStart})
	if err == nil {
		err = l.file.append(line)
	}
	if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", path, err)
	}
	return l, nil
}

// line returns the line for an entry.
func (l *Log) line(e Entry) ([]byte, error) {
	if e.Time.IsZero() {
		e.Time = l.now()
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	if e.PID == 0 {
		e.PID = os.Getpid()
	}
	line, err := json.Marshal(e)
	return append(line, '\n'), err
}

// Record writes an entry. It folds denials, downloads that pages started, starts and ends of sessions,
// calls that failed before they acted, and successful calls without a decision that neither acted nor
// saved a file: it writes the first entry of a kind immediately, counts the others, and writes the
// counts once a minute. The kind of an entry is the entry without time, process id, duration, byte
// count and argument hash. For calls that failed with BAD_ARGS or BACKPRESSURE, it is also without tab
// and origin; for starts and ends of sessions, without Session.
// The number of kinds within a minute is limited, for each principal; entries of further kinds are
// counted together.
//
// An entry that cannot be written waits in memory until the next Record or Ready. At most 1,000
// entries wait; further entries are dropped and counted.
func (l *Log) Record(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if folds(e) && !l.folded.first(e, l.flushCounts) {
		return
	}
	l.put(e)
}

// put writes an entry, or queues it if the log is not writable. l.mu must be held.
func (l *Log) put(e Entry) {
	line, err := l.line(e)
	if err != nil {
		return // unreachable: every Entry can be marshaled
	}
	if len(l.waiting) >= maxWaiting {
		l.dropped++
	} else {
		l.waiting = append(l.waiting, line)
	}
	_ = l.flush() // it logs its error
}

// flush writes the waiting entries. l.mu must be held.
func (l *Log) flush() error {
	for len(l.waiting) > 0 {
		if err := l.file.append(l.waiting[0]); err != nil {
			if l.failing == nil {
				l.log.Error("audit log is not writable; denying calls that act", "file", l.file.path, "error", err)
			}
			l.failing = err
			return err
		}
		l.waiting = l.waiting[1:]
	}
	l.waiting = nil
	if l.failing == nil {
		return nil
	}
	l.log.Warn("audit log is writable again", "file", l.file.path, "dropped", l.dropped)
	l.failing = nil
	if n := l.dropped; n > 0 {
		l.dropped = 0
		l.put(Entry{Event: EventDropped, Count: n})
	}
	return l.failing
}

// Ready writes the waiting entries. It returns nil if no entry is waiting afterwards and the log is
// open.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the audit log is closed")
	}
	return l.flush()
}

// flushCounts writes the counted entries.
func (l *Log) flushCounts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, e := range l.folded.take() {
		l.put(e)
	}
}

// Close writes the counted and waiting entries and closes the log. It returns an error if entries
// could not be written. Entries that are recorded later are dropped.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	for _, e := range l.folded.take() {
		l.put(e)
	}
	l.put(Entry{Event: EventEnd})
	l.closed = true
	if l.failing != nil {
		return fmt.Errorf("audit log %s: %d entries could not be written: %w", l.file.path, len(l.waiting)+l.dropped, l.failing)
	}
	return nil
}
