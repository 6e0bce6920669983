package readingsuite

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// snapshotLong tests texts that are longer than a line of an outline shows by default.
func snapshotLong(s *suite.Runner, t *testing.T) {
	const page = "snapshot_long.html"
	take := func(c *suite.Case, opts executor.SnapshotOptions) *executor.Snapshot {
		c.Helper()
		snap, err := c.Page().Snapshot(c.Ctx, &opts)
		if err != nil {
			c.Fatalf("snapshot %+v: %v", opts, err)
		}
		return snap
	}
	s.Page(t, "truncated text is marked with its length", page+"?words=3000", func(c *suite.Case) {
		snap := take(c, executor.SnapshotOptions{})
		c.WantIn(snap.Text, " of 60787 characters]: before0 before1 ")
		c.WantNotIn(snap.Text, "CLAUSEX")
		if snap.Cut == 0 || !snap.Truncated {
			c.Errorf("cut %d, truncated %v of a text that is cut", snap.Cut, snap.Truncated)
		}
	})
	s.Page(t, "long texts are complete if the budget allows", page, func(c *suite.Case) {
		snap := take(c, executor.SnapshotOptions{MaxChars: 100_000})
		c.WantIn(snap.Text, "CLAUSEX", "line 399", "VALUEX", "NAMEX", "Land 9 | … 290 more", "after599", "sir299", "more59")
		if snap.Cut != 0 || snap.Truncated {
			c.Errorf("cut %d, truncated %v although everything is shown", snap.Cut, snap.Truncated)
		}
	})
	s.Page(t, "element with a larger limit is complete", page+"?words=3000", func(c *suite.Case) {
		if snap := take(c, executor.SnapshotOptions{Target: suite.Selector("#terms"), MaxChars: 70_000}); !strings.Contains(snap.Text, " CLAUSEX ") || !strings.HasSuffix(snap.Text, " after2999\n") || snap.Cut != 0 {
			c.Errorf("cut %d, %d bytes, not all of the text", snap.Cut, len(snap.Text))
		}
		if snap := take(c, executor.SnapshotOptions{Target: suite.Selector("#terms")}); len(snap.Text) < 15_000 || snap.Cut != 1 {
			c.Errorf("cut %d, %d bytes with the default limit, which should be used up", snap.Cut, len(snap.Text))
		}
	})
	s.Page(t, "options of a list that is the target", page, func(c *suite.Case) {
		if snap := take(c, executor.SnapshotOptions{Target: suite.Selector("#lands")}); !strings.HasSuffix(snap.Text, " | Land 298 | Land 299\n") {
			c.Errorf("not all options:\n%s", snap.Text)
		}
	})
	s.Page(t, "find searches complete texts and shows the matching part", page+"?words=3000", func(c *suite.Case) {
		for _, find := range []string{"clausex", "/CLAUSE[X]/", "line 399", "VALUEX", "NAMEX", "Land 299"} {
			snap := take(c, executor.SnapshotOptions{Find: find, MaxChars: 4000})
			if word := strings.Trim(find, "/"); snap.Elements < 2 || !strings.Contains(strings.ToLower(snap.Text), strings.ToLower(strings.NewReplacer("[", "", "]", "").Replace(word))) {
				c.Errorf("find %q shows\n%s", find, snap.Text)
			}
		}
		if snap := take(c, executor.SnapshotOptions{Find: "CLAUSEX"}); !strings.Contains(snap.Text, " of 60787 characters]: ") && !strings.Contains(snap.Text, "to ") {
			c.Errorf("the part is not named:\n%s", snap.Text)
		}
	})
	s.Page(t, "texts that find cannot search completely are reported", page, func(c *suite.Case) {
		c.Eval("terms.textContent = 'word '.repeat(1_000_000) + 'LASTX'; 0", nil)
		if snap := take(c, executor.SnapshotOptions{Find: "LASTX"}); snap.Elements != 0 || snap.Unsearched != 1 {
			c.Errorf("%d lines, %d not searched", snap.Elements, snap.Unsearched)
		}
	})
	s.Page(t, "appended long text is in the diff", page, func(c *suite.Case) {
		c.Snap(nil)
		a := c.Click(suite.Selector("#add"), nil)
		if a.Unchanged || !strings.Contains(a.Diff, "[~] ") || !strings.Contains(a.Diff, "added line") {
			c.Errorf("unchanged %v, diff:\n%s", a.Unchanged, a.Diff)
		}
		c.Eval("journal.firstChild.data += 'x'.repeat(100_000); 0", nil)
		c.Snap(nil)
		if a := c.Click(suite.Selector("#add"), nil); a.Unchanged || !strings.Contains(a.Diff, "[~] ") {
			c.Errorf("beyond the compared text: unchanged %v, diff:\n%s", a.Unchanged, a.Diff)
		}
	})
	s.Page(t, "text typed into a long textarea is in the diff", page, func(c *suite.Case) {
		c.Snap(nil)
		a := c.TypeInto("#area", " typed now", nil)
		if a.Unchanged || !strings.Contains(a.Diff, "typed now") {
			c.Errorf("unchanged %v, diff:\n%s", a.Unchanged, a.Diff)
		}
	})
	s.Page(t, "find does not enlarge the next diff", page+"?words=30000", func(c *suite.Case) {
		c.Snap(nil)
		take(c, executor.SnapshotOptions{Find: "CLAUSEX"})
		if diff := c.Snap(&executor.SnapshotOptions{Diff: true}); diff != "no visible change" {
			c.Errorf("nothing happened, but the diff is:\n%s", diff)
		}
	})
	s.Page(t, "huge title is truncated", page, func(c *suite.Case) {
		c.Eval("document.title = 'T'.repeat(2_000_000); 0", nil)
		if text := c.Snap(nil); len(text) > 21_000 || !strings.Contains(text, `button "Turn"`) {
			c.Errorf("%d bytes", len(text))
		}
	})
}

