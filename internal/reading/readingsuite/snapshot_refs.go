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

func snapshotRefs(s *suite.Runner, t *testing.T) {
	s.Page(t, "reordered list keeps its refs", "snapshot_refs.html", func(c *suite.Case) {
		before := c.Snap(nil)
		c.Eval("list.append(...[...list.children].reverse()); 0", nil)
		after := c.Snap(nil)
		for _, name := range []string{"Alpha", "Beta", "Gamma"} {
			if was, is := c.RefIn(before, "button", name), c.RefIn(after, "button", name); was != is {
				c.Errorf("%s has ref %s, had %s", name, is, was)
			}
		}
		if strings.Index(after, "Gamma") > strings.Index(after, "Alpha") {
			c.Errorf("the order did not change:\n%s", after)
		}
		c.Click(suite.ByRef(c.RefIn(before, "button", "Gamma")), nil)
		c.Await("click", "c")
	})
	s.Page(t, "re-rendered elements: old refs expire, error offers new refs", "snapshot_refs.html", func(c *suite.Case) {
		before := c.Snap(nil)
		c.Eval("list.innerHTML = list.innerHTML; 0", nil)
		after := c.Snap(nil)
		was, is := c.RefIn(before, "button", "Beta"), c.RefIn(after, "button", "Beta")
		if was == is {
			c.Errorf("the new button has ref %s, the old one had %s", is, was)
		}
		_, err := c.Page().Click(c.Ctx, suite.ByRef(was), nil)
		c.WantCode(err, executor.ErrRefExpired, string(was))
		c.WantUntouched("b")
		if e := err.(*executor.Error); len(e.Candidates) == 0 || e.Candidates[0].Ref != is {
			c.Errorf("candidates %+v, want %s first", e.Candidates, is)
		}
	})
	s.Page(t, "removed element expires, restored element has the same ref", "snapshot_refs.html", func(c *suite.Case) {
		ref := c.Ref("button", "Alpha")
		c.Eval("window.kept = a; a.remove(); 0", nil)
		wantExpired(c, ref)
		c.Eval("away.append(kept); 0", nil)
		if got := c.Ref("button", "Alpha"); got != ref {
			c.Errorf("it has ref %s, had %s", got, ref)
		}
	})
	s.Page(t, "element moved into a frame has a new ref", "snapshot_refs.html", func(c *suite.Case) {
		ref := c.Ref("button", "Alpha")
		c.Eval("frame.contentDocument.body.append(a); 0", nil)
		text := c.Snap(nil)
		got := c.RefIn(text, "button", "Alpha")
		if got == ref {
			c.Errorf("it still has ref %s", ref)
		}
		wantExpired(c, ref)
		c.Click(suite.ByRef(got), nil)
		c.Await("click", "a")
	})
	s.Page(t, "refs of a tab are never reused", "snapshot_refs.html", func(c *suite.Case) {
		last := 0
		for i, file := range []string{"snapshot_refs.html", "snapshot_states.html", "snapshot_refs.html?again", "frames.html", "snapshot_refs.html"} {
			if i > 0 {
				c.Must(c.Page().Navigate(c.Ctx, c.URL(file), nil))
			}
			text := c.Snap(nil)
			if n := oldest(text); n <= last {
				c.Errorf("%s has e%d, but e%d was minted before", file, n, last)
			}
			last = newest(text)
		}
		c.Must(c.Page().Reload(c.Ctx, nil))
		if n := oldest(c.Snap(nil)); n <= last {
			c.Errorf("after reload: e%d, but e%d was minted before", n, last)
		}
	})
	s.Page(t, "ref after back: same element or expired", "snapshot_refs.html", func(c *suite.Case) {
		ref := c.Ref("button", "Beta")
		c.Click(suite.Selector("a"), nil)
		wantExpired(c, ref)
		c.Must(c.Page().Back(c.Ctx, nil))
		if _, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil); err != nil {
			c.WantCode(err, executor.ErrRefExpired, string(ref))
			c.Click(suite.ByRef(c.Ref("button", "Beta")), nil)
		}
		c.Await("click", "b")
	})
}

