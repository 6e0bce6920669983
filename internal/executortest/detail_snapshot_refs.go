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

var anyRef = regexp.MustCompile(`\[ref=e(\d+)\]`)

// newest returns the largest number of a ref in a snapshot, oldest the smallest.
func newest(text string) (n int) {
	for _, m := range anyRef.FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(m[1])
		n = max(n, i)
	}
	return n
}

func oldest(text string) int {
	n := 1 << 30
	for _, m := range anyRef.FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(m[1])
		n = min(n, i)
	}
	return n
}

func (s *suite) snapshotRefs(t *testing.T) {
	s.page(t, "reordered list keeps its refs", "snapshot_refs.html", func(c *testCase) {
		before := c.snap(nil)
		c.eval("list.append(...[...list.children].reverse()); 0", nil)
		after := c.snap(nil)
		for _, name := range []string{"Alpha", "Beta", "Gamma"} {
			if was, is := c.refIn(before, "button", name), c.refIn(after, "button", name); was != is {
				c.Errorf("%s has ref %s, had %s", name, is, was)
			}
		}
		if strings.Index(after, "Gamma") > strings.Index(after, "Alpha") {
			c.Errorf("the order did not change:\n%s", after)
		}
		c.click(byRef(c.refIn(before, "button", "Gamma")), nil)
		c.await("click", "c")
	})
	s.page(t, "re-rendered elements: old refs expire, error offers new refs", "snapshot_refs.html", func(c *testCase) {
		before := c.snap(nil)
		c.eval("list.innerHTML = list.innerHTML; 0", nil)
		after := c.snap(nil)
		was, is := c.refIn(before, "button", "Beta"), c.refIn(after, "button", "Beta")
		if was == is {
			c.Errorf("the new button has ref %s, the old one had %s", is, was)
		}
		_, err := c.page().Click(c.ctx, byRef(was), nil)
		c.wantCode(err, executor.ErrRefExpired, string(was))
		c.wantUntouched("b")
		if e := err.(*executor.Error); len(e.Candidates) == 0 || e.Candidates[0].Ref != is {
			c.Errorf("candidates %+v, want %s first", e.Candidates, is)
		}
	})
	s.page(t, "removed element expires, restored element has the same ref", "snapshot_refs.html", func(c *testCase) {
		ref := c.ref("button", "Alpha")
		c.eval("window.kept = a; a.remove(); 0", nil)
		c.wantExpired(ref)
		c.eval("away.append(kept); 0", nil)
		if got := c.ref("button", "Alpha"); got != ref {
			c.Errorf("it has ref %s, had %s", got, ref)
		}
	})
	s.page(t, "element moved into a frame has a new ref", "snapshot_refs.html", func(c *testCase) {
		ref := c.ref("button", "Alpha")
		c.eval("frame.contentDocument.body.append(a); 0", nil)
		text := c.snap(nil)
		got := c.refIn(text, "button", "Alpha")
		if got == ref {
			c.Errorf("it still has ref %s", ref)
		}
		c.wantExpired(ref)
		c.click(byRef(got), nil)
		c.await("click", "a")
	})
	s.page(t, "refs of a tab are never reused", "snapshot_refs.html", func(c *testCase) {
		last := 0
		for i, file := range []string{"snapshot_refs.html", "snapshot_states.html", "snapshot_refs.html?again", "frames.html", "snapshot_refs.html"} {
			if i > 0 {
				c.must(c.page().Navigate(c.ctx, c.url(file), nil))
			}
			text := c.snap(nil)
			if n := oldest(text); n <= last {
				c.Errorf("%s has e%d, but e%d was minted before", file, n, last)
			}
			last = newest(text)
		}
		c.must(c.page().Reload(c.ctx, nil))
		if n := oldest(c.snap(nil)); n <= last {
			c.Errorf("after reload: e%d, but e%d was minted before", n, last)
		}
	})
	s.page(t, "ref after back: same element or expired", "snapshot_refs.html", func(c *testCase) {
		ref := c.ref("button", "Beta")
		c.click(css("a"), nil)
		c.wantExpired(ref)
		c.must(c.page().Back(c.ctx, nil))
		if _, err := c.page().Click(c.ctx, byRef(ref), nil); err != nil {
			c.wantCode(err, executor.ErrRefExpired, string(ref))
			c.click(byRef(c.ref("button", "Beta")), nil)
		}
		c.await("click", "b")
	})
}

