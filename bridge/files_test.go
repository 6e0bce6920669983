package bridge

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

func TestHandshakeFile(t *testing.T) {
	s, dir, _ := start(t)
	r := record(t, s, dir)
	if r.V != 1 || r.Port != s.Port() || r.PID != os.Getpid() || r.Name != "a test" || r.ExtensionID != ourID {
		t.Errorf("record %+v", r)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{
			".": 0o700, "handshakes": 0o700, filepath.Base(publishedPath(s)): 0o600,
		} {
			path := filepath.Join(dir, name)
			if want == 0o600 {
				path = publishedPath(s)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
	}
	path := publishedPath(s)
	s.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the handshake file still exists: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

// TestRejectsPlantedFiles checks that a link with the name of a private file is replaced and not
// followed, and that a file that others can read is rejected.
func TestRejectsPlantedFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes, and links need a privilege")
	}
	dir := t.TempDir()
	f, err := openDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := f.pairingsPath()
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.pairings(); err == nil {
		t.Error("pairings are read through a link")
	}
	if _, err := owneronly.WriteFile(path, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(victim); string(data) != "mine" {
		t.Error("the link was followed")
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readPrivate(path); err == nil || !strings.Contains(err.Error(), "read by others") {
		t.Errorf("reading a file that others can read: %v", err)
	}
}

func TestPrivateDirs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	wide := t.TempDir()
	os.Chmod(wide, 0o777)
	if _, err := openDataDir(wide); err == nil || !strings.Contains(err.Error(), "written to by others") {
		t.Errorf("a directory that everyone can write to: %v", err)
	}
	readable := t.TempDir()
	os.Chmod(readable, 0o755)
	os.Mkdir(filepath.Join(readable, "handshakes"), 0o755)
	if _, err := openDataDir(readable); err != nil {
		t.Error(err)
	}
	if info, _ := os.Stat(filepath.Join(readable, "handshakes")); info.Mode().Perm() != 0o700 {
		t.Errorf("handshakes has mode %v", info.Mode())
	}
	linked := t.TempDir()
	os.Symlink(t.TempDir(), filepath.Join(linked, "handshakes"))
	if _, err := openDataDir(linked); err == nil {
		t.Error("handshakes was accepted as a link")
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	for _, path := range []string{"", file} {
		if _, err := openDataDir(path); err == nil {
			t.Errorf("%q was accepted", path)
		}
	}
}

// TestDeletedHandshakeFileClosesConnections checks that connections close, and that no extension
// can connect until Rotate.
func TestDeletedHandshakeFileClosesConnections(t *testing.T) {
	s, dir, log := start(t)
	key := token(t, s, dir)
	c := connect(t, s, "a", wire.KeyToken, key)
	conn := waitConn(t, s, "a")
	if n, err := Stop(dir); n != 1 || err != nil {
		t.Fatalf("Stop: %d, %v", n, err)
	}
	await.Receive(t, "end of the connection", conn.Done())
	c.wantClosed(wire.CloseStopped)
	if e, ok := errors.AsType[*errs.Error](conn.Err()); !ok || e.Retryable || !errors.Is(e, ErrStoppedByUser) || !strings.Contains(e.Hint, "restarts") {
		t.Errorf("the connection ended with %+v", conn.Err())
	}
	again := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "a", kind: wire.KeyToken, key: key}
	hello, _ := again.hello()
	again.send(hello)
	wantContains(t, again.wantRejected(wire.ReasonNotPaired).Message, "was stopped")
	wantContains(t, log.String(), "the handshake file was removed")
	if err := s.Err(); errs.CodeOf(err) != errs.ErrNoBackend || !strings.Contains(err.Error(), "chrome-mcp stop") {
		t.Errorf("Err returns %v", err)
	}
	if n, err := Stop(dir); n != 0 || err != nil {
		t.Errorf("Stop again: %d, %v", n, err)
	}
	if err := s.Rotate(); err != nil {
		t.Fatal(err)
	}
	connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	if err := s.Err(); err != nil {
		t.Errorf("Err after Rotate: %v", err)
	}
	s.Close()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Err returns %v", err)
	}
}

// TestReplacedFile checks that connections close when another file replaces the handshake file.
func TestReplacedFile(t *testing.T) {
	s, dir, _ := start(t)
	connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	conn := waitConn(t, s, "a")
	if _, err := owneronly.WriteFile(publishedPath(s), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "end of the connection", conn.Done())
}

func TestRotate(t *testing.T) {
	s, dir, _ := start(t)
	old := token(t, s, dir)
	connect(t, s, "a", wire.KeyToken, old)
	conn := waitConn(t, s, "a")
	if err := s.Rotate(); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "end of the connection", conn.Done())
	if string(token(t, s, dir)) == string(old) {
		t.Error("the token is the same")
	}
	c := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "a", kind: wire.KeyToken, key: token(t, s, dir)}
	c.challenge()
	c.send(&wire.Proof{MAC: c.tr.ClientMAC(old)})
	c.wantRejected(wire.ReasonBadProof)
}

// TestLive checks that only running servers are listed: their process exists and has the start time
// in the file.
func TestLive(t *testing.T) {
	s, dir, _ := start(t)
	r := record(t, s, dir)
	f := &dataDirectory{dir}
	plant := func(change func(*handshakeRecord)) string {
		copied := r
		change(&copied)
		data, _ := json.Marshal(copied)
		path := f.recordPath(copied)
		if _, err := owneronly.WriteFile(path, data); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := plant(func(r *handshakeRecord) { r.PID = 1 << 30 })
	reused := plant(func(r *handshakeRecord) {
		r.Started -= 60_000
		r.Port = 1
		if r.Process != "" {
			r.Process += "0"
		}
	})
	future := plant(func(r *handshakeRecord) { r.V = 2; r.Port = 2 })
	junk := filepath.Join(dir, "handshakes", "junk.json")
	os.WriteFile(junk, []byte("{"), 0o600)

	live := RunningServers(dir)
	if len(live) != 1 || live[0].Port != s.Port() || live[0].Name != "a test" || live[0].Started.UnixMilli() != r.Started {
		t.Errorf("running servers %+v", live)
	}
	f.sweep()
	for path, want := range map[string]bool{dead: false, reused: false, future: true, publishedPath(s): true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s exists: %v", filepath.Base(path), err == nil)
		}
	}
	if got := RunningServers(filepath.Join(dir, "missing")); got != nil {
		t.Errorf("in a directory that does not exist: %v", got)
	}
}