func snapshotBudget(s *suite.Runner, t *testing.T) {
	s.Page(t, "offset pagination shows every row once", "long.html", func(c *suite.Case) {
		seen := make(map[string]int)
		buy := regexp.MustCompile(`button "Buy \d+"`)
		for offset, parts := 1, 0; offset > 0; parts++ {
			if parts > 40 {
				c.Fatal("pagination does not end")
			}
			part := c.Snapshot(&executor.SnapshotOptions{Offset: offset})
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
	s.Page(t, "a large limit shows every row, with valid refs", "long.html", func(c *suite.Case) {
		snap := c.Snapshot(&executor.SnapshotOptions{MaxChars: 64 << 20})
		if n := strings.Count(snap.Text, `button "Buy `); n != 1500 || snap.Truncated || snap.Omitted > 0 || snap.Cut > 0 || strings.Contains(snap.Text, " more ") {
			c.Errorf("%d rows, %d lines omitted, %d cut", n, snap.Omitted, snap.Cut)
		}
		for _, row := range []string{"Buy 1", "Buy 750", "Buy 1500"} {
			text, err := c.Page().Text(c.Ctx, &executor.TextOptions{Target: suite.ByRef(c.RefIn(snap.Text, "button", row))})
			if err != nil || text.Content != row {
				c.Errorf("ref of %s: %+v, %v", row, text, err)
			}
		}
	})
	s.Page(t, "repeated rows are folded except in the viewport", "long.html", func(c *suite.Case) {
		c.Eval("document.querySelectorAll('section')[700].scrollIntoView(); 0", nil)
		text := c.Snap(nil)
		c.WantIn(text, `button "Buy 701"`, `button "Buy 702"`, "like this (offset=")
	})
	s.Page(t, "find: text, regular expression, no match", "long.html", func(c *suite.Case) {
		c.WantIn(c.Snap(&executor.SnapshotOptions{Find: "BUY 77"}), `button "Buy 77"`, `button "Buy 770"`)
		text := c.Snap(&executor.SnapshotOptions{Find: "/^button .buy 77\\b/i"})
		c.WantIn(text, `button "Buy 77"`)
		c.WantNotIn(text, `"Buy 770"`, `"Buy 1"`)
		none, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Find: "nosuchthing"})
		if err != nil || none.Elements != 0 {
			c.Errorf("%+v, %v", none, err)
		}
	})
	s.Page(t, "depth marks omitted lines, interactiveOnly retains frames and dialogs", "snapshot_nest.html?plan=ss", func(c *suite.Case) {
		c.WantIn(c.Snap(&executor.SnapshotOptions{Depth: 2}), "deeper than depth=2")
		c.SnapWith("Words of level 2")
		text := c.Snap(&executor.SnapshotOptions{InteractiveOnly: true})
		c.WantIn(text, `iframe "Level 2"`, `button "Button 2"`)
		c.WantNotIn(text, "Words of level")
	})
	s.Page(t, "diff without an earlier snapshot: error", "snapshot_refs.html", func(c *suite.Case) {
		_, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Diff: true})
		c.WantCode(err, executor.ErrBadArgs, "earlier snapshot")
	})
	s.Page(t, "diff reports added, removed and changed lines with refs", "snapshot_refs.html", func(c *suite.Case) {
		ref := c.RefIn(c.Snap(nil), "button", "Alpha")
		c.Eval("a.disabled = true; b.remove(); away.innerHTML = '<button>Delta</button>'; 0", nil)
		diff := c.Snap(&executor.SnapshotOptions{Diff: true})
		c.WantIn(diff, fmt.Sprintf(`[~] button "Alpha" [ref=%s] [disabled]`, ref), `[-] button "Beta"`, `[+] button "Delta" [ref=e`)
		c.WantNotIn(diff, "Gamma")
	})
}

