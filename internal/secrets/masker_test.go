package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const password = "Kw7#qLz9&vX é"

// encodings are the ways in which a page can show a value that are masked.
var encodings = map[string]func(string) string{
	"plain":         func(s string) string { return s },
	"upper case":    strings.ToUpper,
	"query":         url.QueryEscape,
	"path":          url.PathEscape,
	"every byte":    func(s string) string { return percent(s) },
	"in a URL":      func(s string) string { return url.QueryEscape("https://a.example/?p=" + url.QueryEscape(s)) },
	"HTML":          html.EscapeString,
	"references":    func(s string) string { return references(s, "&#%d;") },
	"hex reference": func(s string) string { return references(s, "&#x%x;") },
	"in HTML":       func(s string) string { return html.EscapeString("<a href=\"?" + url.QueryEscape(s) + "\">") },
	"JSON":          func(s string) string { b, _ := json.Marshal(s); return string(b) },
	"Go":            func(s string) string { return fmt.Sprintf("%q", s) },
	"escapes":       func(s string) string { return references(s, `\u%04x`) },
	"Markdown":      markdown,
	"invisible":     func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
	"soft hyphens":  func(s string) string { return strings.Join(strings.Split(s, ""), "&shy;") },
	"hex":           func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":           func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte("x" + s))) },
	"odd hex":       func(s string) string { return "a" + hex.EncodeToString([]byte(s)) },
	"base64":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 +1":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("a" + s + "b")) },
	"base64 +2":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("ab" + s + "bc")) },
	"base64 of URL": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("abc" + s)) },
}

