package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// snapshotLong tests texts that are longer than a line of an outline shows by default.
func (s *suite) snapshotLong(t *testing.T) {
	const page = "snapshot_long.html"
	take := func(c *testCase, opts executor.SnapshotOptions) *executor.Snapshot {
		c.Helper()
		snap, err := c.page().Snapshot(c.ctx, &opts)
		if err != nil {
			c.Fatalf("snapshot %+v: %v", opts, err)
		}
		return snap
	}
	s.page(t, "truncated text is marked with its length", page+"?words=3000", func(c *testCase) {
		snap := take(c, executor.SnapshotOptions{})
		c.wantIn(snap.Text, " of 60787 characters]: before0 before1 ")
		c.wantNotIn(snap.Text, "CLAUSEX")
		if snap.Cut == 0 || !snap.Truncated {
			c.Errorf("cut %d, truncated %v of a text that is cut", snap.Cut, snap.Truncated)
		}
	})
	s.page(t, "long texts are complete if the budget allows", page, func(c *testCase) {
		snap := take(c, executor.SnapshotOptions{MaxChars: 100_000})
		c.wantIn(snap.Text, "CLAUSEX", "line 399", "VALUEX", "NAMEX", "Land 9 | … 290 more", "after599", "sir299", "more59")
		if snap.Cut != 0 || snap.Truncated {
			c.Errorf("cut %d, truncated %v although everything is shown", snap.Cut, snap.Truncated)
		}
	})
	s.page(t, "element with a larger limit is complete", page+"?words=3000", func(c *testCase) {
		if snap := take(c, executor.SnapshotOptions{Target: css("#terms"), MaxChars: 70_000}); !strings.Contains(snap.Text, " CLAUSEX ") || !strings.HasSuffix(snap.Text, " after2999\n") || snap.Cut != 0 {
			c.Errorf("cut %d, %d bytes, not all of the text", snap.Cut, len(snap.Text))
		}
		if snap := take(c, executor.SnapshotOptions{Target: css("#terms")}); len(snap.Text) < 15_000 || snap.Cut != 1 {
			c.Errorf("cut %d, %d bytes with the default limit, which should be used up", snap.Cut, len(snap.Text))
		}
	})
	s.page(t, "options of a list that is the target", page, func(c *testCase) {
		if snap := take(c, executor.SnapshotOptions{Target: css("#lands")}); !strings.HasSuffix(snap.Text, " | Land 298 | Land 299\n") {
			c.Errorf("not all options:\n%s", snap.Text)
		}
	})
	s.page(t, "find searches complete texts and shows the matching part", page+"?words=3000", func(c *testCase) {
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
	s.page(t, "texts that find cannot search completely are reported", page, func(c *testCase) {
		c.eval("terms.textContent = 'word '.repeat(1_000_000) + 'LASTX'; 0", nil)
		if snap := take(c, executor.SnapshotOptions{Find: "LASTX"}); snap.Elements != 0 || snap.Unsearched != 1 {
			c.Errorf("%d lines, %d not searched", snap.Elements, snap.Unsearched)
		}
	})
	s.page(t, "appended long text is in the diff", page, func(c *testCase) {
		c.snap(nil)
		a := c.click(css("#add"), nil)
		if a.Unchanged || !strings.Contains(a.Diff, "[~] ") || !strings.Contains(a.Diff, "added line") {
			c.Errorf("unchanged %v, diff:\n%s", a.Unchanged, a.Diff)
		}
		c.eval("journal.firstChild.data += 'x'.repeat(100_000); 0", nil)
		c.snap(nil)
		if a := c.click(css("#add"), nil); a.Unchanged || !strings.Contains(a.Diff, "[~] ") {
			c.Errorf("beyond the compared text: unchanged %v, diff:\n%s", a.Unchanged, a.Diff)
		}
	})
	s.page(t, "text typed into a long textarea is in the diff", page, func(c *testCase) {
		c.snap(nil)
		a := c.typeInto("#area", " typed now", nil)
		if a.Unchanged || !strings.Contains(a.Diff, "typed now") {
			c.Errorf("unchanged %v, diff:\n%s", a.Unchanged, a.Diff)
		}
	})
	s.page(t, "find does not enlarge the next diff", page+"?words=30000", func(c *testCase) {
		c.snap(nil)
		take(c, executor.SnapshotOptions{Find: "CLAUSEX"})
		if diff := c.snap(&executor.SnapshotOptions{Diff: true}); diff != "no visible change" {
			c.Errorf("nothing happened, but the diff is:\n%s", diff)
		}
	})
	s.page(t, "huge title is truncated", page, func(c *testCase) {
		c.eval("document.title = 'T'.repeat(2_000_000); 0", nil)
		if text := c.snap(nil); len(text) > 21_000 || !strings.Contains(text, `button "Turn"`) {
			c.Errorf("%d bytes", len(text))
		}
	})
}

// snapshotPart tests diffs of a part of the page.
func (s *suite) snapshotPart(t *testing.T) {
	const page = "snapshot_long.html"
	targets := map[string]func(c *testCase) executor.Target{
		"a selector":                 func(*testCase) executor.Target { return css("#box") },
		"an element without a line":  func(*testCase) executor.Target { return css("body") },
		"a ref of the element shown": func(c *testCase) executor.Target { return byRef(c.ref("button", "Inner")) },
	}
	for name, target := range sorted(targets) {
		s.page(t, "diff of a part: "+name, page, func(c *testCase) {
			part := target(c)
			c.snap(&executor.SnapshotOptions{Target: part})
			diff := func() string { return c.snap(&executor.SnapshotOptions{Target: part, Diff: true}) }
			if d := diff(); d != "no visible change" {
				c.Fatalf("nothing happened, but the diff is:\n%s", d)
			}
			c.click(css("#turn"), nil)
			d := diff()
			c.wantIn(d, "[~] ", `"Inner 1"`)
			c.wantNotIn(d, "[-]")
			if name != "an element without a line" {
				c.wantNotIn(d, "outside")
			}
			if d := diff(); d != "no visible change" {
				c.Errorf("reported twice:\n%s", d)
			}
		})
	}
	s.page(t, "diff of a part of the last complete snapshot", page, func(c *testCase) {
		part := byRef(c.ref("button", "Inner"))
		c.eval("inner.textContent = 'Inner 1'; out.textContent = 'outside 1'; 0", nil)
		d := c.snap(&executor.SnapshotOptions{Target: part, Diff: true})
		c.wantIn(d, `[~] button "Inner 1"`)
		c.wantNotIn(d, "[-]", "outside")
	})
	s.page(t, "diff of a part without an earlier snapshot: error", page, func(c *testCase) {
		c.snap(&executor.SnapshotOptions{Target: css("#box")})
		_, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Target: css("#out"), Diff: true})
		c.wantCode(err, executor.ErrBadArgs, "no earlier snapshot", "without diff")
	})
	s.page(t, "diff with find, depth, offset or interactiveOnly: error", page, func(c *testCase) {
		c.snap(nil)
		for word, opts := range sorted(map[string]executor.SnapshotOptions{
			"find": {Find: "x"}, "depth": {Depth: 1}, "offset": {Offset: 1}, "interactive": {InteractiveOnly: true},
		}) {
			opts.Diff = true
			_, err := c.page().Snapshot(c.ctx, &opts)
			c.wantCode(err, executor.ErrBadArgs, word)
		}
	})
}