func snapshotSecrets(s *suite.Runner, t *testing.T) {
	secrets := []string{"hunter2secret", "424242", "4111111111111111", "737", "December", "12/29", "9876pin"}
	s.Page(t, "passwords, one-time codes and card fields are masked, other fields are not", "snapshot_secrets.html", func(c *suite.Case) {
		text := c.Snap(nil)
		c.WantNotIn(strings.ReplaceAll(text, "options: January | December", ""), secrets...)
		c.WantIn(text, `textbox "Plain"`, "not a secret")
		wantLines(c, bareLines(text), `textbox "Card": ••••`, `combobox "Expires": ••••`, `textbox "Empty" [type=password]`)
		for _, secret := range secrets[:4] {
			if found := c.Snap(&executor.SnapshotOptions{Find: secret}); strings.Count(found, "\n") > 1 {
				c.Errorf("find matches the secret %s:\n%s", secret, found)
			}
		}
	})
	s.Page(t, "password made visible by the page stays masked", "snapshot_secrets.html", func(c *suite.Case) {
		c.Snap(nil)
		a := c.Click(suite.Selector("#reveal"), nil)
		c.WantValue("first.type", "text")
		c.WantNotIn(a.Diff+c.Snap(nil), "hunter2secret")
	})
	s.Page(t, "password visible before the first snapshot stays masked", "snapshot_secrets.html", func(c *suite.Case) {
		c.Click(suite.Selector("#reveal"), nil)
		c.WantValue("first.type", "text")
		c.WantNotIn(c.Snap(nil), "hunter2secret")
	})
	s.Page(t, "password value is not reported", "snapshot_secrets.html", func(c *suite.Case) {
		c.Snap(nil)
		a := c.TypeInto("#fresh", "typedsecret", nil)
		c.Await("input", "fresh")
		c.WantNotIn(a.Diff, "typedsecret")
		f := c.Fill(nil, executor.Field{Target: suite.Selector("#card"), Value: "4222222222222"})
		c.WantNotIn(fmt.Sprintf("%+v", *f)+c.Snap(&executor.SnapshotOptions{Diff: true}), "4222222222222")
	})
}

func snapshotStructure(s *suite.Runner, t *testing.T) {
	lines := func(name string, want ...string) {
		s.Page(t, name, "snapshot_structure.html", func(c *suite.Case) { wantLines(c, bare(c, nil), want...) })
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
	s.Page(t, "aria-owns", "snapshot_structure.html", func(c *suite.Case) {
		c.WantIn(bare(c, nil), "\n- list \"Owner\"\n- listitem: near\n- listitem: away\n- text: between\n")
	})
	lines("SVG with names and content", `img "Chart"`, `button "Bar"`, `link "SVG link"`, `canvas "Drawing"`, "canvas")
	lines("MathML is one text", "text: x = 2")
	lines("content of display: contents", `button "In contents"`, "text: loose text")
	s.Page(t, "details elements, closed and open", "snapshot_structure.html", func(c *suite.Case) {
		text := bare(c, nil)
		wantLines(c, text, `summary "Closed part" [collapsed]`, `summary "Open part" [expanded]`, "text: Seen inside")
		c.WantNotIn(text, "Not yet seen", "Only found", "Popover words", "Confirm")
		c.Click(suite.Selector("summary"), nil)
		wantLines(c, bare(c, nil), `summary "Closed part" [expanded] [focused]`, "text: Not yet seen")
	})
	s.Page(t, "clicks on refs of hidden inputs work", "snapshot_structure.html", func(c *suite.Case) {
		text := c.Snap(nil)
		for role, name := range map[string]string{"b2": "Clear box", "b3": "Clipped box"} {
			c.Click(suite.ByRef(c.RefIn(text, "checkbox", name)), nil)
			c.Await("change", role)
		}
		c.Click(suite.ByRef(c.RefIn(text, "clickable", "Gone box")), nil)
		c.Await("change", "b5")
		wantLines(c, bare(c, nil), `checkbox "Clear box" [checked]`, `clickable "Gone box" [checked]`)
	})
}
