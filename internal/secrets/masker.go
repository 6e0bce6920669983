package secrets

import (
	"encoding/base64"
	"html"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Replacement is the text that replaces a value.
const Replacement = "••••"

// partLength is the length, in characters, from which a part of a value is masked.
const partLength = 4

// base64Part is the number of characters of base64 that a part of partLength bytes determines,
// whatever surrounds it.
const base64Part = 4

// maxParts is how many different parts of a value may be masked before texts with parts of it are
// withheld.
const maxParts = 6

// A Masker replaces values in texts. The zero value masks nothing. It is safe for concurrent use.
type Masker struct {
	mu      sync.Mutex // guards values
	values  []*maskedValue
	current atomic.Pointer[maskTable] // nil if there are no values
}

// A maskedValue is a value that is masked.
type maskedValue struct {
	value string
	whole bool      // only the complete value is masked, not its parts
	until time.Time // when it is no longer masked; zero means never

	parts map[string]bool // the parts that Withhold has found, at most maxParts+1
}

// A maskTable holds what a text is searched for. It does not change.
type maskTable struct {
	until  time.Time // when the table is out of date; zero means never
	values []*maskedValue
	plain  []grams
	base64 []grams
}

// grams are all texts of one length, in bytes, that are masked.
type grams struct {
	n    int
	set  map[string]hit
	next [256 * 256 / 64]uint64 // the first two bytes of the texts
}

// A hit says to what a byte of a text belongs: 0 to nothing, and otherwise to the value with that
// index, from 1, in maskTable.values. Values after lastHit share it.
type hit uint8

const (
	lastHit  hit = 0x7f
	complete hit = 0x80 // the byte belongs to a complete value, not just to a part
)

func (g *grams) add(s string, of hit) {
	if g.set == nil {
		g.set = make(map[string]hit)
	}
	if g.set[s]&complete == 0 {
		g.set[s] = of
	}
	k := uint(s[0])<<8 | uint(s[1])
	g.next[k/64] |= 1 << (k % 64)
}

// gramsOf returns the grams of a length, which it adds to list if necessary.
func gramsOf(list *[]grams, n int) *grams {
	for i := range *list {
		if (*list)[i].n == n {
			return &(*list)[i]
		}
	}
	*list = append(*list, grams{n: n})
	return &(*list)[len(*list)-1]
}

// Add masks a value from now on, and its parts of four or more characters unless whole is set. If
// until is not zero, the value is not masked after that time.
func (m *Masker) Add(value string, whole bool, until time.Time) {
	if value == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, v := range m.values {
		if v.value == value && v.whole == whole {
			m.values[i].until = until
			m.rebuild(time.Now())
			return
		}
	}
	m.values = append(m.values, &maskedValue{value: value, whole: whole, until: until})
	m.rebuild(time.Now())
}

// NewMasker returns a Masker that masks only complete values.
func NewMasker(values []string) *Masker {
	m := &Masker{}
	for _, v := range values {
		m.values = append(m.values, &maskedValue{value: v, whole: true})
	}
	m.rebuild(time.Now())
	return m
}

// rebuild builds the table of the values that are masked now. m.mu must be held.
func (m *Masker) rebuild(now time.Time) {
	kept := m.values[:0]
	table := &maskTable{}
	for _, v := range m.values {
		if !v.until.IsZero() && !now.Before(v.until) {
			continue
		}
		kept = append(kept, v)
		if !v.until.IsZero() && (table.until.IsZero() || v.until.Before(table.until)) {
			table.until = v.until
		}
		table.add(v)
	}
	clear(m.values[len(kept):])
	m.values = kept
	if len(kept) == 0 {
		table = nil
	}
	m.current.Store(table)
}

func completeIf(ok bool) hit {
	if ok {
		return complete
	}
	return 0
}

// add adds the texts of a value.
func (t *maskTable) add(v *maskedValue) {
	t.values = append(t.values, v)
	of := hit(min(len(t.values), int(lastHit)))
	folded := Fold(v.value)
	forms := []string{folded, norm.NFC.String(folded), norm.NFD.String(folded)}
	if shown := Fold(pagetext.Clean(v.value)); utf8.RuneCountInString(shown) >= partLength {
		gramsOf(&t.plain, len(shown)).add(shown, of|complete) // in an outline
	}
	if strings.Contains(folded, " ") {
		forms = append(forms, strings.ReplaceAll(folded, " ", "+")) // of a form's data
	}
	slices.Sort(forms)
	for _, s := range slices.Compact(forms) {
		runes := []rune(s)
		n := partLength
		if v.whole || len(runes) < n {
			n = len(runes)
		}
		for i := 0; i+n <= len(runes); i++ {
			part := string(runes[i : i+n])
			if len(part) >= 2 {
				gramsOf(&t.plain, len(part)).add(part, of|completeIf(n == len(runes)))
			}
		}
		if n < len(runes) {
			gramsOf(&t.plain, len(s)).add(s, of|complete)
		}
	}
	for offset := range 3 {
		s := encodedPart(v.value, offset)
		n := base64Part
		if v.whole || len(s) < n {
			n = len(s)
		}
		for i := 0; i+n <= len(s) && n >= 2; i++ {
			gramsOf(&t.base64, n).add(s[i:i+n], of|completeIf(n == len(s)))
		}
		if n < len(s) && n >= 2 {
			gramsOf(&t.base64, len(s)).add(s, of|complete)
		}
	}
}

// encodedPart returns the characters of base64 that value determines if offset bytes, modulo 3, are
// before it.
func encodedPart(value string, offset int) string {
	s := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:offset] + value))
	start := []int{0, 2, 3}[offset]
	end := (offset + len(value)) * 8 / 6 // complete characters
	if start >= end {
		return ""
	}
	return s[start:end]
}

