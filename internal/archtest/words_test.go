package archtest

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWords checks that comments, strings and documents use none of the words in
// testdata/words.txt, except as testdata/words_allowed.txt says.
func TestWords(t *testing.T) {
	const root = "../.."
	words, allowed := readWords(t, "testdata/words.txt", "→"), readWords(t, "testdata/words_allowed.txt", ":")
	instead := map[string]string{}
	banned := map[string][][]string{} // by first word
	for _, entry := range words {
		for _, phrase := range phrases(entry.left) {
			instead[phrase] = entry.right
			first, rest, _ := strings.Cut(phrase, " ")
			banned[first] = append(banned[first], strings.Fields(rest))
		}
	}
	allowances := make([]*regexp.Regexp, len(allowed))
	for i, entry := range allowed {
		allowances[i] = anyOf(phrases(entry.right))
	}
	unused := slices.Clone(allowed)

	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "bundle", "bin", "dist"}, name) {
				return filepath.SkipDir
			}
			return nil
		}
		prose := proseOf[filepath.Ext(name)]
		if prose == nil {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if generated.Match(source) {
			return nil
		}
		files++
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		for _, p := range prose(source) {
			text := p.text
			for i, entry := range allowed {
				if len(findPhrases(text, banned)) == 0 {
					break
				}
				if entry.left != "*" && !match(entry.left, path) {
					continue
				}
				text = allowances[i].ReplaceAllStringFunc(text, func(found string) string {
					unused[i].left = ""
					return notSpace.ReplaceAllString(found, "_")
				})
			}
			for _, found := range findPhrases(text, banned) {
				line := p.line + strings.Count(text[:found.offset], "\n")
				t.Errorf("%s:%d: %q: write %s", path, line, found.phrase, instead[found.phrase])
			}
		}
		return nil
	})
	if err != nil || files < 500 {
		t.Errorf("read %d files: %v", files, err)
	}
	for _, entry := range unused {
		if entry.left != "" {
			t.Errorf("words_allowed.txt: %s does not contain %q", entry.left, entry.right)
		}
	}
}

// A passage is a part of a file that TestWords reads, and the number of its first line.
type passage struct {
	text string
	line int
}

// proseOf returns the passages of a file by the extension of its name.
var proseOf = map[string]func(source []byte) []passage{
	".go":   goProse,
	".js":   jsProse,
	".mjs":  jsProse,
	".html": allProse,
	".md":   allProse,
}

var (
	generated = regexp.MustCompile(`\A// Code generated .* DO NOT EDIT\.`)
	notSpace  = regexp.MustCompile(`\S`)
	// jsTokens matches the comments and strings of JavaScript.
	jsTokens = regexp.MustCompile("(?s)//[^\n]*(?:\n\\s*//[^\n]*)*|/\\*.*?\\*/|'(?:[^'\\\\\n]|\\\\.)*'|\"(?:[^\"\\\\\n]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`")
)

func allProse(source []byte) []passage {
	return []passage{{string(source), 1}}
}

// goProse returns the comments of a Go file and the string literals of several words. Comments on
// adjacent lines are one passage.
func goProse(source []byte) []passage {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var passages []passage
	comments := false
	for {
		pos, tok, text := s.Scan()
		line := file.Line(pos)
		switch tok {
		case token.EOF:
			return passages
		case token.COMMENT:
			if n := len(passages); comments && line == passages[n-1].line+strings.Count(passages[n-1].text, "\n")+1 {
				passages[n-1].text += "\n" + text
				continue
			}
			passages = append(passages, passage{text, line})
			comments = true
		case token.STRING:
			if strings.ContainsAny(text, " \n") {
				passages = append(passages, passage{text, line})
			}
			comments = false
		default:
			comments = false
		}
	}
}

