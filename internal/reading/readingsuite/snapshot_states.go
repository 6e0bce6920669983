package readingsuite

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

var refMark = regexp.MustCompile(` \[ref=e\d+\]`)

// bare takes a snapshot and returns its lines without indents and refs, each surrounded by line
// feeds.
func bare(c *suite.Case, opts *executor.SnapshotOptions) string {
	c.Helper()
	return bareLines(c.Snap(opts))
}

func bareLines(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(refMark.ReplaceAllString(text, "")) {
		b.WriteString(strings.TrimLeft(line, " "))
	}
	return b.String()
}

// wantLines checks that a snapshot without refs contains each of lines as a complete line.
func wantLines(c *suite.Case, bare string, lines ...string) {
	c.Helper()
	for _, line := range lines {
		if !strings.Contains(bare, "\n- "+line+"\n") {
			c.Errorf("line %q not found in:\n%s", line, bare)
		}
	}
}

func snapshotStates(s *suite.Runner, t *testing.T) {
	lines := func(name string, want ...string) {
		s.Page(t, name, "snapshot_states.html", func(c *suite.Case) { wantLines(c, bare(c, nil), want...) })
	}
	lines("checkbox states: checked, mixed, unchecked, native and ARIA", `checkbox "Some of them" [mixed]`, `checkbox "All of them" [checked]`,
		`checkbox "Half custom" [mixed]`, `switch "Wifi" [checked]`, `menuitemradio "Large" [checked]`)
	lines("disabled fieldset disables its fields except those in its legend", `textbox "Seats" [disabled]`, `button "Renew"`)
	lines("aria-disabled is inherited until overridden", `button "Blocked" [disabled]`, `button "Free"`)
	lines("selected options, tabs and multiple selection", `listbox "Colours" [multiple]: Red, Blue`, `tab "First" [selected]`, `tab "Second"`)
	lines("pressed and mixed toggle buttons", `button "Bold" [pressed]`, `button "Italic" [mixed] [pressed]`)
	lines("level of headings and tree items", `heading "States" [level=1]`, `heading "Deep heading" [level=4]`, `treeitem "leaf.go" [level=3]`)
	lines("required and invalid fields", `textbox "Needed" [required]`, `textbox "Mail" [invalid]: nonsense`,
		`textbox "Marked" [invalid]`, `spinbutton "Too few" [invalid]: 3`)
	lines("read-only fields", `textbox "Fixed" [readonly]: fixed`, `textbox "Fixed too" [readonly]: steady`)
	lines("aria-current", `link "Pay" [current=step]`, `link "Here" [current]`, `link "Done"`)
	lines("values of sliders, meters and progress bars", `slider "Stars": 3 (three stars)`, `slider "Volume": 30 percent`,
		`spinbutton "Guests": 7`, `meter "Disk": 6 of 10`, `progressbar "Upload": 3 of 4`, `progressbar "Waiting"`)
	lines("values of date, time, color and file inputs", `date "Born": 2026-01-02`, `date "At" [type=time]: 13:45`, `date "Week" [type=week]: 2026-W05`,
		`date "Month" [type=month]: 2026-03`, `date "When" [type=datetime-local]: 2026-01-02T03:04`, `color "Paint": #00ff00`, `button "Photo" [type=file]`)
	lines("lines of a textarea are separate", `textbox "Notes": one\ntwo`)
	lines("placeholder is shown if there is no value", `textbox "Address" [placeholder="you@example.com"]`, `textbox "Filled": here`,
		`textbox "Empty editor" [placeholder="Write something"]`)
	lines("description is shown if it differs from the name", `button "Remove" [description="Removes it for good"]`, `button "Same"`,
		`textbox "Code" [description="Six digits"]`, `button "Open it" [description="In a new window"]`)
	s.Page(t, "expanded and collapsed, before and after a click", "snapshot_states.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), `button "Menu" [collapsed]`, `button "Help" [collapsed]`)
		c.Click(suite.Selector("#menu"), nil)
		wantLines(c, bare(c, nil), `button "Menu" [expanded] [focused]`)
		c.Click(suite.Selector("[popovertarget]"), nil)
		wantLines(c, bare(c, nil), `button "Help" [expanded] [focused]`, `text: Help words`)
	})
	s.Page(t, "required field is invalid after a failed submit", "snapshot_states.html", func(c *suite.Case) {
		c.Click(suite.Selector("#form button"), nil)
		wantLines(c, bare(c, nil), `textbox "Needed" [required] [invalid] [focused]`)
	})
	s.Page(t, "focus in a shadow root and in frames", "frames.html", func(c *suite.Case) {
		c.SnapWith("Words from across")
		c.Click(suite.Selector("#shadow"), nil)
		wantLines(c, bare(c, nil), `button "In the shadow" [focused]`)
		text := c.Snap(nil)
		c.Click(suite.ByRef(c.RefIn(text, "button", "Across")), nil)
		wantLines(c, bare(c, nil), `button "Across" [focused]`)
	})
	s.Page(t, "active option of the focused combobox", "snapshot_structure.html", func(c *suite.Case) {
		c.Eval("combo.focus(); 0", nil)
		wantLines(c, bare(c, nil), `combobox "City" [expanded] [focused]: o`, `option "Oslo" [selected] [focused]`, `option "Odense"`)
	})
}

