// Package auditcmd is the command audit, which prints an audit log and follows it.
package auditcmd

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
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

const (
	// auditTail is the number of existing entries that --follow prints first.
	auditTail = 10
	// auditPoll is the interval at which --follow polls for new entries.
	auditPoll = 200 * time.Millisecond
)

// Command returns the command audit.
func Command(s *cli.Settings) *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use:   "audit [FILE] [--follow] [--json]",
		Short: "print the audit log",
		Long: `Prints what agents did and what the policy denied, one line per entry, from the
file of --audit-log or from FILE. With --follow it prints the last entries, and new
ones as they arrive, until interrupted. With --json it prints the lines as they are
in the file.`,
		Args:              s.MaxArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, files []string) error {
			return printAudit(cmd.Context(), cmp.Or(strings.Join(files, ""), s.AuditLog), follow, s.JSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "with audit: follow the log")
	s.AddJSONFlag(cmd)
	return cmd
}

// printAudit prints the audit log in a file, until ctx is done if it follows the log.
func printAudit(ctx context.Context, path string, follow, asJSON bool, stdout io.Writer) error {
	if path == "" {
		return cli.Usagef("Start the server with --audit-log FILE, and print it with chrome-mcp audit FILE.", "no audit log given")
	}
	r := auditReader{path: path}
	defer r.close()
	if err := r.open(path); errors.Is(err, fs.ErrNotExist) && !follow {
		return fmt.Errorf("audit log %s does not exist", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("audit log: %w", err)
	}
	print := printEntry
	if asJSON {
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
	if !follow {
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
		_, err := fmt.Fprintf(w, "(not an entry: %s)\n", cli.Printable(string(line[:min(len(line), 60)])))
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
			rest = append(rest, cli.Printable(fmt.Sprintf(format, v)))
		}
	}
	add("%s", e.Origin, e.Origin != "")
	add("%s", e.Tab, e.Tab != "")
	add("%s", e.Rule, e.Rule != "")
	add("%d ms", e.DurationMS, e.Event == audit.EventCall)
	add("%s", "acted before it failed", e.Acted && e.Code != "OK")
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
	_, err := fmt.Fprintf(w, "%s  %-16s %-13s  %s\n", e.Time.Local().Format(time.DateTime), cli.Printable(what), cli.Printable(outcome), strings.Join(rest, "  "))
	return err
}