// jsProse returns the comments and strings of several words of a JavaScript file.
func jsProse(source []byte) []passage {
	var passages []passage
	for _, at := range jsTokens.FindAllIndex(source, -1) {
		if !strings.ContainsAny(string(source[at[0]:at[1]]), " \n") {
			continue
		}
		passages = append(passages, passage{string(source[at[0]:at[1]]), 1 + strings.Count(string(source[:at[0]]), "\n")})
	}
	return passages
}

// wordEntry is a line of words.txt or words_allowed.txt.
type wordEntry struct{ left, right string }

// readWords reads the lines of a file, split at separator.
func readWords(t *testing.T, file, separator string) []wordEntry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []wordEntry
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		left, right, ok := strings.Cut(line, separator)
		if !ok {
			t.Fatalf("%s: no %q in %q", file, separator, line)
		}
		entries = append(entries, wordEntry{strings.TrimSpace(left), strings.TrimSpace(right)})
	}
	return entries
}

func phrases(list string) []string {
	split := strings.Split(list, ",")
	for i := range split {
		split[i] = strings.TrimSpace(split[i])
	}
	return split
}

// isWord matches the phrases that begin and end with a letter or digit.
var isWord = regexp.MustCompile(`^\w(?:.*\w)?$`)

// anyOf returns an expression that matches any of the phrases. A phrase matches complete words, and
// may continue in the next line of a comment.
func anyOf(phrases []string) *regexp.Regexp {
	sorted := slices.SortedFunc(slices.Values(phrases), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for i, phrase := range sorted {
		expr := strings.ReplaceAll(regexp.QuoteMeta(phrase), " ", `[\s/*]+`)
		if isWord.MatchString(phrase) {
			expr = `\b` + expr + `\b`
		}
		sorted[i] = expr
	}
	return regexp.MustCompile(`(?i)` + strings.Join(sorted, "|"))
}

// A found phrase begins at an offset of a text.
type found struct {
	phrase string
	offset int
}

// findPhrases returns the banned phrases in text. The words of a phrase may be in several lines of a
// comment.
func findPhrases(text string, banned map[string][][]string) []found {
	var all []found
	for start := 0; start < len(text); {
		first := wordAt(text, start)
		if first == "" {
			start++
			continue
		}
		for _, rest := range banned[strings.ToLower(first)] {
			words, at := []string{first}, start+len(first)
			for range rest {
				at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\r\n/*"))
				words = append(words, wordAt(text, at))
				at += len(words[len(words)-1])
			}
			if phrase := strings.ToLower(strings.Join(words, " ")); phrase == strings.Join(append([]string{strings.ToLower(first)}, rest...), " ") {
				all = append(all, found{phrase, start})
			}
		}
		start += len(first)
	}
	return all
}

// wordAt returns the word of letters, digits, underscores and hyphens at an offset of text.
func wordAt(text string, at int) string {
	end := at
	for end < len(text) && isWordByte(text[end]) {
		end++
	}
	return text[at:end]
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func TestProse(t *testing.T) {
	for _, tt := range []struct{ extension, source, want string }{
		{".go", "package p\n\n// a\n// b\nvar c = \"d d\" // e\n", "3:// a\n// b|5:\"d d\"|5:// e"},
		{".js", "let a = 'b b'; // c\n// d\nlet e = `f` /* g\nh */", "1:'b b'|1:// c\n// d|3:/* g\nh */"},
		{".md", "a `b`", "1:a `b`"},
	} {
		var got []string
		for _, p := range proseOf[tt.extension]([]byte(tt.source)) {
			got = append(got, fmt.Sprintf("%d:%s", p.line, p.text))
		}
		if got := strings.Join(got, "|"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.extension, got, tt.want)
		}
	}
}

func TestFindPhrases(t *testing.T) {
	banned := map[string][][]string{"red": {{}}, "blue": {{"sky"}}, "a": {{"cat"}}}
	text := "Red-hot, tired\n// a dog and a blue\n\t// sky; RED. A  cat"
	want := []found{{"blue sky", 30}, {"red", 44}, {"a cat", 49}}
	if got := findPhrases(text, banned); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
