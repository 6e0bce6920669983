package outline_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
)

// An accnameCase is one element with the name and role that the specifications define. A dash is
// not compared.
type accnameCase struct {
	line             int
	rule, html       string
	name, role       string
	gotName, gotRole string // result of chrome-mcp, where it differs
	reason           string // for the deviation; empty if there is none
	chromium         string // name that Chromium gives, where it differs
	chromiumReason   string // for that; empty if it does not differ
}

// readAccnameCases reads testdata/accname/cases.txt. The head of the file describes its format.
func readAccnameCases(t *testing.T) []*accnameCase {
	t.Helper()
	data, err := os.ReadFile("testdata/accname/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []*accnameCase
	rule := ""
	for i, line := range strings.Split(string(data), "\n") {
		if r, ok := strings.CutPrefix(line, "== "); ok {
			rule = r
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "chromium: "); ok {
			c := cases[len(cases)-1]
			c.chromium, c.chromiumReason, ok = strings.Cut(" "+rest, " | ")
			c.chromium = strings.Trim(c.chromium, " ")
			if !ok || c.chromiumReason == "" {
				t.Fatalf("cases.txt:%d: want chromium: NAME | REASON", i+1)
			}
			continue
		}
		rest, deviates := strings.CutPrefix(line, "deviates: ")
		// A line may start with an empty name.
		f := strings.SplitN(" "+rest, " | ", 3)
		if len(f) != 3 || rule == "" {
			t.Fatalf("cases.txt:%d: want NAME | ROLE | HTML below a rule", i+1)
		}
		name, role := strings.Trim(f[0], " "), f[1]
		if deviates {
			c := cases[len(cases)-1]
			c.gotName, c.gotRole, c.reason = name, role, f[2]
			continue
		}
		c := &accnameCase{line: i + 1, rule: rule, name: name, role: role}
		c.html = strings.ReplaceAll(f[2], "$", strconv.Itoa(len(cases)))
		cases = append(cases, c)
	}
	return cases
}

// TestAccessibleNames compares names and roles with those that the specifications define. All cases
// are on one page.
func TestAccessibleNames(t *testing.T) {
	cases := readAccnameCases(t)
	var page strings.Builder
	page.WriteString("<!doctype html><meta charset=utf-8><title>Names</title><body>\n")
	for _, c := range cases {
		fmt.Fprintf(&page, "<div class=case>%s</div>\n", c.html)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page.String())
	}))
	defer srv.Close()
	p := startBrowser(t).newTab(t, srv.URL)
	var got []describedElement
	var ids []int
	p.js(`() => {
  const marked = (root) => {
    for (const el of root.querySelectorAll('*')) {
      if (el.hasAttribute('t')) return el;
      const inner = el.shadowRoot && marked(el.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  const targets = [...document.querySelectorAll('.case')].map((box) => marked(box) || box.firstElementChild);
  for (const el of targets) el.removeAttribute('t');
  return targets.map(__cm.idOf);
}`, &ids)
	p.js("(ids) => ids.map(__cm.describeFully)", &got, ids)
	if len(got) != len(cases) {
		t.Fatalf("the page has %d cases, want %d", len(got), len(cases))
	}
	asSpecified, deviations := 0, 0
	for i, c := range cases {
		wantName, wantRole := c.name, c.role
		if c.reason != "" {
			deviations++
			wantName, wantRole = c.gotName, c.gotRole
		} else {
			asSpecified++
		}
		if wantName != "-" && got[i].Name != wantName || wantRole != "-" && got[i].Role != wantRole {
			asSpecified--
			t.Errorf("cases.txt:%d: %s: name %q, role %s, want %q, %s\n\t%s", c.line, c.rule, got[i].Name, got[i].Role, wantName, wantRole, c.html)
		}
	}
	t.Logf("%d cases: %d as specified, %d deviate for a reason", len(cases), asSpecified, deviations)
	for i, c := range cases {
		theirs := p.axNode(ids[i])
		name, want := theirs.name(), c.name
		if c.chromiumReason != "" {
			want = c.chromium
		}
		if c.name != "-" && want != "-" && name != want {
			t.Errorf("cases.txt:%d: %s: Chromium's name is %q, want %q\n\t%s", c.line, c.rule, name, want, c.html)
		}
	}
}
