package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// openAudit opens the log of --audit-log, or takes that of the server, and returns it with a function
// that closes it. A log that is not writable is a usage error: the user wants a record and would not
// get one.
func (s *settings) openAudit(log *slog.Logger) (audit.Recorder, func(), error) {
	if s.auditLog == "" {
		return nil, func() {}, nil
	}
	var record *audit.Log
	var err error
	release := func() {}
	if s.auditLogs != nil {
		record, err = s.auditLogs.open(s.auditLog)
	} else if record, err = audit.Open(s.auditLog, &audit.Options{Logger: log}); err == nil {
		release = func() { closeAudit(record, log) }
	}
	if err != nil {
		return nil, nil, usagef("Name a file that you own, or a new file in an existing directory that you own.", "%s: %w", s.nameOf("audit-log"), err)
	}
	return record, release, nil
}

func closeAudit(record *audit.Log, log *slog.Logger) {
	if err := record.Close(); err != nil {
		log.Error("audit log is incomplete", "error", err)
	}
}

// auditLogs are the audit logs of the sessions of a server. Each file is opened once: its repeated
// entries are counted together, and only one Log rotates it.
type auditLogs struct {
	log *slog.Logger

	mu  sync.Mutex            // guards all
	all map[string]*audit.Log // by path
}

// open returns the log in the file at path. It returns an error if it is not writable.
func (l *auditLogs) open(path string) (*audit.Log, error) {
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
	if l.all == nil {
		l.all = map[string]*audit.Log{}
	}
	l.all[path] = record
	return record, nil
}

// close closes all logs.
func (l *auditLogs) close() {
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

const (
	// auditTail is the number of existing entries that --follow prints first.
	auditTail = 10
	// auditPoll is the interval at which --follow polls for new entries.
	auditPoll = 200 * time.Millisecond
)

func auditCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit [FILE] [--follow] [--json]",
		Short: "print the audit log",
		Long: `Prints what agents did and what the policy denied, one line per entry, from the
file of --audit-log or from FILE. With --follow it prints the last entries, and new
ones as they arrive, until interrupted. With --json it prints the lines as they are
in the file.`,
		Args:              s.maxArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, files []string) error {
			return printAudit(cmd.Context(), s, cmp.Or(strings.Join(files, ""), s.auditLog), cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&s.follow, "follow", false, "with audit: follow the log")
	s.addJSONFlag(cmd)
	return cmd
}

// printAudit prints the audit log in a file.
func printAudit(ctx context.Context, s *settings, path string, stdout io.Writer) error {
	if path == "" {
		return usagef("Start the server with --audit-log FILE, and print it with chrome-mcp audit FILE.", "no audit log given")
	}
	r := auditReader{path: path}
	defer r.close()
	if err := r.open(path); errors.Is(err, fs.ErrNotExist) && !s.follow {
		return fmt.Errorf("audit log %s does not exist", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("audit log: %w", err)
	}
	print := printEntry
	if s.json {
		print = func(w io.Writer, line []byte) error {
			_, err := w.Write(append(line, '\n'))
			return err
		}
	}
	printAll := func(lines iter.Seq[[]byte]) error {
		for line := range lines {
			if err := print(stdout, line); err != nil {
				return err
			}
		}
		return r.err
	}
	if !s.follow {
		return printAll(r.lines)
	}
	var last [][]byte
	for line := range r.lines {
		last = append(last, line)
		last = last[max(0, len(last)-auditTail):]
	}
	err := printAll(slices.Values(last))
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(auditPoll):
		}
		err = printAll(r.readNew)
	}
	return err
}

// An auditReader reads the lines of an audit log and follows it across rotations.
type auditReader struct {
	path    string
	f       *os.File // nil if no file is open
	in      *bufio.Reader
	part    []byte // start of an incomplete line
	rotated bool   // f was rotated; read it once more, because an entry may just have been written to it
	err     error
}

