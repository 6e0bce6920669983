package auditcmd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// TestAuditFollow follows a log that is rotated many times. Each entry is printed once, in order.
func TestAuditFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { // starts before the log exists
		ended <- printAudit(ctx, path, true, true, w)
		w.Close()
	}()
	log, err := audit.Open(path, &audit.Options{MaxBytes: 2 << 10, Keep: 1000})
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	out := bufio.NewScanner(r)
	next := func(want string) {
		t.Helper()
		if !out.Scan() || !strings.Contains(out.Text(), want) {
			t.Fatalf("got %q, want %s", out.Text(), want)
		}
	}
	next(`"start"`)
	for i := range n {
		log.Record(audit.Entry{Event: audit.EventCall, Detail: fmt.Sprint("number ", i, ".")})
	}
	for i := range n {
		next(fmt.Sprint("number ", i, "."))
	}
	if files := len(audit.Files(path)); files < 10 {
		t.Errorf("only %d files", files)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	next(`"end"`)
	cancel()
	if out.Scan() {
		t.Errorf("more: %s", out.Text())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAuditTail checks that --follow prints only the last of the existing entries.
func TestAuditTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		log.Record(audit.Entry{Event: audit.EventCall, Tool: fmt.Sprint("t", i)})
	}
	log.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b bytes.Buffer
	if err := printAudit(ctx, path, true, false, &b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != auditTail || !strings.Contains(lines[0], " t41 ") {
		t.Errorf("%d lines:\n%s", len(lines), &b)
	}
}