// Fold returns s with each character in lower case, of the same length in characters. A page may
// show a text in another case.
func Fold(s string) string { return strings.Map(unicode.ToLower, s) }

// table returns the current table, or nil if nothing is masked.
func (m *Masker) table() *maskTable {
	if m == nil {
		return nil
	}
	t := m.current.Load()
	if t == nil || t.until.IsZero() {
		return t
	}
	if now := time.Now(); !now.Before(t.until) {
		m.mu.Lock()
		m.rebuild(now)
		t = m.current.Load()
		m.mu.Unlock()
	}
	return t
}

// Mask returns text with every value replaced by [Replacement]: the value itself, its parts of four
// or more characters, in any case, and what encodes them in percent-encoding, HTML, backslash
// escapes, base64 and hexadecimal digits.
func (m *Masker) Mask(text string) string {
	spans := m.Spans(text)
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	end := 0
	for _, s := range spans {
		b.WriteString(text[end:s[0]])
		b.WriteString(Replacement)
		end = s[1]
	}
	b.WriteString(text[end:])
	return b.String()
}

// Spans returns where in text is what [Masker.Mask] replaces, in order: the indexes of the first byte
// and of the one after the last.
func (m *Masker) Spans(text string) (spans [][2]int) {
	t := m.table()
	if t == nil || len(text) < 2 {
		return nil
	}
	hits := make([]hit, len(text))
	if !t.search(view{text: text}, hits, maxNesting) {
		return nil
	}
	for i := 0; i < len(text); {
		if hits[i] == 0 {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		start := i
		for i < len(text) && hits[i] != 0 {
			i++
		}
		for i < len(text) && !utf8.RuneStart(text[i]) {
			i++
		}
		spans = append(spans, [2]int{start, i})
	}
	return spans
}

// Withhold reports whether text must not leave even masked. With chosen texts, such as a list of
// all combinations of four characters, a client could find the parts of a value, and put them
// together. So Withhold counts the parts that were found in the texts until now. If there were more
// than maxParts of a value, a text that contains a part of it is withheld. A complete value is not
// counted: its mask reveals nothing of it.
func (m *Masker) Withhold(text string) bool {
	t := m.table()
	if t == nil || len(text) < 2 {
		return false
	}
	hits := make([]hit, len(text))
	if !t.search(view{text: text}, hits, maxNesting) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	withhold := false
	for i := 0; i < len(text); i++ {
		if hits[i] == 0 || hits[i]&complete != 0 {
			continue
		}
		start, v := i, t.values[hits[i]-1]
		for i+1 < len(text) && hits[i+1] != 0 && hits[i+1]&complete == 0 {
			i++
		}
		if len(v.parts) <= maxParts {
			if v.parts == nil {
				v.parts = make(map[string]bool)
			}
			v.parts[Fold(text[start:i+1])] = true
		}
		withhold = withhold || len(v.parts) > maxParts
	}
	return withhold
}

// maxNesting is how often a text is decoded: a URL in a URL in HTML.
const maxNesting = 3

// A view is a decoded text. start and end have, for each byte, where in the original text the bytes
// that encode it begin and end. They are nil for the original text.
type view struct {
	text       string
	start, end []int32
}

// original returns where in the original text the bytes from..to of the view are encoded.
func (v view) original(from, to int) (int, int) {
	if v.start == nil {
		return from, to
	}
	return int(v.start[from]), int(v.end[to-1])
}

func (v view) mark(hits []hit, from, to int, as hit) {
	from, to = v.original(from, to)
	for i := from; i < to; i++ {
		if hits[i]&complete == 0 {
			hits[i] = as
		}
	}
}

// search marks the bytes of the original text that encode a value.
func (t *maskTable) search(v view, hits []hit, nesting int) (found bool) {
	folded := v.fold()
	for i := range t.plain {
		found = t.plain[i].search(folded, hits) || found
	}
	standard := v
	if strings.ContainsAny(v.text, "-_") {
		standard.text = urlAlphabet.Replace(v.text)
	}
	for i := range t.base64 {
		found = t.base64[i].search(standard, hits) || found
	}
	found = t.searchHex(v, hits) || found
	if nesting > 0 {
		if decoded, changed := v.decode(); changed {
			found = t.search(decoded, hits, nesting-1) || found
		}
	}
	return found
}

// urlAlphabet replaces the characters of base64 in URLs with those of base64.
var urlAlphabet = strings.NewReplacer("-", "+", "_", "/")

// search marks the texts of g in a view.
func (g *grams) search(v view, hits []hit) (found bool) {
	for at := range max(0, len(v.text)-g.n+1) {
		k := uint(v.text[at])<<8 | uint(v.text[at+1])
		if g.next[k/64]&(1<<(k%64)) == 0 {
			continue
		}
		if of := g.set[v.text[at:at+g.n]]; of != 0 {
			v.mark(hits, at, at+g.n, of)
			found = true
		}
	}
	return found
}

// fold returns the view with each character in lower case.
func (v view) fold() view {
	if isASCII(v.text) {
		return view{strings.ToLower(v.text), v.start, v.end} // of the same length
	}
	d := newDecoder(len(v.text))
	for i, r := range v.text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(v.text[i:])
		}
		d.write(v, string(unicode.ToLower(r)), i, i+size)
	}
	return d.view()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// searchHex searches what runs of hexadecimal digits encode.