func (r *auditReader) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	r.close()
	r.f, r.in, r.part, r.rotated = f, bufio.NewReader(f), nil, false
	return nil
}

func (r *auditReader) close() {
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
}

// lines yields the complete lines that the current file has now.
func (r *auditReader) lines(yield func([]byte) bool) {
	for r.f != nil {
		part, err := r.in.ReadBytes('\n')
		r.part = append(r.part, part...)
		if err != nil {
			if err != io.EOF {
				r.err = err
			}
			return
		}
		line := bytes.TrimSpace(r.part)
		r.part = nil
		if len(line) > 0 && !yield(bytes.Clone(line)) {
			return
		}
	}
}

// readNew yields the lines that were added since the last read, including those of newer files.
func (r *auditReader) readNew(yield func([]byte) bool) {
	for line := range r.lines {
		if !yield(line) {
			return
		}
	}
	if r.f != nil {
		mine, err := r.f.Stat()
		current, gone := os.Stat(r.path)
		switch {
		case err == nil && gone == nil && os.SameFile(mine, current):
			return
		case !r.rotated:
			r.rotated = true
			return
		}
	}
	for _, path := range r.next() {
		if r.open(path) != nil {
			continue // the file was rotated again, or deleted
		}
		for line := range r.lines {
			if !yield(line) {
				return
			}
		}
	}
}

// next lists the log files that are newer than the current one.
func (r *auditReader) next() []string {
	files := audit.Files(r.path)
	if r.f == nil {
		return files[max(0, len(files)-1):]
	}
	mine, err := r.f.Stat()
	if err != nil {
		return files
	}
	i := slices.IndexFunc(files, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(info, mine)
	})
	return files[i+1:] // all of them if the current file was deleted
}

// printEntry prints a line of an audit log in readable form.
func printEntry(w io.Writer, line []byte) error {
	var e audit.Entry
	if json.Unmarshal(line, &e) != nil || e.Event == "" {
		_, err := fmt.Fprintf(w, "(not an entry: %s)\n", printable(string(line[:min(len(line), 60)])))
		return err
	}
	what, outcome := e.Tool, e.Code
	switch e.Event {
	case audit.EventCall:
	case audit.EventDenied, audit.EventConsent:
		what = strings.TrimSpace(string(e.Event) + " " + e.Tool)
	default:
		what = string(e.Event)
	}
	if e.Event == audit.EventConsent || outcome == "" {
		outcome = cmp.Or(e.Decision, "-")
	}
	var rest []string
	add := func(format string, v any, there bool) {
		if there {
			rest = append(rest, printable(fmt.Sprintf(format, v)))
		}
	}
	add("%s", e.Origin, e.Origin != "")
	add("%s", e.Tab, e.Tab != "")
	add("%s", e.Rule, e.Rule != "")
	add("%d ms", e.DurationMS, e.Event == audit.EventCall)
	add("%s", "acted before it failed", e.Acted)
	add("%d bytes", e.Bytes, e.Bytes > 0)
	add("%d parts withheld", e.DeniedParts, e.DeniedParts > 0)
	add("%d more", e.Count, e.Count > 0)
	add("%s", e.Detail, e.Detail != "")
	add("%s", e.Backend, e.Backend != "" && e.Tab == "")
	add("args %s", e.Args, e.Args != "")
	name := e.Name
	if e.Principal != "" {
		name += "@" + e.Principal
	}
	who := strings.Join(strings.Fields(e.Client+" "+e.Session+" "+name), " ")
	add("[%s]", who, who != "")
	_, err := fmt.Fprintf(w, "%s  %-16s %-13s  %s\n", e.Time.Local().Format(time.DateTime), printable(what), printable(outcome), strings.Join(rest, "  "))
	return err
}

// printable replaces characters that a terminal would interpret or not show: clients choose their
// names, and pages choose host names.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			return '\ufffd'
		}
		return r
	}, s)
}
