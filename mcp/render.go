package mcp

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A text builds the text of a result: lines of the server, and page text in fences or quotes. A
// string counts as page text unless its type is own, so that strings are quoted by default.
type text struct {
	fence   fence
	asks    bool // the session has the tool ask_user
	secrets bool // the session has the tool secrets_list, and may have secrets
	b       strings.Builder
}

func (t *text) String() string { return t.b.String() }

// own is text of the server. Page text in it is fenced or quoted.
type own string

// ownf is fmt.Sprintf for text of the server. It quotes string arguments that are not own.
func ownf(format string, args ...any) own {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = quoteUnlessOwn(a)
	}
	return own(fmt.Sprintf(format, safe...))
}

// quoteUnlessOwn returns a, quoted if it is a string. It does not quote values of type own, and
// single words of executor types, such as tab ids.
func quoteUnlessOwn(a any) any {
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

// join returns a comma-separated list.
func join(list []own) own {
	var all own
	for i, s := range list {
		if i > 0 {
			all += ", "
		}
		all += s
	}
	return all
}

// line adds one line of the server. It quotes string arguments that are not own.
func (t *text) line(format string, args ...any) {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	t.b.WriteString(string(ownf(format, args...)))
}

// page adds a fenced block of page text from origin.
func (t *text) page(origin, content string) {
	t.line("%s", own(t.fence.wrap(origin, content)))
}

// Limits of quoted page text, in characters. Longer text is truncated, except that a longer dialog
// message is fenced.
const (
	maxTitle       = 200
	maxPageMessage = 300
)

// urlAndTitle returns a quoted URL and, unless it is empty, the quoted title of its page.
func urlAndTitle(url, title string) own {
	s := address(cmp.Or(url, "about:blank"))
	if url == executor.DeniedURL {
		s = executor.DeniedURL
	}
	if title != "" {
		s += " " + quote(title, maxTitle)
	}
	return s
}

// address returns url escaped and quoted.
func address(url string) own { return quote(escapeURL(url), maxURL+1) }

// tab adds a line for one tab.
func (t *text) tab(tab executor.Tab) {
	active := own("")
	if tab.Active {
		active = " (active)"
	}
	t.line("%s %s%s", tab.ID, urlAndTitle(tab.URL, tab.Title), active)
}

// note adds a line with a note of the executor, in which page text is already quoted.
func (t *text) note(note string) {
	if note != "" {
		t.line("%s", own(oneLine(note)))
	}
}

// obstacle adds a line for an obstacle. The line has no page text.
func (t *text) obstacle(o *executor.Obstacle) {
	if o != nil {
		how := own("")
		if t.secrets && o.Kind == executor.ObstacleLogin {
			how = " secrets_list lists the logins that you may enter."
		}
		if t.asks && (o.Kind == executor.ObstacleCaptcha || o.Kind == executor.ObstacleLogin) {
			how += " ask_user hands the page over to the user."
		}
		t.line("obstacle: %s, %s confidence. %s%s", o.Kind, o.Confidence, own(oneLine(o.Advice)), how)
	}
}

// dialog adds a line for a dialog: intro, its type and its message.
func (t *text) dialog(intro own, origin string, typ executor.DialogType, message string) {
	if len(message) <= maxPageMessage {
		t.line("%s%s %s", intro, typ, quote(message, maxPageMessage))
		return
	}
	t.line("%s%s", intro, typ)
	t.page(origin, pagetext.Truncate(message, maxField))
}

// maxPageErrors is the maximum number of a page's uncaught errors that are listed.
const maxPageErrors = 3

// changes adds the page changes of an action, after the line that reports the action.
func (t *text) changes(c *executor.Changes) {
	if hasNoVisibleChange(c) {
		t.b.WriteString("; take a snapshot to see the page")
	}
	t.note(c.Note)
	switch {
	case c.URL != "":
		t.line("URL: %s", urlAndTitle(c.URL, c.Title))
	case c.Title != "":
		t.line("title is now %s", quote(c.Title, maxTitle))
	}
	if d := c.Dialog; d != nil {
		t.dialog("dialog open (answer with handle_dialog): ", c.Origin, d.Type, d.Message)
		if d.DefaultPrompt != "" {
			t.line("default prompt text %s", quote(d.DefaultPrompt, maxPageMessage))
		}
	}
	for _, tab := range c.NewTabs {
		t.line("opened tab %s %s", tab.ID, urlAndTitle(tab.URL, tab.Title))
		t.note(tab.Note)
	}
	for _, d := range c.Downloads {
		t.download("download", d)
	}
	for _, d := range c.EarlierDownloads {
		t.download("earlier download", d)
	}
	if c.MoreDownloads > 0 {
		t.line("and %s", plural(c.MoreDownloads, "more download"))
	}
	for i, e := range c.Errors {
		if i == maxPageErrors {
			t.line("and %s", plural(len(c.Errors)-i, "more page error"))
			break
		}
		t.line("page error %s", quote(e, maxPageMessage))
	}
	if c.Pending > 0 {
		t.line("pending: %s", plural(c.Pending, "request"))
	}
	t.obstacle(c.Obstacle)
	if c.Unchanged {
		t.line("no visible change%s", movedFocus(c.Focused))
	}
	if c.Diff != "" {
		t.page(c.Origin, c.Diff)
	}
	if c.Snapshot != "" {
		t.page(c.Origin, c.Snapshot)
	}
}

// movedFocus returns the end of a line about the element to which the focus moved, if it did.
func movedFocus(to *executor.Candidate) own {
	switch {
	case to == nil:
		return ""
	case to.Role == "":
		return " except the focus, which no element has now"
	case to.Ref == "":
		return ownf(" except the focus, now on %s %s", roleOf(to.Role), quote(to.Name, maxName))
	}
	return ownf(" except the focus, now on %s %s [ref=%s]", roleOf(to.Role), quote(to.Name, maxName), to.Ref)
}

// hasNoVisibleChange reports whether c does not say what an action changed, for example because
// there is no earlier snapshot to compare with.
func hasNoVisibleChange(c *executor.Changes) bool {
	return !c.Unchanged && !strings.Contains(c.Note, string(executor.ErrPolicyDenied)) && c.URL+c.Title+c.Diff+c.Snapshot == "" && c.Dialog == nil && c.Pending == 0 &&
		len(c.NewTabs)+len(c.Downloads)+len(c.Errors) == 0
}

// download adds a line for a download.
func (t *text) download(what own, d executor.Download) { t.line("%s", downloadText(what, d)) }

// downloadText describes a download.
func downloadText(what own, d executor.Download) own {
	why := own("")
	if d.Reason != "" {
		why = own(": " + oneLine(hint.Translate(d.Reason)))
	}
	return ownf("%s %s %s%s", what, own(cmp.Or(d.State, "running")), quote(cmp.Or(d.Path, d.SuggestedName), maxTitle), why)
}

// nonNil returns s, or an empty slice if s is nil, because JSON encodes nil as null.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
