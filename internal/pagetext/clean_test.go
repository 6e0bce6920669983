package pagetext

import (
	_ "embed"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"modernc.org/quickjs"
)

// A foldRow is a row of testdata/fold.json: a text and what Fold and FoldCase, and foldText and
// foldCase of the page scripts, return for it.
type foldRow struct {
	Text string `json:"text"`
	Fold string `json:"fold"`
	Case string `json:"case"`
}

//go:embed testdata/fold.json
var foldTable []byte

func foldRows(t *testing.T) []foldRow {
	t.Helper()
	var rows []foldRow
	if err := json.Unmarshal(foldTable, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestFold(t *testing.T) {
	for _, row := range foldRows(t) {
		if got := Fold(row.Text); got != row.Fold || Fold(got) != got {
			t.Errorf("Fold(%+q) = %+q, want %+q", row.Text, got, row.Fold)
		}
		if got := FoldCase(row.Text); got != row.Case || FoldCase(got) != got || FoldCase(Clean(row.Text)) != got {
			t.Errorf("FoldCase(%+q) = %+q, want %+q", row.Text, got, row.Case)
		}
	}
}

// TestFoldOfPageScripts checks that the page scripts have the same idea of the same text.
func TestFoldOfPageScripts(t *testing.T) {
	source, err := os.ReadFile("../page/js/same_text.js")
	if err != nil {
		t.Fatal(err)
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	if _, err := vm.Eval(strings.ReplaceAll(string(source), "\nexport ", "\n"), quickjs.EvalGlobal); err != nil {
		t.Fatal(err)
	}
	got, err := vm.Eval("JSON.stringify("+string(foldTable)+".map(({ text }) => ({ text, fold: foldText(text), case: foldCase(text) })))", quickjs.EvalGlobal)
	if err != nil {
		t.Fatal(err)
	}
	var rows []foldRow
	if err := json.Unmarshal([]byte(got.(string)), &rows); err != nil {
		t.Fatal(err)
	}
	for i, want := range foldRows(t) {
		if i >= len(rows) || rows[i] != want {
			t.Errorf("row %d of the page scripts: %+q, want %+q", i, rows[min(i, len(rows)-1)], want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"Re\u0301sume\u0301\u00a0":            "Résumé",
		"\u2764\ufe0f\ufe0f":                  "\u2764\ufe0f",
		"\U0001f469\u200d\U0001f4bb a\u200db": "\U0001f469\u200d\U0001f4bb ab",
		"bad \xff":                            "bad \ufffd",
		"a" + strings.Repeat("\u0301", 40):    "á" + strings.Repeat("\u0301", 39),
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", text, got, want)
		}
	}
}

func TestIndex(t *testing.T) {
	for _, tt := range []struct{ text, want, found string }{
		{"Add to Cart", "to c", "to C"},
		{"Un Cafe\u0301 cre\u0300me", "CAFÉ", "Café"},
		{"Die Straße endet", "strasse", "Straße"},
		{"\u2764\ufe0f love \u2764\ufe0f", "\u2764 love", "\u2764\ufe0f love"},
		{"in İzmir", "izm", "İzm"},
		{"ΟΔΟΣ", "οδος", "ΟΔΟΣ"},
		{"İİİ end", "end", "end"},
		{"İİİ end", "x", ""},
	} {
		s := Clean(tt.text)
		start, end := Index(s, FoldCase(tt.want))
		if start < 0 && tt.found == "" {
			continue
		}
		if start < 0 || s[start:end] != tt.found {
			t.Errorf("Index(%+q, %+q) = %d, %d, want %+q", s, tt.want, start, end, tt.found)
		}
	}
}
