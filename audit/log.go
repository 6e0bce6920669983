package audit

import (
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
	DefaultMaxBytes = 10 << 20
	DefaultKeep     = 9
)

// Options are the options of [Open].
type Options struct {
	// MaxBytes is the size at which the file is put aside and a new one begun.
	// Default DefaultMaxBytes.
	MaxBytes int64
	// Keep is how many files that were put aside are kept. Default
	// DefaultKeep.
	Keep int
	// Logger is told, once each time, when the log cannot be written and when
	// it can be again. Nil discards.
	Logger *slog.Logger
}

// maxWaiting bounds the entries that wait in memory while the log cannot be
// written: calls that read go on then.
const maxWaiting = 1000

// A Log writes entries to a file. Several processes may write to one file at
// the same time. Its methods are safe for concurrent use.
//
// An entry is handed to the system when Record returns, and not synced to the
// disk: the death of the process loses none, that of the machine may lose the
// last.
type Log struct {
	file file
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex // guards what follows
	folded  folded
	waiting [][]byte // lines that could not be written yet
	lost    int      // entries for which there was no room in waiting
	failing error    // why the last line could not be written; nil when it was
	closed  bool
}

var _ Recorder = (*Log)(nil)

// Open opens the log in the file at path, which it makes with mode 0600 when
// it is not there. An existing one is appended to; it is refused when it is a
// symbolic link or no plain file, when it belongs to another user or others
// may read it, or when its folder is one in which others may replace it.
func Open(path string, opts *Options) (*Log, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
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

// line makes the line of an entry.
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

// Record writes an entry. Denials, downloads that pages began, calls of
// chrome_status and calls that failed before they acted are folded: the first of
// a kind is written at once, the others are counted, and the count is written once a minute. The
// kind of a call is all of its entry but the hash of its arguments, and of one
// that was refused for its arguments or for their number also but the tab and
// the origin that it names.
//
// An entry that cannot be written waits in memory, for the next Record or
// Ready to write it; of many the last thousand calls' worth is kept, and the
// rest counted.
func (l *Log) Record(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if folds(e) && !l.folded.first(e, l.unfold) {
		return
	}
	l.put(e)
}

// put writes an entry, or has it wait. l.mu must be held.
func (l *Log) put(e Entry) {
	line, err := l.line(e)
	if err != nil {
		return // nothing in an Entry can fail to be marshalled
	}
	if len(l.waiting) >= maxWaiting {
		l.lost++
	} else {
		l.waiting = append(l.waiting, line)
	}
	_ = l.flush() // it tells the log
}

// flush writes what waits. l.mu must be held.
func (l *Log) flush() error {
	for len(l.waiting) > 0 {
		if err := l.file.append(l.waiting[0]); err != nil {
			if l.failing == nil {
				l.log.Error("the audit log cannot be written: calls that act are refused until it can", "file", l.file.path, "error", err)
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
	l.log.Warn("the audit log can be written again", "file", l.file.path, "lost", l.lost)
	l.failing = nil
	if n := l.lost; n > 0 {
		l.lost = 0
		l.put(Entry{Event: EventLost, Count: n})
	}
	return l.failing
}

// Ready returns nil when the last entry was written, or those that wait can be
// written now.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the audit log is closed")
	}
	return l.flush()
}

// unfold writes the entries that were counted.
func (l *Log) unfold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, e := range l.folded.take() {
		l.put(e)
	}
}

// Close writes what was counted or waits. Later entries are dropped. It
// returns why something could not be written.
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
		return fmt.Errorf("audit log %s: %d entries could not be written: %w", l.file.path, len(l.waiting)+l.lost, l.failing)
	}
	return nil
}