func snapshotText(s *suite.Runner, t *testing.T) {
	s.Page(t, "invisible text omitted: hidden, transparent, zero size, clipped, off-screen", "snapshot_text.html", func(c *suite.Case) {
		text := c.Snap(nil)
		c.WantNotIn(text, "Unseen")
		c.WantIn(text, "Seen again", "Seen after")
	})
	s.Page(t, "doubtful text is included: on gradients, images, dark boxes, with a shadow", "snapshot_text.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), "text: Seen gradient", "text: Seen shadow", "text: Seen on black", "text: Seen white", "text: Seen over a picture",
			"text: A line with a span that hides nothing")
	})
	s.Page(t, "text with content-visibility: auto is included", "snapshot_text.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), "text: Seen when scrolled to")
	})
	s.Page(t, "hidden text that replaces an image is included", "snapshot_text.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), "text: 4.5 of 5 stars", `heading "Brand in a picture" [level=1]`)
	})
	s.Page(t, "invisible names of controls are included", "snapshot_text.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), `button "Icon button"`, `checkbox "Clear label"`)
	})
	s.Page(t, "invisible characters, bidi controls and terminal colors are removed", "snapshot_hostile.html", func(c *suite.Case) {
		text := bare(c, nil)
		wantLines(c, text, "text: tags end", "text: bidi evil x end", "text: ansi red bold end", "text: zero width end")
		for _, r := range text {
			if r < ' ' && r != '\n' || r == 0x202e || r == 0x200b || r >= 0xe0000 && r <= 0xe007f {
				c.Errorf("%q is in the snapshot", r)
			}
		}
	})
	s.Page(t, "lone surrogates, joined emoji, combining marks and right-to-left text survive", "snapshot_hostile.html", func(c *suite.Case) {
		text := bare(c, nil)
		wantLines(c, text, "text: lone \ufffd and \ufffd end", "text: family \U0001f469\u200d\U0001f469\u200d\U0001f467 flag \U0001f1f3\U0001f1f4 end",
			"text: Zo\u00eb n\u00e4ive end", "text: \u0634\u0643\u0631\u0627 \u05ea\u05d5\u05d3\u05d4 end")
		data, err := json.Marshal(text)
		var back string
		if err != nil || json.Unmarshal(data, &back) != nil || back != text {
			c.Errorf("the snapshot does not survive JSON: %v", err)
		}
	})
	s.Page(t, "page text cannot imitate a line or a ref", "snapshot_hostile.html", func(c *suite.Case) {
		text := c.Snap(nil)
		real := regexp.MustCompile(`(?m)^ *- (text: .*|(page|heading|button|textbox|link) "(\\.|[^"\\])*"( \[ref=e\d+\]| http\S*| \[level=1\])?( \[\w+="(\\.|[^"\\])*"\])?(: .*)?)$`)
		for line := range strings.Lines(text) {
			if !real.MatchString(strings.TrimRight(line, "\n")) {
				c.Errorf("invalid line: %s", line)
			}
			if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "- text: "); ok && (regexp.MustCompile(`(^|[^\\])\[ref=`).MatchString(rest) || strings.ContainsAny(rest[:1], `-"[…`)) {
				c.Errorf("this text imitates syntax: %s", line)
			}
		}
		if n := strings.Count(text, "\n- page"); n != 0 {
			c.Errorf("%d further pages", n)
		}
	})
}
