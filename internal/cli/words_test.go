package cli

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                   {},
		"  \t ":                              {},
		"url=https://example.com  full=true": {"url=https://example.com", "full=true"},
		`selector="#a b" text="hello world"`: {"selector=#a b", "text=hello world"},
		`text='single "quotes"' x=1`:         {`text=single "quotes"`, "x=1"},
		`"text=a b"c'd e'`:                   {"text=a bcd e"},
		`text="a \"b\" \\ \$ \n"`:            {`text=a "b" \ $ \n`},
		`text=a\ b\"\\`:                      {`text=a b"\`},
		`text='' selector=""`:                {"text=", "selector="},
		`text='don'\''t'`:                    {"text=don't"},
		`text=$HOME selector=*`:              {"text=$HOME", "selector=*"},
		`fields:=[{"selector": "#a", "x": "b c"}]`: {`fields:=[{"selector": "#a", "x": "b c"}]`},
		`fields=[{"x": "b c"}] submit=#go`:         {`fields=[{"x": "b c"}]`, "submit=#go"},
		`text:="a \"b\"" x=1`:                      {`text:="a \"b\""`, "x=1"},
		`fields:='[{"x": 1}]'`:                     {`fields:=[{"x": 1}]`},
		`selector=[name="a b"]`:                    {"selector=[name=a b]"},
		`selector=[1] .x`:                          {"selector=[1]", ".x"},
		`selector=[1].x`:                           {"selector=[1].x"},
	} {
		if got, err := SplitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	for line, want := range map[string]error{
		`text="a`: errUnclosedQuote, `text='a"`: errUnclosedQuote, `text="a\"`: errUnclosedQuote, `text=don't`: errUnclosedQuote, `text=a\`: errTrailingEscape,
	} {
		if got, err := SplitWords(line); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", line, got, err, want)
		}
	}
}

// FuzzSplitWords compares words with those of a real shell. The words of a shell have no JSON, and
// the shell expands some characters.
func FuzzSplitWords(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("no POSIX shell")
	}
	f.Add(`selector="#a b" text='hello world'`)
	f.Add(`a\ b "c\"d" 'e'\''f'`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitWords(line)
		if err != nil || strings.ContainsAny(line, "$`*?[]{}~#=&|;<>()!\n\r\x00\v\f") || slices.Contains(words, "") {
			return
		}
		out, err := exec.Command(sh, "-c", `printf '%s\n' `+line+` ''`).Output()
		if err != nil {
			t.Skip("not a command of the shell")
		}
		if want := strings.Join(append(words, "", ""), "\n"); string(out) != want {
			t.Errorf("%q: %q, the shell says %q", line, want, out)
		}
	})
}
