package mcptext

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A Text builds the text of a result: lines of the server, and page text in fences or quotes. A
// string counts as page text unless its type is Own, so that strings are quoted by default.
type Text struct {
	Fence   Fence
	Asks    bool // the session has the tool ask_user
	Secrets bool // the session has the tool secrets_list, and may have secrets
	Saves   bool // the session can save results in files
	b       strings.Builder
}

func (t *Text) String() string { return t.b.String() }

// Own is text of the server. Page text in it is fenced or quoted.
type Own string

// Ownf is fmt.Sprintf for text of the server. It quotes string arguments that are not Own.
func Ownf(format string, args ...any) Own {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = quoteUnlessOwn(a)
	}
	return Own(fmt.Sprintf(format, safe...))
}

// quoteUnlessOwn returns a, quoted if it is a string. It does not quote values of type Own, and
// single words of executor types, such as tab ids.
func quoteUnlessOwn(a any) any {
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.String {
		return a
	}
	switch v.Type() {
	case reflect.TypeFor[Own]():
		return a
	case reflect.TypeFor[string]():
	default:
		if isWord(v.String()) {
			return a
		}
	}
	return Quote(v.String(), MaxTitle)
}

// maxWord is the maximum length of a word that is not quoted.
const maxWord = 40

// isWord reports whether s is one word, such as an id.
func isWord(s string) bool {
	return len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(":_-", r)
	})
}

// Join returns a comma-separated list.
func Join(list []Own) Own {
	var all Own
	for i, s := range list {
		if i > 0 {
			all += ", "
		}
		all += s
	}
	return all
}

// Line adds one line of the server. It quotes string arguments that are not Own.
func (t *Text) Line(format string, args ...any) {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	t.b.WriteString(string(Ownf(format, args...)))
}

// Page adds a fenced block of page text from origin.
func (t *Text) Page(origin, content string) {
	t.Line("%s", Own(t.Fence.Wrap(origin, content)))
}

// Limits of quoted page text, in characters. Longer text is truncated, except that a longer dialog
// message is fenced.
const (
	MaxTitle       = 200
	MaxPageMessage = 300
)

// URLAndTitle returns a quoted URL and, unless it is empty, the quoted title of its page.
func URLAndTitle(url, title string) Own {
	s := Address(cmp.Or(url, "about:blank"))
	if url == executor.DeniedURL {
		s = executor.DeniedURL
	}
	if title != "" {
		s += " " + Quote(title, MaxTitle)
	}
	return s
}

// Address returns url escaped and quoted.
func Address(url string) Own { return Quote(EscapeURL(url), MaxURL+1) }

// Tab adds a line for one tab.
func (t *Text) Tab(tab executor.Tab) {
	active := Own("")
	if tab.Active {
		active = " (active)"
	}
	t.Line("%s %s%s", tab.ID, URLAndTitle(tab.URL, tab.Title), active)
}

// Note adds a line with a note of the executor, in which page text is already quoted.
func (t *Text) Note(note string) {
	if note != "" {
		t.Line("%s", Own(OneLine(note)))
	}
}

// Obstacle adds a line for an obstacle. The line has no page text.
func (t *Text) Obstacle(o *executor.Obstacle) {
	if o != nil {
		how := Own("")
		if t.Secrets && o.Kind == executor.ObstacleLogin {
			how = " secrets_list lists the logins that you may enter."
		}
		if t.Asks && (o.Kind == executor.ObstacleCaptcha || o.Kind == executor.ObstacleLogin) {
			how += " ask_user hands the page over to the user."
		}
		t.Line("obstacle: %s, %s confidence. %s%s", o.Kind, o.Confidence, Own(OneLine(o.Advice)), how)
	}
}

// Dialog adds a line for a dialog: intro, its type and its message.
func (t *Text) Dialog(intro Own, origin string, typ executor.DialogType, message string) {
	if len(message) <= MaxPageMessage {
		t.Line("%s%s %s", intro, typ, Quote(message, MaxPageMessage))
		return
	}
	t.Line("%s%s", intro, typ)
	t.Page(origin, pagetext.Truncate(message, MaxField))
}

// maxPageErrors is the maximum number of a page's uncaught errors that are listed.
const maxPageErrors = 3

