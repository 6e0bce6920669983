package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// open opens a log that is closed at the end of the test.
func open(t *testing.T, path string, opts *Options) *Log {
	t.Helper()
	l, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// entries reads the log and its rotated files, oldest first.
func entries(t *testing.T, path string) []Entry {
	t.Helper()
	f := file{path: path}
	var list []Entry
	for _, name := range append(f.rotatedFiles(), path) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if len(line) == 1 {
				continue // an empty line, see endsMidLine
			}
			var e Entry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Errorf("%s: %q: %v", name, line, err)
			}
			list = append(list, e)
		}
	}
	return list
}

// events returns the events and counts of a list of entries.
func events(list []Entry) string {
	var names []string
	for _, e := range list {
		name := string(e.Event)
		if e.Count > 0 {
			name += fmt.Sprint("×", e.Count)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	start := time.Now().Truncate(time.Millisecond) // as the entries are
	for range 2 {                                  // the second log appends to the file
		l := open(t, path, nil)
		l.Record(Entry{Event: EventCall, Tool: "click", Code: "OK", Origin: "https://example.com", DurationMS: 12})
		if err := l.Ready(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		l.Record(Entry{Event: EventCall}) // dropped
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	list := entries(t, path)
	if got := events(list); got != "start call end start call end" {
		t.Errorf("events: %s", got)
	}
	if e := list[1]; e.PID != os.Getpid() || e.Time.Before(start) || e.Time.After(time.Now()) || e.Tool != "click" || e.DurationMS != 12 {
		t.Errorf("entry %+v", e)
	}
}

// TestSeveralWriters checks that no entry is lost, truncated or duplicated if several logs write to
// one file and rotate it concurrently.
func TestSeveralWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const logs, writers, each = 3, 2, 150
	var wg sync.WaitGroup
	for i := range logs {
		l := open(t, path, &Options{MaxBytes: 4 << 10, Keep: 1 << 20})
		for j := range writers {
			wg.Go(func() {
				for k := range each {
					l.Record(Entry{Event: EventCall, Detail: fmt.Sprint(i, j, k)})
				}
			})
		}
	}
	wg.Wait()
	seen := map[string]int{}
	for _, e := range entries(t, path) {
		if e.Event == EventCall {
			seen[e.Detail]++
		}
	}
	if len(seen) != logs*writers*each {
		t.Errorf("%d entries of %d", len(seen), logs*writers*each)
	}
	for detail, n := range seen {
		if n != 1 {
			t.Errorf("entry %s occurs %d times", detail, n)
		}
	}
	if n := len((&file{path: path}).rotatedFiles()); n < 5 {
		t.Errorf("only %d rotated files", n)
	}
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	other := filepath.Join(dir, "audit-notes.jsonl")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, path, &Options{MaxBytes: 1 << 10, Keep: 2})
	for i := range 100 {
		l.Record(Entry{Event: EventCall, Count: i})
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 4 { // the file, two rotated files and an unrelated file
		t.Errorf("%v, %v", names, err)
	}
	for _, n := range names {
		if info, err := n.Info(); err != nil || info.Size() > 1<<10 || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	list := entries(t, path)
	if last := list[len(list)-1]; last.Count != 99 || list[0].Count != 99-len(list)+1 {
		t.Errorf("from %d to %d in %d entries", list[0].Count, last.Count, len(list))
	}
}

func TestDenialsAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, nil)
		deny := func(host string, n int) {
			for range n {
				l.Record(Entry{Event: EventDenied, Decision: Denied, Rule: "unlisted", Origin: "https://" + host})
			}
		}
		deny("a.test", 5000)
		deny("b.test", 1)
		if got := events(entries(t, path)); got != "start denied denied" {
			t.Errorf("immediately: %s", got)
		}
		time.Sleep(foldWindow)
		synctest.Wait()
		list := entries(t, path)
		if got := events(list); got != "start denied denied denied×4999" || list[3].Origin != "https://a.test" {
			t.Errorf("after foldWindow: %s, %+v", got, list)
		}
		for i := range 500 {
			deny(fmt.Sprint("h", i, ".test"), 1)
		}
		time.Sleep(foldWindow)
		synctest.Wait()
		if list = entries(t, path)[4:]; len(list) != maxKinds+1 || list[maxKinds].Count != 500-maxKinds {
			t.Errorf("500 hosts: %d entries, %s", len(list), events(list))
		}
		deny("c.test", 3)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := events(entries(t, path)[4+maxKinds+1:]); got != "denied denied×2 end" {
			t.Errorf("after Close: %s", got)
		}
	})
}

