package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// writerName is the environment variable that makes the test binary write entries until it is killed.
const writerName = "TRANSCRIPT_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerName); path != "" {
		writeForever(path)
	}
	os.Exit(leakcheck.Run(m))
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "chats", "chats.db") }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(seq int64, text string) Entry { return Entry{Seq: seq, At: seq, Kind: KindAgent, Text: text} }

// texts returns the texts of entries, separated by spaces.
func texts(entries []Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Text)
	}
	return strings.Join(all, " ")
}

func TestReopen(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	c := Chat{ID: "a", Title: "Prices", Site: "shop.example", Agent: "claude", Created: 1, Updated: 2, Open: true, Running: true, Session: "sess-1", Dir: "/tmp/x"}
	check(t, s.Create(c))
	chosen := ""
	entries := []Entry{
		{Seq: 1, At: 5, Kind: KindUser, Text: "Compare <these> & \u2028 ü", Quote: &Quote{Text: "12 €", URL: "https://shop.example/"}},
		{Seq: 2, At: 6, Kind: KindTool, Tool: &Tool{ID: "t1", Title: "read_page", Kind: "read", Status: "completed", Site: "shop.example", Input: `{"a":1}`, Output: "text"}},
		{Seq: 3, At: 7, Kind: KindPlan, Plan: []PlanStep{{"Read", "pending", "high"}}},
		{Seq: 4, At: 8, Kind: KindPermission, Permission: &Permission{Request: "r", Title: "Run", Detail: "rm -r x", Options: []Option{{"y", "Yes", "allow_once"}}, Chosen: &chosen}},
		{Seq: 5, At: 9, Kind: KindUsage, Usage: &Usage{Input: 1, Output: 2, Total: 3}},
	}
	for _, e := range entries {
		check(t, s.Put("a", e))
	}
	check(t, s.Update("a", func(c *Chat) { c.Title = "Better" }))
	check(t, s.Close())

	s = open(t, path)
	c.Title, c.Open, c.Running = "Better", false, false
	if got, err := s.Chat("a"); err != nil || got != c {
		t.Errorf("chat %+v, %v; want %+v", got, err, c)
	}
	got, more, err := s.Entries("a", 0, 0)
	if err != nil || more || !reflect.DeepEqual(got, entries) {
		t.Errorf("entries %+v, more %v, %v; want %+v", got, more, err, entries)
	}
	if n, err := s.Last("a"); n != 5 || err != nil {
		t.Errorf("last %d, %v", n, err)
	}
	sent, err := json.Marshal(c)
	if err != nil || strings.Contains(string(sent), "sess-1") || strings.Contains(string(sent), "/tmp/x") {
		t.Errorf("a chat as JSON: %s, %v", sent, err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	path := dbPath(t)
	open(t, path)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		check(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	link := path + ".link"
	check(t, os.Symlink(path+".other", link))
	if _, err := Open(link); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(path + ".other"); err == nil {
		t.Error("the target of the link was created")
	}
}

// TestEntriesMergesPending reads while some entries are in the database, some are not, and some in
// the database are replaced.
func TestEntriesMergesPending(t *testing.T) {
	s := open(t, dbPath(t))
	check(t, s.Create(Chat{ID: "a"}))
	check(t, s.Create(Chat{ID: "b"}))
	for i := range int64(6) {
		check(t, s.Put("a", text(i+1, fmt.Sprint(i+1))))
	}
	check(t, s.Put("b", text(1, "other")))
	check(t, s.flush())
	check(t, s.Put("a", text(2, "two")))
	check(t, s.Put("a", text(6, "six")))
	check(t, s.Put("a", text(7, "7")))
	for range 2 { // second with everything written
		for _, tt := range []struct {
			before int64
			limit  int
			want   string
			more   bool
		}{
			{0, 0, "1 two 3 4 5 six 7", false},
			{0, 1, "7", true},
			{0, 3, "5 six 7", true},
			{0, 7, "1 two 3 4 5 six 7", false},
			{7, 2, "5 six", true},
			{4, 10, "1 two 3", false},
			{3, 1, "two", true},
			{1, 5, "", false},
			{100, 1, "7", true},
		} {
			got, more, err := s.Entries("a", tt.before, tt.limit)
			if err != nil || texts(got) != tt.want || more != tt.more {
				t.Errorf("before %d, limit %d: %q, more %v, %v; want %q, %v", tt.before, tt.limit, texts(got), more, err, tt.want, tt.more)
			}
		}
		check(t, s.flush())
	}
}

func TestChatsSearch(t *testing.T) {
	s := open(t, dbPath(t))
	for i, title := range []string{"Flights to Oslo", "Prices", "text"} {
		check(t, s.Create(Chat{ID: fmt.Sprint(i), Title: title, Updated: int64(i)}))
	}
	check(t, s.Put("1", Entry{Seq: 1, Kind: KindTool, Tool: &Tool{Output: `He said "Grüße & <b>`}}))
	check(t, s.Put("2", text(1, "an OSLO hotel")))
	for range 2 { // second with everything written
		for query, want := range map[string]string{
			"":              "2 1 0",
			"oslo":          "2 0",
			`said "grüße &`: "1",
			"<B>":           "1",
			"text":          "2", // not the name of a JSON field
			"nothing":       "",
		} {
			chats, err := s.Chats(query)
			var ids []string
			for _, c := range chats {
				ids = append(ids, c.ID)
			}
			if got := strings.Join(ids, " "); err != nil || got != want {
				t.Errorf("%q: %q, %v; want %q", query, got, err, want)
			}
		}
		check(t, s.flush())
	}
	// A replaced text is not found anymore.
	check(t, s.Put("2", text(1, "a hotel")))
	if chats, err := s.Chats("an oslo"); err != nil || len(chats) != 0 {
		t.Errorf("found %v, %v", chats, err)
	}
}

func TestDelete(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	for _, id := range []string{"written", "pending", "other"} {
		check(t, s.Create(Chat{ID: id}))
		check(t, s.Put(id, text(1, "x")))
		if id == "written" {
			check(t, s.flush())
		}
	}
	check(t, s.Put("written", text(2, "y")))
	check(t, s.Delete("written"))
	check(t, s.Delete("pending"))
	if err := s.Delete("pending"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleting again: %v", err)
	}
	if err := s.Put("written", text(3, "z")); !errors.Is(err, ErrNotFound) {
		t.Errorf("putting into a deleted chat: %v", err)
	}
	check(t, s.Close())
	s = open(t, path)
	if chats, err := s.Chats(""); err != nil || len(chats) != 1 || chats[0].ID != "other" {
		t.Errorf("chats %v, %v", chats, err)
	}
	check(t, s.Create(Chat{ID: "written"}))
	if got, _, err := s.Entries("written", 0, 0); err != nil || len(got) != 0 {
		t.Errorf("a new chat has the entries of a deleted one: %v, %v", got, err)
	}
}

func TestBadArguments(t *testing.T) {
	s := open(t, dbPath(t))
	check(t, s.Create(Chat{ID: "a"}))
	for name, err := range map[string]error{
		"same id":     s.Create(Chat{ID: "a"}),
		"empty id":    s.Create(Chat{}),
		"path as id":  s.Create(Chat{ID: "../a"}),
		"long id":     s.Create(Chat{ID: strings.Repeat("a", 65)}),
		"seq 0":       s.Put("a", Entry{}),
		"no chat":     s.Put("b", text(1, "")),
		"update none": s.Update("b", func(*Chat) {}),
	} {
		if !errors.Is(err, errs.ErrBadArgs) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, s.Close())
	if err := s.Put("a", text(1, "")); err == nil {
		t.Error("a closed store accepts an entry")
	}
}

func TestLimitsOfTexts(t *testing.T) {
	s := open(t, dbPath(t))
	check(t, s.Create(Chat{ID: "a", Title: strings.Repeat("t", 10_000)}))
	long := strings.Repeat("ü", MaxText) // twice as long as allowed
	e := Entry{Seq: 1, Text: long, Tool: &Tool{Input: long, Output: long}, Quote: &Quote{Text: long}, Permission: &Permission{Detail: long}, Plan: make([]PlanStep, 1000)}
	check(t, s.Put("a", e))
	got, _, err := s.Entries("a", 0, 0)
	check(t, err)
	for name, text := range map[string]string{
		"text": got[0].Text, "input": got[0].Tool.Input, "output": got[0].Tool.Output, "quote": got[0].Quote.Text, "detail": got[0].Permission.Detail,
	} {
		if len(text) > MaxText || len(text) < MaxText-8 || !utf8.ValidString(text) || !strings.HasSuffix(text, "ü"+cutNote) {
			t.Errorf("%s: %d bytes, end %q", name, len(text), text[max(0, len(text)-50):])
		}
	}
	if len(got[0].Plan) != maxItems {
		t.Errorf("%d steps", len(got[0].Plan))
	}
	if e.Tool.Input != long {
		t.Error("Put changed the entry of the caller")
	}
	if c, _ := s.Chat("a"); len(c.Title) > maxName {
		t.Errorf("title of %d bytes", len(c.Title))
	}
}

func TestMaxEntries(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	check(t, s.Create(Chat{ID: "a"}))
	for i := range int64(MaxEntries + 10) {
		check(t, s.Put("a", text(i+1, "x")))
	}
	check(t, s.Put("a", text(MaxEntries, "replaced")))
	check(t, s.Close())
	s = open(t, path)
	check(t, s.Put("a", text(MaxEntries+11, "x")))
	check(t, s.flush())
	got, _, err := s.Entries("a", 0, 0)
	if err != nil || len(got) != MaxEntries || got[0].Seq != 12 {
		t.Errorf("%d entries from %d, %v", len(got), got[0].Seq, err)
	}
}

// TestMaxFile fills a store whose limit is 8 MiB.
func TestMaxFile(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	s.full = 8 << 20
	var removed []string
	s.OnRemoved(func(c Chat) { removed = append(removed, c.ID+c.Dir) })
	big := strings.Repeat("x", 100<<10)
	for i := range 6 {
		id := fmt.Sprint(i)
		check(t, s.Create(Chat{ID: id, Updated: int64(i), Open: i == 1, Dir: "/" + id}))
		for seq := range int64(20) { // 2 MB
			check(t, s.Put(id, text(seq+1, big)))
		}
		check(t, s.flush())
	}
	chats, err := s.Chats("")
	check(t, err)
	var ids []string
	for _, c := range chats {
		ids = append(ids, c.ID)
	}
	if got := strings.Join(ids, " "); got != "5 4 1" && got != "5 4 3 1" {
		t.Errorf("remaining chats %s: want the newest and the open one", got)
	}
	if len(removed) != 6-len(ids) || removed[0] != "0/0" || removed[1] != "2/2" {
		t.Errorf("removed %q, remaining %q", removed, ids)
	}
	// With open chats only, the oldest entries of the longest are deleted.
	check(t, s.Update("1", func(c *Chat) { c.Open = false }))
	check(t, s.Update("5", func(c *Chat) { c.Open = true }))
	for seq := range int64(200) { // 20 MB
		check(t, s.Put("5", text(seq+1, big)))
	}
	check(t, s.flush())
	got, _, err := s.Entries("5", 0, 0)
	if err != nil || len(got) < 50 || got[len(got)-1].Seq != 200 || got[0].Seq == 1 {
		t.Errorf("%d entries, %v", len(got), err)
	}
	check(t, s.Close())
	info, err := os.Stat(path)
	if err != nil || info.Size() > s.full+4*maxPending {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	open(t, path)
}

func TestInUse(t *testing.T) {
	path := dbPath(t)
	open(t, path)
	_, err := Open(path)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("second Open: %v", err)
	}
}

func TestCorrupt(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"text":            func([]byte) []byte { return []byte(strings.Repeat("no database\n", 10_000)) },
		"short":           func([]byte) []byte { return []byte("x") },
		"end missing":     func(data []byte) []byte { return data[:len(data)/2] },
		"zeros":           func(data []byte) []byte { clear(data[2*os.Getpagesize():]); return data },
		"other bytes":     func(data []byte) []byte { fill(data[2*os.Getpagesize():], 0xa5); return data },
		"not our content": nil,
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			s := open(t, path)
			check(t, s.Create(Chat{ID: "a"}))
			for i := range int64(200) {
				check(t, s.Put("a", text(i+1, strings.Repeat("x", 1000))))
			}
			check(t, s.Close())
			if damage == nil {
				db, err := bolt.Open(path, 0o600, nil)
				check(t, err)
				check(t, db.Update(func(tx *bolt.Tx) error { return tx.Bucket(chatsBucket).Put([]byte("a"), []byte("[]")) }))
				check(t, db.Close())
			} else {
				data, err := os.ReadFile(path)
				check(t, err)
				check(t, os.WriteFile(path, damage(data), 0o600))
			}
			before, err := os.ReadFile(path)
			check(t, err)
			_, err = Open(path)
			e, _ := errors.AsType[*errs.Error](err)
			if !errors.Is(err, ErrCorrupt) || e == nil || !strings.Contains(e.Hint, path) || !strings.Contains(e.Hint, "Move") {
				t.Errorf("Open: %v", err)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(before) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func fill(data []byte, b byte) {
	for i := range data {
		data[i] = b
	}
}

// TestCorruptEntries damages entries, which Open does not read.
func TestCorruptEntries(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	check(t, s.Create(Chat{ID: "a"}))
	for i := range int64(500) {
		check(t, s.Put("a", text(i+1, strings.Repeat("SENTINEL", 200))))
	}
	check(t, s.Close())
	data, err := os.ReadFile(path)
	check(t, err)
	// The pages that contain texts, with their headers.
	page := os.Getpagesize()
	for at := 4 * page; at+page <= len(data); at += page {
		if strings.Contains(string(data[at:at+page]), "SENTINEL") {
			fill(data[at:at+page], 0xa5)
		}
	}
	check(t, os.WriteFile(path, data, 0o600))
	s, err = Open(path)
	if err == nil {
		_, _, err = s.Entries("a", 0, 0)
		_ = s.Close()
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("reading damaged entries: %v", err)
	}
}

// TestFlushInterval checks that a second after an entry was stored, it is in the file.
func TestFlushInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := dbPath(t)
		s := open(t, path)
		check(t, s.Create(Chat{ID: "a"}))
		for n := range int64(3) {
			check(t, s.Put("a", text(n+1, "x")))
			time.Sleep(time.Second)
			data, err := os.ReadFile(path)
			check(t, err)
			copied := filepath.Join(t.TempDir(), "copied.db")
			check(t, os.WriteFile(copied, data, 0o600))
			if got, err := open(t, copied).Last("a"); err != nil || got != n+1 {
				t.Errorf("the last of %d entries is %d, %v", n+1, got, err)
			}
		}
	})
}

// TestKilled kills a process that writes entries: those that it had written to the file are not lost.
func TestKilled(t *testing.T) {
	path := dbPath(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerName+"="+path)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	written := int64(0)
	for lines := bufio.NewScanner(out); written < 500 && lines.Scan(); {
		written, err = strconv.ParseInt(lines.Text(), 10, 64)
		check(t, err)
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	s := open(t, path)
	n, err := s.Last("a")
	check(t, err)
	got, _, err := s.Entries("a", 0, 0)
	if err != nil || len(got) != int(n) || n < written || written == 0 {
		t.Fatalf("%d entries, last %d of at least %d, %v", len(got), n, written, err)
	}
}

// writeForever writes entries, and prints the number of the last one in the file.
func writeForever(path string) {
	s, err := Open(path)
	if err == nil {
		err = s.Create(Chat{ID: "a", Title: "Killed"})
	}
	for seq := int64(1); err == nil; seq++ {
		err = s.Put("a", Entry{Seq: seq, At: time.Now().UnixMilli(), Kind: KindAgent, Text: "text"})
		if err == nil && seq%50 == 0 {
			if err = s.flush(); err == nil {
				fmt.Println(seq)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, dbPath(t))
	done := make(chan error, 8)
	for w := range 8 {
		go func() {
			id := fmt.Sprint(w)
			err := s.Create(Chat{ID: id})
			for i := int64(1); i <= 200 && err == nil; i++ {
				err = errors.Join(s.Put(id, text(i, "x")), s.Put(id, text(i, "xx")), s.Update(id, func(c *Chat) { c.Updated = i }))
				if i%50 == 0 {
					_, chatsErr := s.Chats("xx")
					_, _, readErr := s.Entries(id, 0, 10)
					err = errors.Join(err, chatsErr, readErr, s.flush())
				}
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if chats, err := s.Chats("XX"); err != nil || len(chats) != 8 {
		t.Errorf("%d chats, %v", len(chats), err)
	}
}

func TestMarkdown(t *testing.T) {
	s := open(t, dbPath(t))
	check(t, s.Create(Chat{ID: "a", Title: "Two\nprices", Site: "shop.example", Agent: "claude", Created: 1_700_000_000_000}))
	chosen := "y"
	for i, e := range []Entry{
		{Kind: KindUser, Text: "Compare", Quote: &Quote{Text: "```\n12 €", URL: "https://shop.example/"}},
		{Kind: KindThought, Text: "Hm."},
		{Kind: KindTool, Tool: &Tool{Title: "read", Status: "completed", Input: `{}`, Output: "# not a heading"}},
		{Kind: KindPlan, Plan: []PlanStep{{"Read", "completed", "high"}, {"Write", "pending", "low"}}},
		{Kind: KindPermission, Permission: &Permission{Title: "Run", Detail: "ls", Options: []Option{{"y", "Yes", "allow_once"}}, Chosen: &chosen}},
		{Kind: KindAgent, Text: "**12 €**"},
		{Kind: KindUsage, Usage: &Usage{Input: 1, Output: 2, Total: 3, Context: 4, Size: 5}},
		{Kind: KindUsage, Usage: &Usage{Context: 7, Size: 10}},
		{Kind: KindNotice, Text: "The agent exited."},
	} {
		e.Seq = int64(i + 1)
		check(t, s.Put("a", e))
	}
	got, err := s.Markdown("a")
	want := "# Two prices\n\nshop.example · claude · 2023-11-14 22:13 UTC\n" +
		"\n## User\n\nPage text of https://shop.example/:\n\n````\n```\n12 €\n````\n\nCompare\n" +
		"\n### Thought\n\nHm.\n" +
		"\n### Tool: read (completed)\n\n```json\n{}\n```\n\nResult, which can contain page text:\n\n```\n# not a heading\n```\n" +
		"\n### Plan\n\n- [x] Read\n- [ ] Write\n" +
		"\n### Permission: Run\n\n```\nls\n```\n\nAnswer: Yes\n" +
		"\n## Agent\n\n**12 €**\n" +
		"\n*Tokens: 1 input, 2 output, 3 total · Context: 4 of 5 tokens*\n" +
		"\n*Context: 7 of 10 tokens*\n" +
		"\n*The agent exited.*\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// TestMarkdownEnd reads ends of a document. A short one does not need the oldest entries, which are
// damaged at the end of the test.
func TestMarkdownEnd(t *testing.T) {
	s := open(t, dbPath(t))
	check(t, s.Create(Chat{ID: "a", Title: "Long"}))
	for i := range int64(50) {
		check(t, s.Put("a", text(i+1, fmt.Sprint(i+1)+strings.Repeat("ü€", 80))))
		if i == 47 {
			check(t, s.flush())
		}
	}
	document, err := s.Markdown("a")
	check(t, err)
	for size := 1; size < len(document)+10; size += 7 {
		end, all, err := s.MarkdownEnd("a", size)
		if err != nil || !strings.HasSuffix(document, end) || !utf8.ValidString(end) || len(end) > size || len(end) < min(size, len(document))-2 || all != (end == document) {
			t.Fatalf("the last %d of %d bytes are %q, all %v, %v", size, len(document), end, all, err)
		}
	}
	check(t, s.flush())
	check(t, s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(entriesBucket).Bucket([]byte("a")).Put(seqKey(1), []byte("{"))
	}))
	if _, _, err := s.MarkdownEnd("a", 1000); err != nil {
		t.Error(err)
	}
	if _, _, err := s.MarkdownEnd("a", len(document)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("reading a damaged entry: %v", err)
	}
}

// TestMarkdownParts reads documents in parts, of which some entries are in the file and others are not.
func TestMarkdownParts(t *testing.T) {
	s := open(t, dbPath(t))
	check(t, s.Create(Chat{ID: "a", Title: "Long"}))
	for i := range int64(9) {
		check(t, s.Put("a", text(i+1, fmt.Sprint(i+1)+strings.Repeat("ü€", 800))))
		if i == 5 {
			check(t, s.flush())
		}
	}
	check(t, s.Put("a", text(3, "replaced")))
	all, err := s.Markdown("a")
	check(t, err)
	const size = 1 << 10
	var joined strings.Builder
	for next := new(Position); next != nil; {
		var part string
		part, next, err = s.MarkdownPart("a", *next, size)
		check(t, err)
		if len(part) > size || len(part) == 0 && next != nil || !utf8.ValidString(part) {
			t.Fatalf("a part has %d bytes, next %v, valid %v", len(part), next, utf8.ValidString(part))
		}
		joined.WriteString(part)
	}
	if joined.String() != all || strings.Count(all, "## Agent") != 9 || !strings.Contains(all, "replaced") {
		t.Errorf("the parts are\n%s\nwant\n%s", joined.String(), all)
	}
	if part, next, err := s.MarkdownPart("a", Position{9, 1 << 40}, size); part != "" || next != nil || err != nil {
		t.Errorf("after the end: %q, %v, %v", part, next, err)
	}
}

// tenThousand returns a store with a chat of 10,000 entries as they occur.
func tenThousand(t testing.TB) *Store {
	path := dbPath(t)
	s := open(t, path)
	check(t, s.Create(Chat{ID: "a", Title: "Long"}))
	for i := range int64(10_000) {
		e := text(i+1, strings.Repeat("A sentence of an agent, **with** Markdown. ", 10))
		if i%3 == 0 {
			e = Entry{Seq: i + 1, Kind: KindTool, Tool: &Tool{ID: fmt.Sprint(i), Title: "read_page", Status: "completed", Input: `{"selector": "main"}`, Output: strings.Repeat("page text ", 50)}}
		}
		check(t, s.Put("a", e))
	}
	check(t, s.Close())
	return open(t, path)
}

// TestReadLongChat checks the limits for the benchmarks below.
func TestReadLongChat(t *testing.T) {
	tier.Deep(t)
	s := tenThousand(t)
	for limit, most := range map[int]time.Duration{100: 50 * time.Millisecond, 0: 200 * time.Millisecond} {
		best := time.Hour
		for range 10 {
			start := time.Now()
			_, _, err := s.Entries("a", 0, limit)
			best = min(best, time.Since(start))
			check(t, err)
		}
		if testlog.RaceEnabled {
			most *= 10
		}
		if best > most {
			t.Errorf("reading %d entries takes %v", limit, best)
		}
		t.Logf("limit %d: %v", limit, best)
	}
}

func BenchmarkLast100(b *testing.B) { benchmarkEntries(b, 100) }
func BenchmarkAll(b *testing.B)     { benchmarkEntries(b, 0) }

func benchmarkEntries(b *testing.B, limit int) {
	s := tenThousand(b)
	for b.Loop() {
		if _, _, err := s.Entries("a", 0, limit); err != nil {
			b.Fatal(err)
		}
	}
}
