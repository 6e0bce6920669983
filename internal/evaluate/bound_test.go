package evaluate

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestBoundValue(t *testing.T) {
	for _, test := range []struct {
		in   Value
		want string
	}{
		{Value{Type: "undefined"}, ""},
		{Value{Type: "number", JSON: jsonv2.Value("1.5")}, "1.5"},
		{Value{Type: "string", JSON: jsonv2.Value(`"<a>"`)}, `"<a>"`},
		{Value{Type: "object", Subtype: "null", JSON: jsonv2.Value("null")}, "null"},
		{Value{Type: "number", Number: "NaN", Description: "NaN"}, `"NaN"`},
		{Value{Type: "number", Number: "-0", Description: "-0"}, `"-0"`},
		{Value{Type: "bigint", Number: "12n", Description: "12n"}, `"12n"`},
		{Value{Type: "function", Description: "function f() {}"}, `"function f() {}"`},
		{Value{Type: "object", Description: "Window"}, `"Window"`},
	} {
		got, truncated := test.in.Bound()
		if string(got) != test.want || truncated {
			t.Errorf("%+v: got %s, truncated %t, want %s, not truncated", test.in, got, truncated, test.want)
		}
	}
}

// TestBoundValueLimit checks values around the limit: a value that fits is returned completely, and
// a larger one is truncated and reported as truncated.
func TestBoundValueLimit(t *testing.T) {
	const limit = executor.MaxEvalBytes
	text := func(n int) jsonv2.Value { return jsonv2.Value(`"` + strings.Repeat("x", n-2) + `"`) }
	for _, test := range []struct {
		name      string
		in        Value
		truncated bool
		size      int
	}{
		{"string at the limit", Value{Type: "string", JSON: text(limit)}, false, limit},
		{"string one byte over the limit", Value{Type: "string", JSON: text(limit + 1)}, true, 0},
		{"bigint at the limit", Value{Type: "bigint", Number: strings.Repeat("9", limit-2)}, false, limit},
		{"bigint one digit over the limit", Value{Type: "bigint", Number: strings.Repeat("9", limit-1)}, true, 0},
		{"text that grows when it is escaped", Value{Type: "function", Description: strings.Repeat("<", limit/2)}, true, 0},
	} {
		got, truncated := test.in.Bound()
		if truncated != test.truncated || len(got) > limit || !json.Valid(got) || (test.size > 0 && len(got) != test.size) {
			t.Errorf("%s: %d bytes, truncated %t, valid %t", test.name, len(got), truncated, json.Valid(got))
		}
	}
}

// TestCutValue checks that the result for any text is a JSON string within the limit, contains the
// start of the text, and uses most of the space.
func TestCutValue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabets := []string{"x", "é", "日", "😀", `"\`, "<>&", "\x00\x1f", "\u2028", "a\xff", "x日😀\"\n"}
	for _, alphabet := range alphabets {
		size := executor.MaxEvalBytes/8 + random.IntN(executor.MaxEvalBytes)
		s := strings.Repeat(alphabet, size/len(alphabet)+1)
		s = s[random.IntN(len(alphabet)):] // possibly in the middle of a character
		got := cutValue(s)
		if len(got) > executor.MaxEvalBytes {
			t.Fatalf("%d bytes of %q: got %d bytes", len(s), alphabet, len(got))
		}
		var text string
		if err := json.Unmarshal(got, &text); err != nil {
			t.Fatalf("%d bytes of %q: %v", len(s), alphabet, err)
		}
		start := string([]rune(s)) // json.Marshal replaces invalid UTF-8 with U+FFFD
		if !strings.HasPrefix(start, text) {
			t.Fatalf("%d bytes of %q: the result is not their start", len(s), alphabet)
		}
		if len(text) < len(start) && len(got) < executor.MaxEvalBytes*7/8 {
			t.Fatalf("%d bytes of %q: only %d remain", len(s), alphabet, len(got))
		}
	}
}