// TestOutage checks that entries wait while the log is not writable, here because of a directory at
// its path.
func TestOutage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	var log bytes.Buffer
	l := open(t, path, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(); err != nil {
		t.Errorf("Ready without waiting entries: %v", err)
	}
	for i := range maxWaiting + 10 {
		l.Record(Entry{Event: EventCall, DurationMS: int64(i)})
	}
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Ready: %v", err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d messages about the start of the outage:\n%s", n, &log)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d messages about its end:\n%s", n, &log)
	}
	list := entries(t, path)
	if len(list) != maxWaiting+1 || list[maxWaiting].Event != EventDropped || list[maxWaiting].Count != 10 || list[7].DurationMS != 7 {
		t.Errorf("%d entries, the last %+v", len(list), list[len(list)-1])
	}
}

func TestPartialLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"event":"ca`), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, path, nil)
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte("{\"event\":\"ca\n{")) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:secret@example.com/path?token=1#frag": "https://example.com",
		"http://127.0.0.1:8080/":                            "http://127.0.0.1:8080",
		"https://[::1]:8443/x":                              "https://[::1]:8443",
		"wss://a.test/socket":                               "wss://a.test",
		"blob:https://a.test/0123":                          "https://a.test",
		"blob:null/0123":                                    "blob:",
		"data:text/html,secret":                             "data:",
		"javascript:alert(1)":                               "javascript:",
		"about:blank":                                       "about:",
		"https://a b.test/":                                 "",
		"/relative":                                         "",
		"":                                                  "",
		"%zz":                                               "",
		"example.com":                                       "",
	} {
		if got := Origin(in); got != want {
			t.Errorf("Origin(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzOrigin(f *testing.F) {
	f.Add("https://user:secret@example.com/path?token=1#frag")
	f.Add("blob:blob:https://a.test/x")
	f.Fuzz(func(t *testing.T, s string) {
		got := Origin(s)
		if strings.ContainsAny(got, "@?#\\ \n") || strings.Count(got, "/") > 2 || len(got) > maxOrigin {
			t.Errorf("Origin(%q) = %q", s, got)
		}
		if again := Origin(got); again != got && !slices.Contains([]string{"", "blob:"}, again) {
			t.Errorf("%q became %q", got, again)
		}
	})
}

func TestDownloadsAndCallsAreFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, nil)
	for i := range 1000 {
		l.Record(Entry{Event: EventDownload, Tab: "cdp:1:1", Origin: "https://a.test", Code: "OK", Bytes: int64(i)})
		l.Record(Entry{Event: EventCall, Tool: "click", Code: "NOT_ACTIONABLE", Args: fmt.Sprint(i), DurationMS: int64(i)})
		l.Record(Entry{Event: EventCall, Tool: "click", Code: "OK", Decision: Allowed, Args: fmt.Sprint(i)}) // not folded
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	count, bytes, done := map[Event]int{}, int64(0), 0
	for _, e := range entries(t, path) {
		if e.Event == EventCall && e.Code == "OK" {
			done++
			continue
		}
		count[e.Event] += e.Count
		bytes += e.Bytes
	}
	if count[EventDownload] != 999 || count[EventCall] != 999 || bytes != 999*1000/2 || done != 1000 {
		t.Errorf("counted %v and %d bytes, wrote %d successful calls", count, bytes, done)
	}
}

// TestCallsWithoutEffectAreFolded checks that successful calls without a decision are counted, unless
// they acted or saved a file.
func TestCallsWithoutEffectAreFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, nil)
	const n = 1000
	for i := range n {
		e := Entry{Event: EventCall, Tool: "tabs_list", Code: "OK", Args: fmt.Sprint(i)}
		l.Record(e)
		for _, change := range []func(*Entry){
			func(e *Entry) { e.Acted = true },
			func(e *Entry) { e.Bytes = 1 },
			func(e *Entry) { e.Decision = Allowed },
		} {
			e := e
			change(&e)
			l.Record(e)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	lines, counted := 0, 0
	for _, e := range entries(t, path) {
		switch {
		case e.Event != EventCall:
		case !e.Acted && e.Bytes == 0 && e.Decision == "":
			counted += 1 + e.Count
		default:
			lines++
		}
	}
	if lines != 3*n || counted != n+1 {
		t.Errorf("%d lines for %d calls that are not folded, and a count of %d for %d others", lines, 3*n, counted-1, n)
	}
}

// TestActionsAreNotFolded checks that a failed call that acted has its own line, regardless of the
// number of denied calls before it, and that a download has its own line, regardless of the number
// of hosts that were denied.
func TestActionsAreNotFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, nil)
	for i := range maxCallKinds + 1 {
		l.Record(Entry{Event: EventCall, Tool: "navigate", Code: "POLICY_DENIED", Origin: fmt.Sprintf("https://h%d.test", i)})
	}
	for i := range maxKinds + 1 {
		l.Record(Entry{Event: EventDenied, Decision: Denied, Origin: fmt.Sprintf("https://h%d.test", i)})
	}
	for i := range 3 {
		l.Record(Entry{Event: EventCall, Tool: "eval", Code: "EVAL_FAILED", Acted: true, Origin: "https://bank.test", Args: fmt.Sprint(i)})
	}
	l.Record(Entry{Event: EventDownload, Code: "OK", Origin: "https://bank.test", Bytes: 10})
	var args string
	downloaded := false
	for _, e := range entries(t, path) {
		if e.Tool == "eval" && e.Origin == "https://bank.test" {
			args += e.Args
		}
		downloaded = downloaded || e.Event == EventDownload && e.Origin == "https://bank.test" && e.Bytes == 10
	}
	if args != "012" || !downloaded {
		t.Errorf("lines for actions %q, for the download: %t", args, downloaded)
	}
	// The bytes of kinds beyond maxKinds are also counted.
	for i := range maxKinds + 9 {
		l.Record(Entry{Event: EventDownload, Code: "OK", Origin: fmt.Sprintf("https://h%d.test", i), Bytes: 10})
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	sum := int64(0)
	for _, e := range entries(t, path) {
		if e.Event == EventDownload {
			sum += e.Bytes
		}
	}
	if want := int64(10 * (maxKinds + 10)); sum != want {
		t.Errorf("downloads of %d bytes are in the log, want %d", sum, want)
	}
}

