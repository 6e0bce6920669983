package compose

import (
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// OpenAudit opens the log of --audit-log, or takes it from logs unless they are nil, and returns it
// with a function that closes it. A log that is not writable is a usage error: the user wants a
// record and would not get one.
func OpenAudit(s *cli.Settings, logs *AuditLogs, log *slog.Logger) (audit.Recorder, func(), error) {
	if s.AuditLog == "" {
		return nil, func() {}, nil
	}
	var record *audit.Log
	var err error
	release := func() {}
	if logs != nil {
		record, err = logs.logAt(s.AuditLog)
	} else if record, err = audit.Open(s.AuditLog, &audit.Options{Logger: log}); err == nil {
		release = func() { closeAudit(record, log) }
	}
	if err != nil {
		return nil, nil, cli.Usagef("Name a file that you own, or a new file in an existing directory that you own.",
			"%s: %w", s.NameOf("audit-log"), err)
	}
	return record, release, nil
}

func closeAudit(record *audit.Log, log *slog.Logger) {
	if err := record.Close(); err != nil {
		log.Error("audit log is incomplete", "error", err)
	}
}

// AuditLogs are the audit logs of the sessions of a server. Each file is opened once: its repeated
// entries are counted together, and only one Log rotates it.
type AuditLogs struct {
	log *slog.Logger

	mu  sync.Mutex            // guards all
	all map[string]*audit.Log // by path
}

// NewAuditLogs returns the logs of a server, which are not open yet.
func NewAuditLogs(log *slog.Logger) *AuditLogs {
	return &AuditLogs{log: log, all: map[string]*audit.Log{}}
}

// logAt returns the log in the file at path, and opens it if necessary. It returns an error if it is not
// writable.
func (l *AuditLogs) logAt(path string) (*audit.Log, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if record := l.all[path]; record != nil {
		if err := audit.Check(path); err != nil {
			return nil, err
		}
		return record, record.Ready()
	}
	record, err := audit.Open(path, &audit.Options{Logger: l.log})
	if err != nil {
		return nil, err
	}
	l.all[path] = record
	return record, nil
}

// Close closes all logs.
func (l *AuditLogs) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range l.all {
		closeAudit(record, l.log)
	}
}

// A namedRecorder adds the session of a server and its principal to each entry.
type namedRecorder struct {
	audit.Recorder
	name, principal string
}

// Record implements audit.Recorder.
func (r namedRecorder) Record(e audit.Entry) {
	e.Name, e.Principal = r.name, r.principal
	r.Recorder.Record(e)
}

// A maskedRecorder masks secrets in the entries of an audit log.
type maskedRecorder struct {
	audit.Recorder
	mask func(string) string
}

// Record implements audit.Recorder.
func (r maskedRecorder) Record(e audit.Entry) {
	for _, text := range []*string{&e.Client, &e.Origin, &e.Rule, &e.Tab, &e.Detail} {
		*text = r.mask(*text)
	}
	r.Recorder.Record(e)
}