// snapshotPart tests diffs of a part of the page.
func snapshotPart(s *suite.Runner, t *testing.T) {
	const page = "snapshot_long.html"
	targets := map[string]func(c *suite.Case) executor.Target{
		"a selector":                 func(*suite.Case) executor.Target { return suite.Selector("#box") },
		"an element without a line":  func(*suite.Case) executor.Target { return suite.Selector("body") },
		"a ref of the element shown": func(c *suite.Case) executor.Target { return suite.ByRef(c.Ref("button", "Inner")) },
	}
	for name, target := range suite.Sorted(targets) {
		s.Page(t, "diff of a part: "+name, page, func(c *suite.Case) {
			part := target(c)
			c.Snap(&executor.SnapshotOptions{Target: part})
			diff := func() string { return c.Snap(&executor.SnapshotOptions{Target: part, Diff: true}) }
			if d := diff(); d != "no visible change" {
				c.Fatalf("nothing happened, but the diff is:\n%s", d)
			}
			c.Click(suite.Selector("#turn"), nil)
			d := diff()
			c.WantIn(d, "[~] ", `"Inner 1"`)
			c.WantNotIn(d, "[-]")
			if name != "an element without a line" {
				c.WantNotIn(d, "outside")
			}
			if d := diff(); d != "no visible change" {
				c.Errorf("reported twice:\n%s", d)
			}
		})
	}
	s.Page(t, "diff of a part of the last complete snapshot", page, func(c *suite.Case) {
		part := suite.ByRef(c.Ref("button", "Inner"))
		c.Eval("inner.textContent = 'Inner 1'; out.textContent = 'outside 1'; 0", nil)
		d := c.Snap(&executor.SnapshotOptions{Target: part, Diff: true})
		c.WantIn(d, `[~] button "Inner 1"`)
		c.WantNotIn(d, "[-]", "outside")
	})
	s.Page(t, "diff of a part without an earlier snapshot: error", page, func(c *suite.Case) {
		c.Snap(&executor.SnapshotOptions{Target: suite.Selector("#box")})
		_, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Target: suite.Selector("#out"), Diff: true})
		c.WantCode(err, executor.ErrBadArgs, "no earlier snapshot", "without diff")
	})
	s.Page(t, "diff with find, depth, offset or interactiveOnly: error", page, func(c *suite.Case) {
		c.Snap(nil)
		for word, opts := range suite.Sorted(map[string]executor.SnapshotOptions{
			"find": {Find: "x"}, "depth": {Depth: 1}, "offset": {Offset: 1}, "interactive": {InteractiveOnly: true},
		}) {
			opts.Diff = true
			_, err := c.Page().Snapshot(c.Ctx, &opts)
			c.WantCode(err, executor.ErrBadArgs, word)
		}
	})
}

// snapshotRows tests rows and containers with several clickable elements.
func snapshotRows(s *suite.Runner, t *testing.T) {
	const page = "snapshot_rows.html"
	s.Page(t, "clickable elements inside a clickable element have refs", page, func(c *suite.Case) {
		text := c.Snap(nil)
		for role, names := range suite.Sorted(map[string][]string{"clickable": {"Reply", "Forward", "Flag", "Mute", "Archive", "Delete", "Open 1", "Drop 40"}, "button": {"Star"}}) {
			for _, name := range names {
				c.Click(suite.ByRef(c.RefIn(text, role, name)), nil)
				c.Await("click", strings.ReplaceAll(strings.ToLower(name), " ", ""))
			}
		}
		c.WantIn(text, `clickable "Parcel arrives today"`, `clickable "Invoice overdue"`)
	})
	s.Page(t, "table rows without headers", page, func(c *suite.Case) {
		text := c.Snap(nil)
		c.WantIn(text, "- row", "cell: Pear")
		found := c.Snap(&executor.SnapshotOptions{Find: "Pear"})
		c.WantNotIn(found, "Plum")
		c.Click(suite.ByRef(c.RefIn(found, "button", "Buy")), nil)
		c.Await("click", "pear")
	})
	s.Page(t, "layout table has no rows", page, func(c *suite.Case) {
		wantLines(c, bare(c, nil), "text: Left column", "text: Below it")
	})
}
