package keys

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	alt   = executor.ModAlt
	ctrl  = executor.ModControl
	meta  = executor.ModMeta
	shift = executor.ModShift
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		in        string
		more      []executor.Modifier
		key       Key
		modifiers []executor.Modifier
	}{
		// Keys by name, and by alias.
		{"Enter", nil, Key{"Enter", "Enter", 13, "\r"}, nil},
		{"Return", nil, Key{"Enter", "Enter", 13, "\r"}, nil},
		{"\n", nil, Key{"Enter", "Enter", 13, "\r"}, nil},
		{"esc", nil, Key{"Escape", "Escape", 27, ""}, nil},
		{"DEL", nil, Key{"Delete", "Delete", 46, ""}, nil},
		{"Left", nil, Key{"ArrowLeft", "ArrowLeft", 37, ""}, nil},
		{"Space", nil, Key{" ", "Space", 32, " "}, nil},
		{" ", nil, Key{" ", "Space", 32, " "}, nil},
		{"\t", nil, Key{"Tab", "Tab", 9, ""}, nil},
		{"F12", nil, Key{"F12", "F12", 123, ""}, nil},

		// A character is the key of a US keyboard that types it.
		{"a", nil, Key{"a", "KeyA", 'A', "a"}, nil},
		{"A", nil, Key{"A", "KeyA", 'A', "A"}, []executor.Modifier{shift}},
		{"7", nil, Key{"7", "Digit7", '7', "7"}, nil},
		{"&", nil, Key{"&", "Digit7", '7', "&"}, []executor.Modifier{shift}},
		{"/", nil, Key{"/", "Slash", 191, "/"}, nil},
		{"?", nil, Key{"?", "Slash", 191, "?"}, []executor.Modifier{shift}},
		{"-", nil, Key{"-", "Minus", 189, "-"}, nil},

		// Names in any case. A letter in a chord means its key.
		{"enter", nil, Key{"Enter", "Enter", 13, "\r"}, nil},
		{"control+arrowleft", nil, Key{"ArrowLeft", "ArrowLeft", 37, ""}, []executor.Modifier{ctrl}},
		{"Control+A", nil, Key{"a", "KeyA", 'A', "a"}, []executor.Modifier{ctrl}},
		{"Control+Shift+a", nil, Key{"A", "KeyA", 'A', "A"}, []executor.Modifier{ctrl, shift}},

		// Shift changes the text to the one that the key types with it.
		{"Shift+a", nil, Key{"A", "KeyA", 'A', "A"}, []executor.Modifier{shift}},
		{"Shift+A", nil, Key{"A", "KeyA", 'A', "A"}, []executor.Modifier{shift}},
		{"Shift+1", nil, Key{"!", "Digit1", '1', "!"}, []executor.Modifier{shift}},
		{"Shift+0", nil, Key{")", "Digit0", '0', ")"}, []executor.Modifier{shift}},
		{"Shift+;", nil, Key{":", "Semicolon", 186, ":"}, []executor.Modifier{shift}},
		{"Shift+:", nil, Key{":", "Semicolon", 186, ":"}, []executor.Modifier{shift}},
		{"Shift+Tab", nil, Key{"Tab", "Tab", 9, ""}, []executor.Modifier{shift}},

		// Chords.
		{"Control+Shift+ArrowLeft", nil, Key{"ArrowLeft", "ArrowLeft", 37, ""}, []executor.Modifier{ctrl, shift}},
		{"ctrl+c", nil, Key{"c", "KeyC", 'C', "c"}, []executor.Modifier{ctrl}},
		{"Cmd+Option+k", nil, Key{"k", "KeyK", 'K', "k"}, []executor.Modifier{meta, alt}},
		{"Alt+Enter", nil, Key{"Enter", "Enter", 13, "\r"}, []executor.Modifier{alt}},
		{"K", []executor.Modifier{ctrl}, Key{"k", "KeyK", 'K', "k"}, []executor.Modifier{ctrl}},
		{"1", []executor.Modifier{shift}, Key{"!", "Digit1", '1', "!"}, []executor.Modifier{shift}},

		// The plus sign is also a key.
		{"+", nil, Key{"+", "Equal", 187, "+"}, []executor.Modifier{shift}},
		{"Control++", nil, Key{"+", "Equal", 187, "+"}, []executor.Modifier{ctrl, shift}},
		{"Control+Shift++", nil, Key{"+", "Equal", 187, "+"}, []executor.Modifier{ctrl, shift}},
		{"+", []executor.Modifier{ctrl}, Key{"+", "Equal", 187, "+"}, []executor.Modifier{ctrl, shift}},

		// A modifier alone, and a repeated modifier.
		{"Shift", nil, Key{"Shift", "ShiftLeft", 16, ""}, nil},
		{"Ctrl", nil, Key{"Control", "ControlLeft", 17, ""}, nil},
		{"Control+Ctrl+a", []executor.Modifier{ctrl, ctrl}, Key{"a", "KeyA", 'A', "a"}, []executor.Modifier{ctrl}},

		// Characters of other keyboard layouts have a text and no code.
		{"é", nil, Key{"é", "", 0, "é"}, nil},
		{"Shift+é", nil, Key{"é", "", 0, "é"}, []executor.Modifier{shift}},
		{"日", nil, Key{"日", "", 0, "日"}, nil},
		{"😀", nil, Key{"😀", "", 0, "😀"}, nil},
		{"Control+ß", nil, Key{"ß", "", 0, "ß"}, []executor.Modifier{ctrl}},
	} {
		c, err := Parse(test.in, test.more)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		if c.Key != test.key || !slices.Equal(c.Modifiers, test.modifiers) {
			t.Errorf("%q with %v: got %+v %v, want %+v %v", test.in, test.more, c.Key, c.Modifiers, test.key, test.modifiers)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct {
		in   string
		more []executor.Modifier
		want string // part of the error text
	}{
		{"", nil, "empty"},
		{"Entr", nil, "Entr"},
		{"ab", nil, "ab"},
		{"Control+", nil, "Control+"},
		{"+a", nil, "+a"},
		{"++", nil, "++"},
		{"Control+++", nil, "Control+++"},
		{"Control++a", nil, "Control++a"},
		{"Hyper+a", nil, `"Hyper" is not a modifier`},
		{"a+Control", nil, `"a" is not a modifier`},
		{"Control+F25", nil, "F25"},
		{"e\u0301", nil, "e\u0301"}, // two code points
		{"a", []executor.Modifier{"Hyper"}, `"Hyper" is not a modifier`},
		{"Enter", []executor.Modifier{ctrl, "shift"}, `"shift" is not a modifier`},
	} {
		c, err := Parse(test.in, test.more)
		if executor.CodeOf(err) != executor.ErrBadArgs || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q with %v: got %+v, %v, want ErrBadArgs that contains %s", test.in, test.more, c, err, test.want)
		}
	}
	more := make([]executor.Modifier, 1, 4)
	more[0] = ctrl
	if _, err := Parse("Shift+a", more); err != nil || more[:2][1] != "" {
		t.Errorf("parseChord changed the caller's modifiers: %q, %v", more[:2], err)
	}
}

