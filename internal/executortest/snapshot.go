package executortest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) snapshot(t *testing.T) {
	s.page(t, "outline", "snapshot.html", func(c *testCase) {
		snap := c.snapshot(nil)
		c.wantIn(snap.Text, `page "Snapshot" `+c.url("snapshot.html"), `heading "Checkout" [level=1]`,
			`Please check your order.`, `textbox "Email"`, `: ann@example.com`, `combobox "Country"`, `Norway`,
			`checkbox "Gift wrap"`, `[checked]`, `button "Pay"`, `[disabled]`, `navigation "Sections"`, `link "One"`)
		c.wantNotIn(snap.Text, "Invisible", "Unreachable")
		if snap.Origin != c.origin() {
			c.Errorf("Origin = %q, want %q", snap.Origin, c.origin())
		}
		if snap.Truncated || snap.Omitted != 0 || snap.Elements < 10 {
			c.Errorf("Truncated = %v, Omitted = %d, Elements = %d", snap.Truncated, snap.Omitted, snap.Elements)
		}
	})
	s.page(t, "passwords are masked", "snapshot.html", func(c *testCase) {
		text := c.snap(nil)
		c.wantIn(text, `textbox "Password"`)
		c.wantNotIn(text, "hunter2")
	})
	s.page(t, "clickable without a role", "snapshot.html", func(c *testCase) {
		c.click(byRef(c.ref("clickable", "Only a div")), nil)
		c.await("click", "clickable")
	})
	s.page(t, "text cannot imitate structure", "snapshot.html", func(c *testCase) {
		text := c.snap(nil)
		if regexp.MustCompile(`(?m)\[ref=e999\]$`).MatchString(text) {
			c.Errorf("a name imitates a ref:\n%s", text)
		}
		if strings.Contains(text, `Say "hi"`) {
			c.Errorf("quotes in a name are not escaped:\n%s", text)
		}
	})
	s.page(t, "refs are stable", "snapshot.html", func(c *testCase) {
		before := c.snap(nil)
		email, name := c.refIn(before, "textbox", "Email"), c.refIn(before, "button", "Name me")
		c.click(byRef(name), nil) // renames it and makes it the first child
		after := c.snap(nil)
		if got := c.refIn(after, "button", "Renamed"); got != name {
			c.Errorf("the renamed button has ref %s, had %s", got, name)
		}
		if got := c.refIn(after, "textbox", "Email"); got != email {
			c.Errorf("the text box has ref %s, had %s", got, email)
		}
	})
	s.page(t, "target", "snapshot.html", func(c *testCase) {
		text := c.snap(&executor.SnapshotOptions{Target: css("nav")})
		c.wantIn(text, `link "One"`)
		c.wantNotIn(text, "Email", "Pay")
		_, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Target: css("#nosuch")})
		c.wantCode(err, executor.ErrSelectorNotFound, "#nosuch")
		_, err = c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Target: byRef("e4000")})
		c.wantCode(err, executor.ErrRefExpired, "e4000")
	})
	s.page(t, "find", "snapshot.html", func(c *testCase) {
		text := c.snap(&executor.SnapshotOptions{Find: "Two"})
		c.wantIn(text, `link "Two"`, `navigation "Sections"`) // with its ancestors
		c.wantNotIn(text, `link "One"`, "Email")
		text = c.snap(&executor.SnapshotOptions{Find: "/Em[a]il|Pay/"})
		c.wantIn(text, `textbox "Email"`, `button "Pay"`)
		c.wantNotIn(text, "Country")
		_, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Find: "/(/"})
		c.wantCode(err, executor.ErrBadArgs)
	})
	s.page(t, "depth", "snapshot.html", func(c *testCase) {
		shallow, whole := c.snap(&executor.SnapshotOptions{Depth: 1}), c.snap(nil)
		c.wantNotIn(shallow, `link "One"`)
		if len(shallow) >= len(whole) {
			c.Errorf("depth 1: %d bytes, complete: %d", len(shallow), len(whole))
		}
	})
	s.page(t, "interactive only", "snapshot.html", func(c *testCase) {
		text := c.snap(&executor.SnapshotOptions{InteractiveOnly: true})
		c.wantIn(text, `textbox "Email"`, `button "Pay"`, `link "One"`)
		c.wantNotIn(text, "Please check your order")
	})
	s.page(t, "bounded, with next offset", "long.html", func(c *testCase) {
		seen := c.snap(nil)
		if n := utf8.RuneCountInString(seen); n > executor.DefaultMaxChars {
			c.Errorf("%d characters, want at most %d", n, executor.DefaultMaxChars)
		}
		snap := c.snapshot(&executor.SnapshotOptions{MaxChars: 2000})
		if n := utf8.RuneCountInString(snap.Text); n > 2000 {
			c.Errorf("%d characters, want at most 2000", n)
		}
		c.wantIn(snap.Text, "Chapter 1") // the viewport has priority
		if !snap.Truncated || snap.Omitted == 0 || snap.Offset == 0 {
			c.Fatalf("Truncated = %v, Omitted = %d, Offset = %d", snap.Truncated, snap.Omitted, snap.Offset)
		}
		more := c.snapshot(&executor.SnapshotOptions{MaxChars: 2000, Offset: snap.Offset})
		if more.Text == snap.Text || more.Offset <= snap.Offset {
			c.Errorf("offset %d is followed by %d:\n%s", snap.Offset, more.Offset, more.Text)
		}
		c.wantIn(c.snap(&executor.SnapshotOptions{Find: "Buy 1499"}), `button "Buy 1499"`)
	})
	s.page(t, "diff", "click.html", func(c *testCase) {
		c.snap(nil)
		a := c.click(css("#add"), nil)
		c.wantIn(a.Diff, "Fresh item")
		c.wantNotIn(a.Diff, "Old item", "Read the terms")
		a = c.click(css("#plain"), nil)
		if a.Diff != "" && strings.Contains(a.Diff, "Fresh item") {
			c.Errorf("an old change is reported again:\n%s", a.Diff)
		}
		c.eval(`document.querySelector("#list").insertAdjacentHTML("beforeend", "<li>Newest item</li>")`, nil)
		diff := c.snap(&executor.SnapshotOptions{Diff: true})
		c.wantIn(diff, "Newest item")
		c.wantNotIn(diff, "Old item", "Read the terms")
	})
	s.page(t, "no visible change", "click.html", func(c *testCase) {
		c.snap(nil)
		a := c.click(css("#plain"), nil)
		ref := c.refIn(c.snap(nil), "button", "Plain")
		if want := (executor.Candidate{Role: "button", Name: "Plain", Ref: ref}); !a.Unchanged || a.Diff != "" || a.Focused == nil || *a.Focused != want {
			c.Errorf("first click: Unchanged = %v, Diff = %q, Focused = %v, want %v", a.Unchanged, a.Diff, a.Focused, want)
		}
		if a := c.click(css("#plain"), nil); !a.Unchanged || a.Diff != "" || a.Focused != nil {
			c.Errorf("second click: Unchanged = %v, Diff = %q, Focused = %v", a.Unchanged, a.Diff, a.Focused)
		}
		c.eval("addEventListener('keydown', () => plain.blur()); 0", nil)
		if a, err := c.page().Press(c.ctx, "x", nil); err != nil || !a.Unchanged || a.Focused == nil || *a.Focused != (executor.Candidate{}) {
			c.Errorf("blur: %+v, %v, want that the focus left", a, err)
		}
	})
	s.pageWith(t, "after action none", "click.html", executor.SessionOptions{Gate: executor.AllowAll, AfterAction: executor.AfterNone}, func(c *testCase) {
		c.snap(nil)
		if a := c.click(css("#add"), nil); a.Diff != "" || a.Snapshot != "" {
			c.Errorf("Diff = %q, Snapshot = %q", a.Diff, a.Snapshot)
		}
		// Effects of the click still happen.
		for _, when := range []string{"(f) => f()", "requestAnimationFrame", "setTimeout", "(f) => Promise.resolve().then(f)", "(f) => fetch('report.js').then(f)"} {
			c.eval("plain.onclick = () => ("+when+")(() => { list.textContent = "+strconv.Quote(when)+" })", nil)
			c.click(css("#plain"), nil)
			c.wantValue("list.textContent", when)
		}
	})
	s.pageWith(t, "after action snapshot", "click.html", executor.SessionOptions{Gate: executor.AllowAll, AfterAction: executor.AfterSnapshot}, func(c *testCase) {
		c.wantIn(c.click(css("#add"), nil).Snapshot, "Fresh item", "Old item")
	})
	s.page(t, "diff of an element without a line", "second.html", func(c *testCase) {
		box := &executor.SnapshotOptions{Target: css("#box"), Diff: true}
		show := func(outside, in, after string) {
			c.Helper()
			c.eval(fmt.Sprintf("document.body.innerHTML = `<p>%s</p><div id=box>%s</div><p>%s</p>`; 0", outside, in, after), nil)
		}
		const list = "<p>first</p><p>second</p><p>see <span id=word>third</span></p>"
		show("outside 0", list, "after 0")
		c.snap(nil)
		show("outside 1", "<p>first 1</p><p>see <span id=word>third</span></p><p>fourth</p>", "after 1")
		diff := c.snap(box)
		c.wantIn(diff, "[~] text: first 1", "[+] text: fourth", "[-] text: second")
		c.wantNotIn(diff, "outside", "after", "third")
		if diff := c.snap(box); diff != "no visible change" {
			c.Errorf("reported twice:\n%s", diff)
		}
		show("outside 0", list, "after 0")
		c.snap(nil)
		c.eval("word.textContent = 'other'; document.querySelector('#box p').textContent = 'first 2'; 0", nil)
		diff = c.snap(&executor.SnapshotOptions{Target: css("#word"), Diff: true})
		c.wantIn(diff, "[~] text: see other") // the line that the element is in
		c.wantNotIn(diff, "first")
		show("outside 0", list, "after 0")
		c.snap(nil)
		show("outside 0", "", "after 0")
		c.wantIn(c.snap(box), "[-] text: first", "[-] text: see third")
	})
	s.page(t, "title of an abbreviation", "second.html", func(c *testCase) {
		c.eval(`document.body.innerHTML = "<p>The <abbr title='Web Platform Tests'>WPT</abbr> pass, <kbd title='Control + S'><b>Ctrl</b>+S</kbd> saves; <abbr>TLA</abbr></p>"; 0`, nil)
		text := c.snap(nil)
		c.wantIn(text, `text: The`, `abbr "Web Platform Tests": WPT`, "text: pass,", `kbd "Control + S"`, "text: Ctrl+S", "text: saves; TLA")
	})
	s.page(t, "shadow root and frames", "frames.html", func(c *testCase) {
		c.wantIn(c.snapWith("Words from across"), `button "In the shadow"`, `iframe "Same site"`, "Words of the frame",
			`iframe "Other site"`, `button "Across"`)
	})
}

// nestedFrames tests frames that are not in the page's own document.
func (s *suite) nestedFrames(t *testing.T) {
	s.page(t, "frame of the page's site in a frame of another site", "snapshot_nest.html?plan=oo", func(c *testCase) {
		c.click(byRef(c.refIn(c.snapWith("Words of level 2"), "button", "Button 2")), nil)
		c.await("click", "deep2")
	})
}

// snapWith takes snapshots until one contains part: cross-site frames may finish loading after the
// page. The deadline of the case limits it.
func (c *testCase) snapWith(part string) string {
	c.Helper()
	for {
		text := c.snap(nil)
		if strings.Contains(text, part) {
			return text
		}
		if c.ctx.Err() != nil {
			c.Fatalf("%q did not appear in the snapshot:\n%s", part, text)
		}
	}
}