// snapshotRows tests rows and containers with several clickable elements.
func (s *suite) snapshotRows(t *testing.T) {
	const page = "snapshot_rows.html"
	s.page(t, "clickable elements inside a clickable element have refs", page, func(c *testCase) {
		text := c.snap(nil)
		for role, names := range sorted(map[string][]string{"clickable": {"Reply", "Forward", "Flag", "Mute", "Archive", "Delete", "Open 1", "Drop 40"}, "button": {"Star"}}) {
			for _, name := range names {
				c.click(byRef(c.refIn(text, role, name)), nil)
				c.await("click", strings.ReplaceAll(strings.ToLower(name), " ", ""))
			}
		}
		c.wantIn(text, `clickable "Parcel arrives today"`, `clickable "Invoice overdue"`)
	})
	s.page(t, "table rows without headers", page, func(c *testCase) {
		text := c.snap(nil)
		c.wantIn(text, "- row", "cell: Pear")
		found := c.snap(&executor.SnapshotOptions{Find: "Pear"})
		c.wantNotIn(found, "Plum")
		c.click(byRef(c.refIn(found, "button", "Buy")), nil)
		c.await("click", "pear")
	})
	s.page(t, "layout table has no rows", page, func(c *testCase) {
		c.wantLines(c.bare(nil), "text: Left column", "text: Below it")
	})
}