func (t *maskTable) searchHex(v view, hits []hit) (found bool) {
	const minDigits = 2 * partLength
	for i := 0; i < len(v.text); i++ {
		if hexDigit(v.text[i]) < 0 {
			continue
		}
		end := i
		for end < len(v.text) && hexDigit(v.text[end]) >= 0 {
			end++
		}
		for first := i; first < i+2 && end-first >= minDigits; first++ {
			d := newDecoder((end - first) / 2)
			for at := first; at+2 <= end; at += 2 {
				d.write(v, string([]byte{byte(hexDigit(v.text[at])<<4 | hexDigit(v.text[at+1]))}), at, at+2)
			}
			folded := d.view().fold()
			for k := range t.plain {
				found = t.plain[k].search(folded, hits) || found
			}
		}
		i = end
	}
	return found
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// A decoder builds a view.
type decoder struct {
	text       []byte
	start, end []int32
}

func newDecoder(size int) *decoder {
	return &decoder{make([]byte, 0, size), make([]int32, 0, size), make([]int32, 0, size)}
}

// write appends s, which the bytes from..to of v encode.
func (d *decoder) write(v view, s string, from, to int) {
	from, to = v.original(from, to)
	d.text = append(d.text, s...)
	for range len(s) {
		d.start, d.end = append(d.start, int32(from)), append(d.end, int32(to))
	}
}

func (d *decoder) view() view { return view{string(d.text), d.start, d.end} }

// decode decodes percent-encoding, character references of HTML, and backslash escapes, and removes
// invisible characters. changed is false if the text has none.
func (v view) decode() (decoded view, changed bool) {
	s := v.text
	first := 0
	for first < len(s) {
		text, size := decodeAt(s[first:])
		if text != s[first:first+size] {
			break
		}
		first += size
	}
	if first == len(s) {
		return v, false
	}
	d := newDecoder(len(s))
	for i := 0; i < len(s); {
		text, size := decodeAt(s[i:])
		d.write(v, text, i, i+size)
		i += size
	}
	return d.view(), true
}

// decodeAt decodes the escape at the start of s and returns its length too, or the first character.
// An invisible character is decoded as "": results do not contain it.
func decodeAt(s string) (text string, size int) {
	if s[0] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(s)
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return "", size
		}
		return s[:size], size
	}
	switch s[0] {
	case '%':
		if len(s) >= 3 && hexDigit(s[1]) >= 0 && hexDigit(s[2]) >= 0 {
			return string([]byte{byte(hexDigit(s[1])<<4 | hexDigit(s[2]))}), 3
		}
	case '&':
		return reference(s)
	case '\\':
		return escape(s)
	}
	return s[:1], 1
}

// maxReference is the maximum length of a character reference.
const maxReference = 12

// reference decodes the character reference at the start of s.
func reference(s string) (text string, size int) {
	end := strings.IndexByte(s[:min(len(s), maxReference)], ';')
	if end < 0 {
		return s[:1], 1
	}
	if text = html.UnescapeString(s[:end+1]); text == s[:end+1] {
		return s[:1], 1
	}
	return text, end + 1
}

// escape decodes the escape of JSON, JavaScript, Go or Markdown at the start of s.
func escape(s string) (text string, size int) {
	if len(s) < 2 {
		return s[:1], 1
	}
	digits := 0
	switch s[1] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	default:
		if isPunctuation(s[1]) {
			return s[1:2], 2
		}
	}
	if digits == 0 || len(s) < 2+digits {
		return s[:1], 1
	}
	n, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil {
		return s[:1], 1
	}
	return string(rune(n)), 2 + digits
}

// isPunctuation reports whether c is punctuation of ASCII, which Markdown escapes.
func isPunctuation(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}
