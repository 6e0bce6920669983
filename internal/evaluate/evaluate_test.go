package evaluate

import "testing"

func TestSpecialText(t *testing.T) {
	for _, test := range []struct {
		in, want  string
		truncated bool
	}{
		{`["M","text","(circular)"]`, "(circular)", false},
		{`{"a":[1,"<x>",null,true,[]],"b":{},"c":["M","text","NaN"]}`, `{"a":[1,"<x>",null,true,[]],"b":{},"c":NaN}`, false},
		{`["M","entries","Map(2)","price",12.50,{"a":1},["M","values","Set(1)","red"]]`, `Map(2) {"price" => 12.50, {"a":1} => Set(1) {"red"}}`, false},
		{`[["M","values","Set(0)"],["M","entries","Map(0)"]]`, `[Set(0) {},Map(0) {}]`, false},
		{`["M","entries","Map(1)",1,2,["M","text","…"]]`, "Map(1) {1 => 2, …}", false},
		{`["N","text","a \" quote"]`, `["N","text","a \" quote"]`, false},
		{`{"a":["M","text","1n"],"b":["M","te`, `{"a":1n,"b":`, true},
	} {
		if got, truncated := specialText(test.in, "M"); got != test.want || truncated != test.truncated {
			t.Errorf("%s: got %s, truncated %t, want %s, %t", test.in, got, truncated, test.want, test.truncated)
		}
	}
}

func TestObjectLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"{a: 1, b: 2}":   "({a: 1, b: 2})",
		" {\na: {}\n} ;": "({\na: {}\n})",
		"{}":             "({})",
		"{} + {}":        "",
		"{a}; 1":         "",
		"a = {}":         "",
		"{":              "",
		"}":              "",
	} {
		if got, ok := objectLiteral(in); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", in, got, ok, want)
		}
	}
}

func TestTruthy(t *testing.T) {
	for _, test := range []struct {
		in   Value
		want bool
	}{
		{Value{Type: "undefined"}, false},
		{Value{Type: "object", Subtype: "null"}, false},
		{Value{Type: "boolean", JSON: []byte("false")}, false},
		{Value{Type: "number", JSON: []byte("0")}, false},
		{Value{Type: "number", Number: "-0"}, false},
		{Value{Type: "bigint", Number: "0n"}, false},
		{Value{Type: "string", JSON: []byte(`""`)}, false},
		{Value{Type: "string", JSON: []byte(`"0"`)}, true},
		{Value{Type: "number", Number: "Infinity"}, true},
		{Value{Type: "object", ObjectID: "1"}, true},
	} {
		if got := test.in.Truthy(); got != test.want {
			t.Errorf("%+v: got %t", test.in, got)
		}
	}
}
