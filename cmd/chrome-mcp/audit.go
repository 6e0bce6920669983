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
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// openAudit opens the log of --audit-log. One that cannot be written is a
// mistake in the flags: somebody asked for a record and would have none.
func (s *settings) openAudit(log *slog.Logger) (audit.Recorder, func(), error) {
	if s.auditLog == "" {
		return nil, func() {}, nil
	}
	record, err := audit.Open(s.auditLog, &audit.Options{Logger: log})
	if err != nil {
		return nil, nil, usagef("Name a file of your own, which need not be there, in a folder of your own, which must.", "%s: %w", s.named("audit-log"), err)
	}
	return record, func() {
		if err := record.Close(); err != nil {
			log.Error("the audit log is not complete", "error", err)
		}
	}, nil
}

const (
	// auditTail is how many entries there were before, that --follow begins
	// with.
	auditTail = 10
	// auditPoll is how often --follow looks for new ones.
	auditPoll = 200 * time.Millisecond
)

// auditCommand prints an audit log.
func auditCommand(ctx context.Context, s *settings, stdout io.Writer) error {
	path := s.auditLog
	switch {
	case len(s.command) > 2:
		return usagef("Name one file.", "unexpected argument %q", s.command[2])
	case len(s.command) == 2:
		path = s.command[1]
	case path == "":
		return usagef("Give the server --audit-log FILE, and name that file here: chrome-mcp audit FILE.", "no audit log is named")
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
	if !s.follow {
		for line := range r.lines {
			if err := print(stdout, line); err != nil {
				return err
			}
		}
		return r.err
	}
	var last [][]byte
	for line := range r.lines {
		if last = append(last, line); len(last) > auditTail {
			last = last[1:]
		}
	}
	for _, line := range last {
		if err := print(stdout, line); err != nil {
			return err
		}
	}
	for r.err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(auditPoll):
		}
		for line := range r.news {
			if err := print(stdout, line); err != nil {
				return err
			}
		}
	}
	return r.err
}

// An auditReader reads the lines of an audit log, from one file into the next
// when it is put aside.
type auditReader struct {
	path string
	f    *os.File // nil when there is none yet
	in   *bufio.Reader
	part []byte // of a line that is not whole yet
	old  bool   // f was put aside; what is written to it at that moment is waited for once more
	err  error
}

func (r *auditReader) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	r.close()
	r.f, r.in, r.part, r.old = f, bufio.NewReader(f), nil, false
	return nil
}

func (r *auditReader) close() {
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
}

// lines yields the whole lines that are there now.
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

// news yields the lines that came, from the files that followed too.
func (r *auditReader) news(yield func([]byte) bool) {
	going := true
	for line := range r.lines {
		if going = yield(line); !going {
			return
		}
	}
	if r.f != nil {
		mine, err := r.f.Stat()
		current, gone := os.Stat(r.path)
		switch {
		case err == nil && gone == nil && os.SameFile(mine, current):
			return
		case !r.old:
			r.old = true
			return
		}
	}
	for _, path := range r.next() {
		if r.open(path) != nil {
			continue // it was put aside, or deleted, meanwhile
		}
		for line := range r.lines {
			if !yield(line) {
				return
			}
		}
	}
}

// next lists the files that came after the one that was read.
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
	return files[i+1:] // all of them when it is gone
}

// printEntry prints a line of an audit log for people.
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
	add("%d ms", e.Millis, e.Event == audit.EventCall)
	add("%s", "acted before it failed", e.Acted)
	add("%d bytes", e.Bytes, e.Bytes > 0)
	add("%d parts withheld", e.Withheld, e.Withheld > 0)
	add("%d more", e.Count, e.Count > 0)
	add("%s", e.Detail, e.Detail != "")
	add("%s", e.Backend, e.Backend != "" && e.Tab == "")
	add("args %s", e.Args, e.Args != "")
	add("[%s]", strings.TrimSpace(e.Client+" "+e.Session), e.Session != "")
	_, err := fmt.Fprintf(w, "%s  %-16s %-13s  %s\n", e.Time.Local().Format(time.DateTime), printable(what), printable(outcome), strings.Join(rest, "  "))
	return err
}

// printable replaces what a terminal would obey or not show: names of clients
// and hosts are others' choice.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			return '\ufffd'
		}
		return r
	}, s)
}
