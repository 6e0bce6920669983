//go:build unix

package transcript

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestDiskFull sets a limit on the size of files, as on a full disk: what is not stored remains in memory,
// chats can be deleted, and then the rest is stored. The limit applies to the process, so the test
// starts a separate one.
func TestDiskFull(t *testing.T) {
	const inner = "TRANSCRIPT_TEST_DISK_FULL"
	if os.Getenv(inner) == "" {
		ran := filepath.Join(t.TempDir(), "ran")
		cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
		cmd.Env = append(os.Environ(), inner+"="+ran)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(ran); err != nil {
			t.Fatalf("the inner test did not run: %v", err)
		}
		return
	}
	check(t, os.WriteFile(os.Getenv(inner), nil, 0o600))
	path := dbPath(t)
	s := open(t, path)
	check(t, s.Create(Chat{ID: "long"}))
	for i := range int64(2000) {
		check(t, s.Put("long", text(i+1, strings.Repeat("x", 10_000))))
	}
	check(t, s.Create(Chat{ID: "kept"}))
	check(t, s.flush())
	var used int64
	check(t, s.view(func(tx *bolt.Tx) error { used = tx.Size(); return nil }))
	notified := make(chan error, 8)
	s.Notify(func(err error) { notified <- err })
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(used), Max: uint64(used)}); err != nil {
		t.Fatal(err)
	}

	check(t, s.Put("kept", text(1, strings.Repeat("y", MaxText))))
	if err := <-notified; !errors.Is(err, ErrNotStored) {
		t.Fatalf("the store reports %v", err)
	}
	if err := s.Put("kept", text(2, "in memory")); !errors.Is(err, ErrNotStored) {
		t.Errorf("storing: %v", err)
	}
	if err := s.Update("kept", func(c *Chat) { c.Title = "Kept" }); !errors.Is(err, ErrNotStored) {
		t.Errorf("updating: %v", err)
	}
	if err := s.Create(Chat{ID: "new"}); !errors.Is(err, ErrNotStored) {
		t.Errorf("creating: %v", err)
	}
	for i := range int64(maxPending/MaxText + 4) {
		if err := s.Put("new", text(i+1, strings.Repeat("z", MaxText))); !errors.Is(err, ErrNotStored) {
			t.Errorf("storing: %v", err)
		}
	}
	s.mu.Lock()
	if s.bytes > maxPending {
		t.Errorf("%d bytes wait", s.bytes)
	}
	s.mu.Unlock()
	if got, _, err := s.Entries("kept", 0, 0); err != nil || len(got) != 2 || got[1].Text != "in memory" {
		t.Errorf("the chat has %d entries, %v", len(got), err)
	}

	if err := s.Delete("long"); err != nil {
		t.Fatalf("deleting: %v", err)
	}
	if err := <-notified; err != nil {
		t.Fatalf("after space was freed, the store reports %v", err)
	}
	check(t, s.Close())
	s = open(t, path)
	if c, err := s.Chat("kept"); err != nil || c.Title != "Kept" {
		t.Errorf("the chat is %v, %v", c, err)
	}
	if got, _, err := s.Entries("kept", 0, 0); err != nil || len(got) != 2 {
		t.Errorf("the chat has %d stored entries, %v", len(got), err)
	}
	if _, err := s.Chat("long"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the deleted chat: %v", err)
	}
}
