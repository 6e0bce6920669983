package mcp

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A text collects what a model reads: lines of ours, and page text that is
// fenced or quoted. A string is page text unless its type is own, so that
// strings are quoted by default.
type text struct {
	fence fence
	b     strings.Builder
}

func (t *text) String() string { return t.b.String() }

// own is our own text. Page text in it is fenced or quoted.
type own string

// ownf is fmt.Sprintf for our own text. It quotes arguments like line.
func ownf(format string, args ...any) own {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = unlessOwn(a)
	}
	return own(fmt.Sprintf(format, safe...))
}

// unlessOwn returns a, quoted if it is a string. It does not quote values of type
// own, and single words of executor types, such as tab ids.
func unlessOwn(a any) any {
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.String {
		return a
	}
	switch v.Type() {
	case reflect.TypeFor[own]():
		return a
	case reflect.TypeFor[string]():
	default:
		if isWord(v.String()) {
			return a
		}
	}
	return quote(v.String(), maxTitle)
}

// maxWord is the maximum length of a word that is not quoted.
const maxWord = 40

// isWord reports whether s is one word, such as an id.
func isWord(s string) bool {
	return len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(":_-", r)
	})
}

// join is strings.Join for our own text.
func join(list []own, sep own) own {
	var all own
	for i, s := range list {
		if i > 0 {
			all += sep
		}
		all += s
	}
	return all
}

// line adds one line of our own. It quotes string arguments that are not own.
func (t *text) line(format string, args ...any) {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	t.b.WriteString(string(ownf(format, args...)))
}

// page adds a block of page text that came from origin.
func (t *text) page(origin, content string) {
	t.line("%s", own(t.fence.wrap(origin, content)))
}

// Limits of quoted page text, in characters. What is longer is cut; a dialog's
// message, which may be asked for in full, is fenced instead.
const (
	maxTitle   = 200
	maxMessage = 300
)

// titled returns a URL and, when there is one, the title of its page.
func titled(url, title string) own {
	s := address(or(url, "about:blank"))
	if url == executor.DeniedURL {
		s = executor.DeniedURL
	}
	if title != "" {
		s += " " + quote(title, maxTitle)
	}
	return s
}

// address quotes a URL.
func address(url string) own { return quote(escapeURL(url), maxURL+1) }

// tab adds a line on one tab.
func (t *text) tab(tab executor.Tab) {
	active := own("")
	if tab.Active {
		active = " (active)"
	}
	t.line("%s %s%s", tab.ID, titled(tab.URL, tab.Title), active)
}

// note adds a sentence of the executor, in which page text is already quoted.
func (t *text) note(note string) {
	if note != "" {
		t.line("%s", own(oneLine(note)))
	}
}

// obstacle adds a line on what stands before the page. All of it is ours.
func (t *text) obstacle(o *executor.Obstacle) {
	if o != nil {
		t.line("obstacle: %s, %s confidence. %s", o.Kind, o.Confidence, own(oneLine(o.Advice)))
	}
}

// dialog adds the message of a dialog after a word on it.
func (t *text) dialog(intro own, origin string, typ executor.DialogType, message string) {
	if len(message) <= maxMessage {
		t.line("%s%s %s", intro, typ, quote(message, maxMessage))
		return
	}
	t.line("%s%s", intro, typ)
	t.page(origin, ended(message, maxField))
}

// maxPageErrors is how many uncaught errors of a page are told.
const maxPageErrors = 3

// changes adds what an action changed to the line that says it was done.
func (t *text) changes(c *executor.Changes) {
	if untold(c) {
		t.b.WriteString("; take a snapshot to see the page")
	}
	t.note(c.Note)
	switch {
	case c.URL != "":
		t.line("now at %s", titled(c.URL, c.Title))
	case c.Title != "":
		t.line("title is now %s", quote(c.Title, maxTitle))
	}
	if d := c.Dialog; d != nil {
		t.dialog("open dialog, answer it with handle_dialog: ", c.Origin, d.Type, d.Message)
		if d.DefaultPrompt != "" {
			t.line("its default answer is %s", quote(d.DefaultPrompt, maxMessage))
		}
	}
	for _, tab := range c.NewTabs {
		t.line("opened tab %s %s", tab.ID, titled(tab.URL, tab.Title))
	}
	for _, d := range c.Downloads {
		t.download("download", d)
	}
	for _, d := range c.EarlierDownloads {
		t.download("earlier download", d)
	}
	if c.MoreDownloads > 0 {
		t.line("and %d more downloads", c.MoreDownloads)
	}
	for i, e := range c.Errors {
		if i == maxPageErrors {
			t.line("and %d more page errors", len(c.Errors)-i)
			break
		}
		t.line("page error %s", quote(e, maxMessage))
	}
	if c.Pending > 0 {
		t.line("%s still running", plural(c.Pending, "request"))
	}
	t.obstacle(c.Obstacle)
	if c.Unchanged {
		t.line("no visible change")
	}
	if c.Diff != "" {
		t.page(c.Origin, c.Diff)
	}
	if c.Snapshot != "" {
		t.page(c.Origin, c.Snapshot)
	}
}

// untold reports whether c leaves open what an action changed, as when there
// is no earlier snapshot to compare with.
func untold(c *executor.Changes) bool {
	return !c.Unchanged && !strings.Contains(c.Note, string(executor.ErrPolicyDenied)) && c.URL+c.Title+c.Diff+c.Snapshot == "" && c.Dialog == nil && c.Pending == 0 &&
		len(c.NewTabs)+len(c.Downloads)+len(c.Errors) == 0
}

// download adds a line on a download.
func (t *text) download(what own, d executor.Download) {
	why := own("")
	if d.Reason != "" {
		why = own(": " + oneLine(d.Reason))
	}
	t.line("%s %s %s%s", what, own(or(d.State, "running")), downloadName(&d), why)
}

func downloadName(d *executor.Download) own {
	return quote(or(d.Path, d.SuggestedName), maxTitle)
}

func or[T ~string](s, otherwise T) T {
	if s == "" {
		return otherwise
	}
	return s
}

// some returns s, or an empty slice for nil, which JSON would call null.
func some[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