func percent(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// markdown returns s with a backslash before each character of punctuation.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && isPunctuation(byte(r)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func references(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// TestMask masks a value and each of its parts in all encodings.
func TestMask(t *testing.T) {
	var m Masker
	if text := "nothing " + password; m.Mask(text) != text {
		t.Error("an empty masker masks")
	}
	m.Add(password, false, time.Time{})
	runes := []rune(password)
	for name, encode := range encodings {
		for i := range runes {
			for j := i + partLength; j <= len(runes); j++ {
				part := string(runes[i:j])
				encoded := encode(part)
				got := m.Mask("before <" + encoded + "> after")
				inner, begins := strings.CutPrefix(got, "before <")
				inner, ends := strings.CutSuffix(inner, "> after")
				left := len(strings.ReplaceAll(inner, Replacement, ""))
				if !begins || !ends {
					t.Errorf("%s of %q: the text around it became %q", name, part, got)
				}
				// What surrounds a part in base64 determines its first and last characters, too.
				limit := 0
				switch {
				case strings.HasPrefix(name, "base64"):
					limit = 10
				case name == "HEX" || name == "odd hex" || name == "JSON" || name == "Go":
					limit = 2
				case strings.HasPrefix(name, "in "):
					limit = 40
				}
				if left > limit || !strings.Contains(got, Replacement) {
					t.Errorf("%s of %q: %q became %q", name, part, encoded, got)
				}
			}
		}
	}
	for _, text := range []string{"", "Kw", "Kw7", "qLz", "https://shop.example/kw7/login?a=%41&amp;b", "€uro & more; 100 % \\d", strings.Repeat("ab12", 1000)} {
		if got := m.Mask(text); got != text {
			t.Errorf("%.40q became %.40q", text, got)
		}
	}
}

// TestMaskWhole checks that of a user name only the complete value is masked.
func TestMaskWhole(t *testing.T) {
	var m Masker
	m.Add("info@shop.example", true, time.Time{})
	for text, want := range map[string]string{
		"write to info@shop.example!":       "write to " + Replacement + "!",
		"user=info%40shop.example":          "user=" + Replacement,
		"https://shop.example/info":         "https://shop.example/info",
		"INFO@shop.example and shop.exampl": Replacement + " and shop.exampl",
	} {
		if got := m.Mask(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte("info@shop.example"))
	if got := m.Mask(encoded); !strings.Contains(got, Replacement) || strings.Contains(got, encoded[2:10]) {
		t.Errorf("base64 became %q", got)
	}
}

// TestMaskUntil checks that a code is not masked forever.
func TestMaskUntil(t *testing.T) {
	var m Masker
	m.Add("755224", false, time.Now().Add(time.Hour))
	if got := m.Mask("code 755224, 5522"); got != "code "+Replacement+", "+Replacement {
		t.Errorf("got %q", got)
	}
	m.Add("755224", false, time.Now())
	if got := m.Mask("code 755224"); got != "code 755224" || m.table() != nil {
		t.Errorf("got %q after the time", got)
	}
}

// TestWithhold checks that a client cannot put a value together from the masks of its parts: with a
// text that has all of them, with one for each, or with texts that extend a part.
func TestWithhold(t *testing.T) {
	var parts, longer []string
	runes := []rune(password)
	for i := 0; i+partLength <= len(runes); i++ {
		parts = append(parts, string(runes[i:i+partLength]))
	}
	for i := partLength; i < len(runes); i++ {
		longer = append(longer, string(runes[:i]))
	}
	for name, texts := range map[string][]string{
		"one text": {"", strings.Join(parts, "|")}, "a text for each part": parts, "longer and longer": longer,
		"hex": {"", hex.EncodeToString([]byte(strings.Join(parts, "|")))},
	} {
		var m Masker
		m.Add(password, false, time.Time{})
		withheld := 0
		for _, text := range texts {
			if m.Withhold(text) {
				withheld++
			}
		}
		if want := max(1, len(texts)-maxParts); withheld != want {
			t.Errorf("%s: %d of %d texts withheld, want %d", name, withheld, len(texts), want)
		}
		if m.Withhold("nothing") || m.Withhold("") || m.Withhold(password) || !m.Withhold("a qLz9 b") {
			t.Errorf("%s: not exactly the texts with a part are withheld afterwards", name)
		}
	}
}

// TestWithholdNot checks that complete values are not counted, in any encoding, nor the same part
// again, nor parts of a value that is masked as a whole.
func TestWithholdNot(t *testing.T) {
	var m Masker
	m.Add("info@shop.example", true, time.Time{})
	m.Add("1234", false, time.Time{})
	m.Add(password, false, time.Time{})
	m.Add("another value", false, time.Time{})
	for range 2 {
		for name, encode := range encodings {
			if text := encode(password); m.Withhold(text) {
				t.Errorf("%s: %q is withheld", name, text)
			}
		}
	}
	for _, text := range []string{"info@shop.example", "info", "1234 1234", "Kw7# Kw7#", "another", "other"} {
		if m.Withhold(text) {
			t.Errorf("%q is withheld", text)
		}
	}
	for _, v := range m.values {
		if want := map[string]int{password: 1, "another value": 2}[v.value]; len(v.parts) != want {
			t.Errorf("%d parts of %q: %v, want %d", len(v.parts), v.value, v.parts, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("before " + password + " after\x00\xff")
	f.Add("%4bw7%23&#x71;Lz9\\u0026")
	f.Add(strings.Repeat("%25", 50) + "4b7737")
	f.Fuzz(func(t *testing.T, text string) {
		var m Masker
		m.Add(password, false, time.Time{})
		m.Add("zephyrine.quux", true, time.Time{})
		got := m.Mask(text)
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became invalid: %q", text, got)
		}
		if m.Mask(text+" "+password) == text+" "+password {
			t.Errorf("%q hides the value", text)
		}
		runes := []rune(strings.ToLower(password))
		for i := 0; i+partLength <= len(runes); i++ {
			if part := string(runes[i : i+partLength]); strings.Contains(strings.ToLower(got), part) {
				t.Errorf("%q became %q, which contains %q", text, got, part)
			}
		}
	})
}

func BenchmarkMask(b *testing.B) {
	var m Masker
	m.Add(password, false, time.Time{})
	text := strings.Repeat("Lamps of walnut and brass, made to be switched on. <a href=\"/p?x=%20\">100 &amp; more</a>\n", 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.Mask(text)
	}
}

// TestMaskerForms checks that a value is masked in the forms in which a page and its outline show it.
func TestMaskerForms(t *testing.T) {
	m := &Masker{}
	m.Add("Re\u0301sume\u0301", false, time.Time{})
	m.Add("ab\u00adcd\u00a0ef", true, time.Time{})
	for _, text := range []string{"Re\u0301sume\u0301", "R\u00e9sum\u00e9", "ab\u00adcd\u00a0ef", "abcd ef"} {
		if got := m.Mask("<" + text + ">"); got != "<"+Replacement+">" {
			t.Errorf("%+q: masked %+q", text, got)
		}
	}
}
