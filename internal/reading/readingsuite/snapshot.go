package readingsuite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func snapshot(s *suite.Runner, t *testing.T) {
	s.Page(t, "outline", "snapshot.html", func(c *suite.Case) {
		snap := c.Snapshot(nil)
		c.WantIn(snap.Text, `page "Snapshot" `+c.URL("snapshot.html"), `heading "Checkout" [level=1]`,
			`Please check your order.`, `textbox "Email"`, `: ann@example.com`, `combobox "Country"`, `Norway`,
			`checkbox "Gift wrap"`, `[checked]`, `button "Pay"`, `[disabled]`, `navigation "Sections"`, `link "One"`)
		c.WantNotIn(snap.Text, "Invisible", "Unreachable")
		if snap.Origin != c.Origin() {
			c.Errorf("Origin = %q, want %q", snap.Origin, c.Origin())
		}
		if snap.Truncated || snap.Omitted != 0 || snap.Elements < 10 {
			c.Errorf("Truncated = %v, Omitted = %d, Elements = %d", snap.Truncated, snap.Omitted, snap.Elements)
		}
	})
	s.Page(t, "passwords are masked", "snapshot.html", func(c *suite.Case) {
		text := c.Snap(nil)
		c.WantIn(text, `textbox "Password"`)
		c.WantNotIn(text, "hunter2")
	})
	s.Page(t, "clickable without a role", "snapshot.html", func(c *suite.Case) {
		c.Click(suite.ByRef(c.Ref("clickable", "Only a div")), nil)
		c.Await("click", "clickable")
	})
	s.Page(t, "text cannot imitate structure", "snapshot.html", func(c *suite.Case) {
		text := c.Snap(nil)
		if regexp.MustCompile(`(?m)\[ref=e999\]$`).MatchString(text) {
			c.Errorf("a name imitates a ref:\n%s", text)
		}
		if strings.Contains(text, `Say "hi"`) {
			c.Errorf("quotes in a name are not escaped:\n%s", text)
		}
	})
	s.Page(t, "refs are stable", "snapshot.html", func(c *suite.Case) {
		before := c.Snap(nil)
		email, name := c.RefIn(before, "textbox", "Email"), c.RefIn(before, "button", "Name me")
		c.Click(suite.ByRef(name), nil) // renames it and makes it the first child
		after := c.Snap(nil)
		if got := c.RefIn(after, "button", "Renamed"); got != name {
			c.Errorf("the renamed button has ref %s, had %s", got, name)
		}
		if got := c.RefIn(after, "textbox", "Email"); got != email {
			c.Errorf("the text box has ref %s, had %s", got, email)
		}
	})
	s.Page(t, "target", "snapshot.html", func(c *suite.Case) {
		text := c.Snap(&executor.SnapshotOptions{Target: suite.Selector("nav")})
		c.WantIn(text, `link "One"`)
		c.WantNotIn(text, "Email", "Pay")
		_, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound, "#nosuch")
		_, err = c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Target: suite.ByRef("e4000")})
		c.WantCode(err, executor.ErrRefExpired, "e4000")
	})
	s.Page(t, "find", "snapshot.html", func(c *suite.Case) {
		text := c.Snap(&executor.SnapshotOptions{Find: "Two"})
		c.WantIn(text, `link "Two"`, `navigation "Sections"`) // with its ancestors
		c.WantNotIn(text, `link "One"`, "Email")
		text = c.Snap(&executor.SnapshotOptions{Find: "/Em[a]il|Pay/"})
		c.WantIn(text, `textbox "Email"`, `button "Pay"`)
		c.WantNotIn(text, "Country")
		_, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Find: "/(/"})
		c.WantCode(err, executor.ErrBadArgs)
	})
	s.Page(t, "depth", "snapshot.html", func(c *suite.Case) {
		shallow, whole := c.Snap(&executor.SnapshotOptions{Depth: 1}), c.Snap(nil)
		c.WantNotIn(shallow, `link "One"`)
		if len(shallow) >= len(whole) {
			c.Errorf("depth 1: %d bytes, complete: %d", len(shallow), len(whole))
		}
	})
	s.Page(t, "interactive only", "snapshot.html", func(c *suite.Case) {
		text := c.Snap(&executor.SnapshotOptions{InteractiveOnly: true})
		c.WantIn(text, `textbox "Email"`, `button "Pay"`, `link "One"`)
		c.WantNotIn(text, "Please check your order")
	})
	s.Page(t, "bounded, with next offset", "long.html", func(c *suite.Case) {
		seen := c.Snap(nil)
		if n := utf8.RuneCountInString(seen); n > executor.DefaultMaxChars {
			c.Errorf("%d characters, want at most %d", n, executor.DefaultMaxChars)
		}
		snap := c.Snapshot(&executor.SnapshotOptions{MaxChars: 2000})
		if n := utf8.RuneCountInString(snap.Text); n > 2000 {
			c.Errorf("%d characters, want at most 2000", n)
		}
		c.WantIn(snap.Text, "Chapter 1") // the viewport has priority
		if !snap.Truncated || snap.Omitted == 0 || snap.Offset == 0 {
			c.Fatalf("Truncated = %v, Omitted = %d, Offset = %d", snap.Truncated, snap.Omitted, snap.Offset)
		}
		more := c.Snapshot(&executor.SnapshotOptions{MaxChars: 2000, Offset: snap.Offset})
		if more.Text == snap.Text || more.Offset <= snap.Offset {
			c.Errorf("offset %d is followed by %d:\n%s", snap.Offset, more.Offset, more.Text)
		}
		c.WantIn(c.Snap(&executor.SnapshotOptions{Find: "Buy 1499"}), `button "Buy 1499"`)
	})
	s.Page(t, "diff", "click.html", func(c *suite.Case) {
		c.Snap(nil)
		a := c.Click(suite.Selector("#add"), nil)
		c.WantIn(a.Diff, "Fresh item")
		c.WantNotIn(a.Diff, "Old item", "Read the terms")
		a = c.Click(suite.Selector("#plain"), nil)
		if a.Diff != "" && strings.Contains(a.Diff, "Fresh item") {
			c.Errorf("an old change is reported again:\n%s", a.Diff)
		}
		c.Eval(`document.querySelector("#list").insertAdjacentHTML("beforeend", "<li>Newest item</li>")`, nil)
		diff := c.Snap(&executor.SnapshotOptions{Diff: true})
		c.WantIn(diff, "Newest item")
		c.WantNotIn(diff, "Old item", "Read the terms")
	})
	s.Page(t, "no visible change", "click.html", func(c *suite.Case) {
		c.Snap(nil)
		a := c.Click(suite.Selector("#plain"), nil)
		ref := c.RefIn(c.Snap(nil), "button", "Plain")
		if want := (executor.Candidate{Role: "button", Name: "Plain", Ref: ref}); !a.Unchanged || a.Diff != "" || a.Focused == nil || *a.Focused != want {
			c.Errorf("first click: Unchanged = %v, Diff = %q, Focused = %v, want %v", a.Unchanged, a.Diff, a.Focused, want)
		}
		if a := c.Click(suite.Selector("#plain"), nil); !a.Unchanged || a.Diff != "" || a.Focused != nil {
			c.Errorf("second click: Unchanged = %v, Diff = %q, Focused = %v", a.Unchanged, a.Diff, a.Focused)
		}
		c.Eval("addEventListener('keydown', () => plain.blur()); 0", nil)
		if a, err := c.Page().Press(c.Ctx, "x", nil); err != nil || !a.Unchanged || a.Focused == nil || *a.Focused != (executor.Candidate{}) {
			c.Errorf("blur: %+v, %v, want that the focus left", a, err)
		}
	})
	s.PageWith(t, "after action none", "click.html", executor.SessionOptions{Gate: executor.AllowAll, AfterAction: executor.AfterNone}, func(c *suite.Case) {
		c.Snap(nil)
		if a := c.Click(suite.Selector("#add"), nil); a.Diff != "" || a.Snapshot != "" {
			c.Errorf("Diff = %q, Snapshot = %q", a.Diff, a.Snapshot)
		}
		// Effects of the click still happen.
		for _, when := range []string{"(f) => f()", "requestAnimationFrame", "setTimeout", "(f) => Promise.resolve().then(f)", "(f) => fetch('report.js').then(f)"} {
			c.Eval("plain.onclick = () => ("+when+")(() => { list.textContent = "+strconv.Quote(when)+" })", nil)
			c.Click(suite.Selector("#plain"), nil)
			c.WantValue("list.textContent", when)
		}
	})
	s.PageWith(t, "after action snapshot", "click.html", executor.SessionOptions{Gate: executor.AllowAll, AfterAction: executor.AfterSnapshot}, func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#add"), nil).Snapshot, "Fresh item", "Old item")
	})
	s.Page(t, "diff of an element without a line", "second.html", func(c *suite.Case) {
		box := &executor.SnapshotOptions{Target: suite.Selector("#box"), Diff: true}
		show := func(outside, in, after string) {
			c.Helper()
			c.Eval(fmt.Sprintf("document.body.innerHTML = `<p>%s</p><div id=box>%s</div><p>%s</p>`; 0", outside, in, after), nil)
		}
		const list = "<p>first</p><p>second</p><p>see <span id=word>third</span></p>"
		show("outside 0", list, "after 0")
		c.Snap(nil)
		show("outside 1", "<p>first 1</p><p>see <span id=word>third</span></p><p>fourth</p>", "after 1")
		diff := c.Snap(box)
		c.WantIn(diff, "[~] text: first 1", "[+] text: fourth", "[-] text: second")
		c.WantNotIn(diff, "outside", "after", "third")
		if diff := c.Snap(box); diff != "no visible change" {
			c.Errorf("reported twice:\n%s", diff)
		}
		show("outside 0", list, "after 0")
		c.Snap(nil)
		c.Eval("word.textContent = 'other'; document.querySelector('#box p').textContent = 'first 2'; 0", nil)
		diff = c.Snap(&executor.SnapshotOptions{Target: suite.Selector("#word"), Diff: true})
		c.WantIn(diff, "[~] text: see other") // the line that the element is in
		c.WantNotIn(diff, "first")
		show("outside 0", list, "after 0")
		c.Snap(nil)
		show("outside 0", "", "after 0")
		c.WantIn(c.Snap(box), "[-] text: first", "[-] text: see third")
	})
	s.Page(t, "title of an abbreviation", "second.html", func(c *suite.Case) {
		c.Eval(`document.body.innerHTML = "<p>The <abbr title='Web Platform Tests'>WPT</abbr> pass, <kbd title='Control + S'><b>Ctrl</b>+S</kbd> saves; <abbr>TLA</abbr></p>"; 0`, nil)
		text := c.Snap(nil)
		c.WantIn(text, `text: The`, `abbr "Web Platform Tests": WPT`, "text: pass,", `kbd "Control + S"`, "text: Ctrl+S", "text: saves; TLA")
	})
	s.Page(t, "shadow root and frames", "frames.html", func(c *suite.Case) {
		c.WantIn(c.SnapWith("Words from across"), `button "In the shadow"`, `iframe "Same site"`, "Words of the frame",
			`iframe "Other site"`, `button "Across"`)
	})
}
