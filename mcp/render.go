package mcp

import (
	"fmt"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A text collects what a model reads: lines of ours, and page text that is
// fenced or quoted. Page text goes in by page, quote or url and no other way.
type text struct {
	fence fence
	b     strings.Builder
}

func (t *text) String() string { return t.b.String() }

// line adds one line of ours. Arguments that come from a page must have gone
// through quoted or escapeURL.
func (t *text) line(format string, args ...any) {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	fmt.Fprintf(&t.b, format, args...)
}

// page adds a block of page text that came from origin.
func (t *text) page(origin, content string) {
	t.line("%s", t.fence.wrap(origin, content))
}

// Limits of quoted page text, in characters. What is longer is cut; a dialog's
// message, which may be asked for in full, is fenced instead.
const (
	maxTitle   = 200
	maxMessage = 300
)

// titled returns a URL and, when there is one, the title of its page.
func titled(url, title string) string {
	s := escapeURL(or(url, "about:blank"))
	if url == executor.DeniedURL {
		s = url
	}
	if title != "" {
		s += " " + quote(title, maxTitle)
	}
	return s
}

// tab adds a line on one tab.
func (t *text) tab(tab executor.Tab) {
	active := ""
	if tab.Active {
		active = " (active)"
	}
	t.line("%s %s%s", tab.ID, titled(tab.URL, tab.Title), active)
}

// note adds a sentence of the executor's.
func (t *text) note(note string) {
	if note != "" {
		t.line("%s", oneLine(note))
	}
}

// obstacle adds a line on what stands before the page. All of it is ours.
func (t *text) obstacle(o *executor.Obstacle) {
	if o != nil {
		t.line("obstacle: %s, %s confidence. %s", o.Kind, o.Confidence, oneLine(o.Advice))
	}
}

// dialog adds the message of a dialog after a word on it.
func (t *text) dialog(intro, origin string, typ executor.DialogType, message string) {
	if len(message) <= maxMessage {
		t.line("%s%s %s", intro, typ, quote(message, maxMessage))
		return
	}
	t.line("%s%s", intro, typ)
	t.page(origin, message)
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
		why := ""
		if d.Reason != "" {
			why = ": " + oneLine(d.Reason)
		}
		t.line("download %s %s%s", or(d.State, "running"), downloadName(&d), why)
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

func downloadName(d *executor.Download) string {
	return quote(or(d.Path, d.SuggestedName), maxTitle)
}

func or(s, otherwise string) string {
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
