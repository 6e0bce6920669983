//go:build unix

package sidepanel

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDiskFull sets a limit on the size of files, as on a full disk: chats continue, each has a notice that
// it is not stored, and they can be deleted. The limit applies to the process, so the test starts a
// separate one.
func TestDiskFull(t *testing.T) {
	const inner = "SIDEPANEL_TEST_DISK_FULL"
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
	if err := os.WriteFile(os.Getenv(inner), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := newData(t, map[string][]string{"a": nil})
	p := start(t, data)
	long := p.open("a")
	for range 8 { // more than what the file has free
		p.Call("prompt", map[string]any{"chat": long, "text": "long 250000"})
	}
	p.stop() // writes everything
	info, err := os.Stat(filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	size := uint64(info.Size())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
		t.Fatal(err)
	}

	p = start(t, data)
	notice := func(chat, text string) {
		t.Helper()
		p.until("entry", chat, func(e map[string]any) bool {
			entry := e["entry"].(map[string]any)
			return entry["kind"] == "notice" && strings.Contains(entry["text"].(string), text)
		})
	}
	chat := p.open("a")
	for range 8 {
		p.Call("prompt", map[string]any{"chat": chat, "text": "long 250000"})
	}
	const unstored = "the chats are not stored"
	notice(chat, unstored)
	second := p.open("a")
	notice(second, unstored)
	if result := p.Call("prompt", map[string]any{"chat": second, "text": "say hello"}); result["stop"] != "end_turn" {
		t.Errorf("a turn that is not stored ended with %v", result)
	}
	if text := p.texts(second); !strings.Contains(text, "hello") {
		t.Errorf("the transcript is %s", text)
	}
	p.Fails("INTERNAL", unstored, "rename", map[string]any{"chat": long, "title": "New"})
	p.Call("delete", map[string]any{"chat": chat}) // what it has not stored would use up what the other one frees
	p.Call("delete", map[string]any{"chat": long})
	notice(second, "stored again")
	p.Call("rename", map[string]any{"chat": second, "title": "Stored"})
	p.stop()
	p = start(t, data)
	if text := p.texts(second); !strings.Contains(text, "hello") {
		t.Errorf("the stored transcript is %s", text)
	}
	p.Fails("BAD_ARGS", "no such chat", "read", map[string]any{"chat": long, "limit": 1})
}