// Changes adds the page changes of an action, after the line that reports the action.
func (t *Text) Changes(c *executor.Changes) {
	if changesUnknown(c) {
		t.b.WriteString("; take a snapshot to see the page")
	}
	t.Note(c.Note)
	switch {
	case c.URL != "":
		t.Line("URL: %s", URLAndTitle(c.URL, c.Title))
	case c.Title != "":
		t.Line("title is now %s", Quote(c.Title, MaxTitle))
	}
	if d := c.Dialog; d != nil {
		t.Dialog("dialog open (answer with handle_dialog): ", c.Origin, d.Type, d.Message)
		if d.DefaultPrompt != "" {
			t.Line("default prompt text %s", Quote(d.DefaultPrompt, MaxPageMessage))
		}
	}
	for _, tab := range c.NewTabs {
		t.Line("opened tab %s %s", tab.ID, URLAndTitle(tab.URL, tab.Title))
		t.Note(tab.Note)
	}
	for _, d := range c.Downloads {
		t.Download("download", d)
	}
	for _, d := range c.EarlierDownloads {
		t.Download("earlier download", d)
	}
	if c.MoreDownloads > 0 {
		t.Line("and %s", Plural(c.MoreDownloads, "more download"))
	}
	for i, e := range c.Errors {
		if i == maxPageErrors {
			t.Line("and %s", Plural(len(c.Errors)-i, "more page error"))
			break
		}
		t.Line("page error %s", Quote(e, MaxPageMessage))
	}
	if c.Pending > 0 {
		t.Line("pending: %s", Plural(c.Pending, "request"))
	}
	t.Obstacle(c.Obstacle)
	if c.Unchanged {
		t.Line("no visible change%s", movedFocus(c.Focused))
	}
	if c.Diff != "" {
		t.Page(c.Origin, c.Diff)
	}
	if c.Snapshot != "" {
		t.Page(c.Origin, c.Snapshot)
	}
}

// movedFocus returns the end of a line about the element to which the focus moved, if it did.
func movedFocus(to *executor.Candidate) Own {
	switch {
	case to == nil:
		return ""
	case to.Role == "":
		return " except the focus, which no element has now"
	case to.Ref == "":
		return Ownf(" except the focus, now on %s %s", RoleOf(to.Role), Quote(to.Name, MaxName))
	}
	return Ownf(" except the focus, now on %s %s [ref=%s]", RoleOf(to.Role), Quote(to.Name, MaxName), to.Ref)
}

// changesUnknown reports whether c does not say what an action changed, for example because
// there is no earlier snapshot to compare with.
func changesUnknown(c *executor.Changes) bool {
	return !c.Unchanged && !strings.Contains(c.Note, string(executor.ErrPolicyDenied)) && c.URL+c.Title+c.Diff+c.Snapshot == "" && c.Dialog == nil && c.Pending == 0 &&
		len(c.NewTabs)+len(c.Downloads)+len(c.Errors) == 0
}

// Download adds a line for a download.
func (t *Text) Download(what Own, d executor.Download) { t.Line("%s", DownloadText(what, d)) }

// DownloadText describes a download.
func DownloadText(what Own, d executor.Download) Own {
	why := Own("")
	if d.Reason != "" {
		why = Own(": " + OneLine(d.Reason))
	}
	name := Quote(d.SuggestedName, MaxTitle)
	if d.Path != "" {
		name = Quote(d.Path, MaxURL) // which must be complete to be of use
	}
	return Ownf("%s %s %s%s", what, Own(cmp.Or(d.State, "running")), name, why)
}

func Plural(n int, noun Own) Own {
	if n != 1 {
		noun += "s"
	}
	return Own(strconv.Itoa(n)) + " " + noun
}

// ByteCount returns a number of bytes with its unit.
func ByteCount[N int | int64](n N) Own { return Plural(int(n), "byte") }

// Limits of error texts, in characters. Names of elements are page text and can be arbitrarily
// long.
const (
	MaxErrorText = 2000
	MaxName      = 100
)

// CleanTabs returns a copy of tabs whose page text is cleaned and truncated.
func CleanTabs(tabs []executor.Tab) []executor.Tab {
	tabs = slices.Clone(tabs)
	for i, t := range tabs {
		tabs[i].URL = pagetext.Truncate(Clean(t.URL), MaxURL)
		tabs[i].Title = pagetext.Truncate(Clean(t.Title), MaxErrorText)
		tabs[i].Note = OneLine(t.Note)
	}
	return tabs
}

// maxRole is the length of the longest role, menuitemcheckbox.
const maxRole = 16

// RoleOf returns the role of a candidate, quoted if it may be page text. Our executors only
// return roles of a fixed list.
func RoleOf(role string) Own {
	if len(role) <= maxRole && isWord(role) {
		return Own(role)
	}
	return Quote(role, MaxName)
}

// WithPeriod returns s with a period at the end, unless it already ends in punctuation.
func WithPeriod(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// OneLine returns s cleaned, with its lines joined, truncated to MaxErrorText characters.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(Clean(s)), " ")
	n, quoted, escaped := 0, false, false
	for i, r := range s {
		if n++; n > MaxErrorText {
			if s = s[:i] + "…"; quoted {
				s += `"` // close the truncated quote
			}
			return s
		}
		if r == '"' && !escaped {
			quoted = !quoted
		}
		escaped = r == '\\' && !escaped
	}
	return s
}

// Content adds page text, or otherwise if there is none.
func (t *Text) Content(origin, content string, otherwise Own) {
	if strings.TrimSpace(content) == "" {
		t.Line("%s", otherwise)
		return
	}
	t.Page(origin, content)
}

// A Result is the result of a handler. It renders itself as text for a model. Its JSON encoding is
// the structured content.
type Result interface {
	Render(*Text)
}