// TestSessionsAreFolded checks that opening and closing sessions, each with calls that have no effect,
// adds a limited number of lines to the log, and that entries of other principals are still written.
func TestSessionsAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, nil)
		for i := range 10_000 {
			for _, name := range []string{"same", fmt.Sprint("x", i)} {
				e := Entry{Session: fmt.Sprint(name, i), Name: name, Principal: "b", Client: name}
				for _, event := range []Event{EventOpened, EventSession, EventCall, EventClosed} {
					if e.Event, e.Tool, e.Code = event, "", ""; event == EventCall {
						e.Tool, e.Code = "click", "POLICY_DENIED"
					}
					l.Record(e)
				}
			}
		}
		before := len(entries(t, path))
		l.Record(Entry{Event: EventOpened, Name: "x", Principal: "a"})
		l.Record(Entry{Event: EventCall, Tool: "click", Code: "POLICY_DENIED", Principal: "a"})
		if list := entries(t, path); len(list) != before+2 || list[before].Principal != "a" {
			t.Errorf("%d lines of another principal", len(list)-before)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		list := entries(t, path)
		if n := len(list); n > 2*(3*maxKinds+maxPrincipalCallKinds+10) {
			t.Errorf("%d lines", n)
		}
		opened := 0
		for _, e := range list {
			if e.Event == EventOpened && e.Principal == "b" {
				opened += max(1, e.Count)
			}
		}
		if opened != 20_000 {
			t.Errorf("%d sessions were opened, want 20000", opened)
		}
	})
}
