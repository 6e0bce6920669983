package outline_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestFoldOfAllCharacters checks that the page scripts in the browser fold every character as package
// pagetext does. The table in internal/pagetext has sequences of characters.
func TestFoldOfAllCharacters(t *testing.T) {
	tier.Deep(t)
	p := startBrowser(t).newTab(t, serve(t, "<!doctype html>"))
	const block = 1 << 14
	for first := rune(0); first <= unicode.MaxRune; first += block {
		var got [][2]string
		p.js(`(first, end) => { const out = []; for (let c = first; c < end; c++) {
			const s = c >= 0xd800 && c < 0xe000 ? '' : String.fromCodePoint(c); out.push([__cm.foldText(s), __cm.foldCase(s)]) } return out }`, &got, first, first+block)
		for i, folded := range got {
			r := first + rune(i)
			if !utf8.ValidRune(r) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co) {
				continue // characters of newer versions of Unicode
			}
			if want := [2]string{pagetext.Fold(string(r)), pagetext.FoldCase(string(r))}; folded != want {
				t.Errorf("%U: %+q, want %+q", r, folded, want)
			}
		}
	}
}
