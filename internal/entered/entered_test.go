package entered

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// TestMaskValue checks that texts, lists, maps and JSON are masked, and that origins, ids and
// images are not changed.
func TestMaskValue(t *testing.T) {
	type result struct {
		Origin string
		Text   string
		List   []executor.Tab
		Any    any
		JSON   executor.RawJSON
		Image  []byte
		Next   *result
	}
	var e Values
	e.Add("w", []string{"secret", "secret word", "abc", `say "hi"`, "831942"})
	r := &result{
		Origin: "https://secret.example", Text: "the secret word, abc, say &#34;hi&#34;, say+%22hi%22",
		List: []executor.Tab{{ID: "cdp:secret:1", Title: "secret"}}, Any: []any{"a secret", map[string]any{"k": "secret"}},
		JSON: executor.RawJSON(`{"a":"say \"hi\"","secret":[831942,1831942,83]}`), Image: []byte("secret"), Next: &result{Text: "secret"},
	}
	NewMasker(e.Of([]*frames.Document{{World: "w"}, {World: "other"}})).MaskValue(r)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Origin":"https://secret.example","Text":"the ••••, abc, ••••, ••••","List":[{"tabId":"cdp:secret:1","url":"","title":"••••","active":false,"index":0}],` +
		`"Any":["a ••••",{"k":"••••"}],"JSON":{"a":"••••","••••":["••••","1••••",83]},"Image":"c2VjcmV0","Next":{"Origin":"","Text":"••••","List":null,"Any":null,"JSON":null,"Image":null,"Next":null}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	// What pages and browsers make of a value.
	m := NewMasker([]string{`it's <p@ss> wörd_1! `, "831942"})
	for _, text := range []string{
		"it's &lt;p@ss&gt; wörd_1!", "it&#39;s &lt;p@ss&gt; w&ouml;rd_1!", "it's%20%3Cp%40ss%3E%20w%C3%B6rd_1!", "it%27s+%3Cp%40ss%3E+w%c3%b6rd_1%21",
		`it's \<p@ss\> wörd\_1!`, `it's \u003cp@ss\u003e w\u00f6rd_1!`, "IT'S <P@SS> WÖRD_1!", "it's <p@ss> w\u00ad\u00f6rd_1!", "83\u200b1942", "8319…", "83194…",
	} {
		if got := m.Replace("a " + text + " ."); strings.Trim(got, " …a.") != "••••" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, text := range []string{"8… 8", "it is 8319", "…"} {
		if got := m.Replace(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for i := range 2 * maxDocuments {
		e.Add(fmt.Sprint(i), []string{strings.Repeat("x", 10)})
	}
	if len(e.values) > maxDocuments || len(e.order) > maxDocuments {
		t.Errorf("values of %d documents are stored", len(e.values))
	}
}

// TestReturnedDocument checks which documents are unmasked when they arrive after a handover, and
// which values are masked in them.
func TestReturnedDocument(t *testing.T) {
	for _, tt := range []struct {
		how    Arrival
		world  string
		values int
		again  bool
	}{
		{ArrivalNew, "other", 0, false},
		{ArrivalAgain, "other", 1, true},
		{ArrivalRestored, "left", 1, true},
		{ArrivalRestored, "other", 1, false},
	} {
		var e Values
		d := &frames.Document{World: tt.world}
		e.Arrived(ArrivalAgain, true, []*frames.Document{d})
		if len(e.Pending(d)) > 0 {
			t.Error("without a handover, a document that is loaded again is unmasked")
		}
		e.Watched(&frames.Document{World: "left"})
		e.Report("left", 0, "831942")
		e.Arrived(tt.how, true, nil)
		e.Created(d)
		if values := e.Of([]*frames.Document{d}); len(values) != tt.values || len(e.Pending(d)) > 0 != tt.again {
			t.Errorf("%+v: values %q, unmasked %v", tt, values, len(e.Pending(d)) > 0)
		}
		e.Arrived(ArrivalNew, false, nil)
		if values := e.Of([]*frames.Document{d}); len(values) != tt.values {
			t.Errorf("%+v: after a frame has loaded: values %q", tt, values)
		}
		e.Arrived(ArrivalNew, true, nil)
		next := &frames.Document{World: "next"}
		e.Created(next)
		if values := e.Of([]*frames.Document{next}); len(values) > 0 || len(e.Pending(next)) > 0 {
			t.Errorf("%+v: values %q are masked in the next document", tt, values)
		}
	}
}