func (s *suite) snapshotBudget(t *testing.T) {
	s.page(t, "offset pagination shows every row once", "long.html", func(c *testCase) {
		seen := make(map[string]int)
		buy := regexp.MustCompile(`button "Buy \d+"`)
		for offset, parts := 1, 0; offset > 0; parts++ {
			if parts > 40 {
				c.Fatal("pagination does not end")
			}
			part := c.snapshot(&executor.SnapshotOptions{Offset: offset})
			if n := utf8.RuneCountInString(part.Text); n > executor.DefaultMaxChars {
				c.Errorf("%d characters", n)
			}
			for _, b := range buy.FindAllString(part.Text, -1) {
				seen[b]++
			}
			offset = part.Offset
		}
		for i := 1; i <= 1500; i++ {
			if n := seen[fmt.Sprintf(`button "Buy %d"`, i)]; n != 1 {
				c.Fatalf("row %d is shown %d times", i, n)
			}
		}
	})
	s.page(t, "a large limit shows every row, with valid refs", "long.html", func(c *testCase) {
		snap := c.snapshot(&executor.SnapshotOptions{MaxChars: 64 << 20})
		if n := strings.Count(snap.Text, `button "Buy `); n != 1500 || snap.Truncated || snap.Omitted > 0 || snap.Cut > 0 || strings.Contains(snap.Text, " more ") {
			c.Errorf("%d rows, %d lines omitted, %d cut", n, snap.Omitted, snap.Cut)
		}
		for _, row := range []string{"Buy 1", "Buy 750", "Buy 1500"} {
			text, err := c.page().Text(c.ctx, &executor.TextOptions{Target: byRef(c.refIn(snap.Text, "button", row))})
			if err != nil || text.Content != row {
				c.Errorf("ref of %s: %+v, %v", row, text, err)
			}
		}
	})
	s.page(t, "repeated rows are folded except in the viewport", "long.html", func(c *testCase) {
		c.eval("document.querySelectorAll('section')[700].scrollIntoView(); 0", nil)
		text := c.snap(nil)
		c.wantIn(text, `button "Buy 701"`, `button "Buy 702"`, "like this (offset=")
	})
	s.page(t, "find: text, regular expression, no match", "long.html", func(c *testCase) {
		c.wantIn(c.snap(&executor.SnapshotOptions{Find: "BUY 77"}), `button "Buy 77"`, `button "Buy 770"`)
		text := c.snap(&executor.SnapshotOptions{Find: "/^button .buy 77\\b/i"})
		c.wantIn(text, `button "Buy 77"`)
		c.wantNotIn(text, `"Buy 770"`, `"Buy 1"`)
		none, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Find: "nosuchthing"})
		if err != nil || none.Elements != 0 {
			c.Errorf("%+v, %v", none, err)
		}
	})
	s.page(t, "depth marks omitted lines, interactiveOnly retains frames and dialogs", "snapshot_nest.html?plan=ss", func(c *testCase) {
		c.wantIn(c.snap(&executor.SnapshotOptions{Depth: 2}), "deeper than depth=2")
		c.snapWith("Words of level 2")
		text := c.snap(&executor.SnapshotOptions{InteractiveOnly: true})
		c.wantIn(text, `iframe "Level 2"`, `button "Button 2"`)
		c.wantNotIn(text, "Words of level")
	})
	s.page(t, "diff without an earlier snapshot: error", "snapshot_refs.html", func(c *testCase) {
		_, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Diff: true})
		c.wantCode(err, executor.ErrBadArgs, "earlier snapshot")
	})
	s.page(t, "diff reports added, removed and changed lines with refs", "snapshot_refs.html", func(c *testCase) {
		ref := c.refIn(c.snap(nil), "button", "Alpha")
		c.eval("a.disabled = true; b.remove(); away.innerHTML = '<button>Delta</button>'; 0", nil)
		diff := c.snap(&executor.SnapshotOptions{Diff: true})
		c.wantIn(diff, fmt.Sprintf(`[~] button "Alpha" [ref=%s] [disabled]`, ref), `[-] button "Beta"`, `[+] button "Delta" [ref=e`)
		c.wantNotIn(diff, "Gamma")
	})
}