// TestKeysOfASCII checks that each printable ASCII character has a key with a code that types it,
// and that two characters of one key differ by Shift.
func TestKeysOfASCII(t *testing.T) {
	seen := make(map[string]rune)
	for r := rune(' '); r < 0x7f; r++ {
		k, shifted := ForRune(r)
		if k.text != string(r) || k.key != string(r) || k.code == "" || k.windows == 0 {
			t.Errorf("%q: %+v", r, k)
		}
		id := k.code
		if shifted {
			id = "Shift+" + id
		}
		if other, taken := seen[id]; taken {
			t.Errorf("%q and %q are both %s", r, other, id)
		}
		seen[id] = r
		if got := shiftedRune(r); shifted && got != r {
			t.Errorf("Shift and %q give %q", r, got)
		} else if base, _ := ForRune(got); base.code != k.code {
			t.Errorf("Shift and %q give %q, which has another key", r, got)
		}
	}
}

func TestModifierBits(t *testing.T) {
	bits, err := ModifierBits([]executor.Modifier{alt, ctrl, meta, shift, ctrl})
	if err != nil || bits != 15 {
		t.Errorf("got %d, %v, want 15", bits, err)
	}
	if _, err := ModifierBits([]executor.Modifier{ctrl, "control"}); executor.CodeOf(err) != executor.ErrBadArgs {
		t.Errorf("got %v, want ErrBadArgs", err)
	}
}

func FuzzParseChord(f *testing.F) {
	for _, s := range []string{"a", "Control++", "Shift+é", "ctrl+Option+Enter", "\xff", "Control+\xff", "+", "++"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s, nil)
		if err != nil {
			if executor.CodeOf(err) != executor.ErrBadArgs {
				t.Fatalf("%q: %v, want ErrBadArgs", s, err)
			}
			return
		}
		if c.Key.key == "" || !utf8.ValidString(c.Key.text) {
			t.Fatalf("%q: %+v cannot be sent", s, c.Key)
		}
		if _, err := ModifierBits(c.Modifiers); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if r, size := utf8.DecodeRuneInString(s); utf8.ValidString(s) && size == len(s) && unicode.IsGraphic(r) && c.Key.text != s {
			t.Fatalf("the character %q types %q", s, c.Key.text)
		}
	})
}