func (s *suite) snapshotSecrets(t *testing.T) {
	secrets := []string{"hunter2secret", "424242", "4111111111111111", "737", "December", "12/29", "9876pin"}
	s.page(t, "passwords, one-time codes and card fields are masked, other fields are not", "snapshot_secrets.html", func(c *testCase) {
		text := c.snap(nil)
		c.wantNotIn(strings.ReplaceAll(text, "options: January | December", ""), secrets...)
		c.wantIn(text, `textbox "Plain"`, "not a secret")
		c.wantLines(bareLines(text), `textbox "Card": ••••`, `combobox "Expires": ••••`, `textbox "Empty" [type=password]`)
		for _, secret := range secrets[:4] {
			if found := c.snap(&executor.SnapshotOptions{Find: secret}); strings.Count(found, "\n") > 1 {
				c.Errorf("find matches the secret %s:\n%s", secret, found)
			}
		}
	})
	s.page(t, "password made visible by the page stays masked", "snapshot_secrets.html", func(c *testCase) {
		c.snap(nil)
		a := c.click(css("#reveal"), nil)
		c.wantValue("first.type", "text")
		c.wantNotIn(a.Diff+c.snap(nil), "hunter2secret")
	})
	s.page(t, "password visible before the first snapshot stays masked", "snapshot_secrets.html", func(c *testCase) {
		c.click(css("#reveal"), nil)
		c.wantValue("first.type", "text")
		c.wantNotIn(c.snap(nil), "hunter2secret")
	})
	s.page(t, "password value is not reported", "snapshot_secrets.html", func(c *testCase) {
		c.snap(nil)
		a := c.typeInto("#fresh", "typedsecret", nil)
		c.await("input", "fresh")
		c.wantNotIn(a.Diff, "typedsecret")
		f := c.fill(nil, executor.Field{Target: css("#card"), Value: "4222222222222"})
		c.wantNotIn(fmt.Sprintf("%+v", *f)+c.snap(&executor.SnapshotOptions{Diff: true}), "4222222222222")
	})
}

func (s *suite) snapshotStructure(t *testing.T) {
	lines := func(name string, want ...string) {
		s.page(t, name, "snapshot_structure.html", func(c *testCase) { c.wantLines(c.bare(nil), want...) })
	}
	lines("table cells, headers, spans and captions", `table "Plans"`, "row: Plan | Price", "row: Small | 1 | 2", "cell: 3", `button "Buy small"`)
	lines("table with display: block is a table", "row: Key | Value")
	lines("grid cells have refs", `grid "Sheet"`, "row: A | B", "gridcell: 1", "gridcell: 2")
	lines("nested lists and definition lists", "listitem: Nested", "listitem: Two", "term: Term", "definition: Definition")
	lines("generated text, icon fonts and image alternatives", "text: Name (required)", "text: Iconed", "text: favourite Starred", "text: 5 kg", "text: “Quoted”")
	lines("hidden inputs are reached by their labels", `checkbox "Off screen box"`, `checkbox "Clear box"`, `checkbox "Clipped box"`, `radio "Faded radio"`, `clickable "Gone box"`)
	lines("select shows options, groups and disabled options", `combobox "Fruit": Apple`, "options: Sweet: Apple | Pear | Sour: Lemon (disabled)", `listbox "Sized": M`)
	lines("editable combobox and its list", `combobox "City" [expanded]: o`, `listbox "Cities"`, `option "Oslo" [selected]`, `option "Odense"`)
	lines("lines of a rich text editor are separate", `textbox "Editor": First line\n\nSecond bold\nthird`, "textbox: bare editor with link")
	s.page(t, "aria-owns", "snapshot_structure.html", func(c *testCase) {
		c.wantIn(c.bare(nil), "\n- list \"Owner\"\n- listitem: near\n- listitem: away\n- text: between\n")
	})
	lines("SVG with names and content", `img "Chart"`, `button "Bar"`, `link "SVG link"`, `canvas "Drawing"`, "canvas")
	lines("MathML is one text", "text: x = 2")
	lines("content of display: contents", `button "In contents"`, "text: loose text")
	s.page(t, "details elements, closed and open", "snapshot_structure.html", func(c *testCase) {
		text := c.bare(nil)
		c.wantLines(text, `summary "Closed part" [collapsed]`, `summary "Open part" [expanded]`, "text: Seen inside")
		c.wantNotIn(text, "Not yet seen", "Only found", "Popover words", "Confirm")
		c.click(css("summary"), nil)
		c.wantLines(c.bare(nil), `summary "Closed part" [expanded] [focused]`, "text: Not yet seen")
	})
	s.page(t, "clicks on refs of hidden inputs work", "snapshot_structure.html", func(c *testCase) {
		text := c.snap(nil)
		for role, name := range map[string]string{"b2": "Clear box", "b3": "Clipped box"} {
			c.click(byRef(c.refIn(text, "checkbox", name)), nil)
			c.await("change", role)
		}
		c.click(byRef(c.refIn(text, "clickable", "Gone box")), nil)
		c.await("change", "b5")
		c.wantLines(c.bare(nil), `checkbox "Clear box" [checked]`, `clickable "Gone box" [checked]`)
	})
}
