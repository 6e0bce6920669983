package readingsuite

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// evalValues checks the form of values that JSON cannot represent.
func evalValues(s *suite.Runner, t *testing.T) {
	s.Page(t, "values without JSON form", "second.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", '<p id="lead" class="a b">Free &lt;b&gt;</p><ul id="list"><li>One</li></ul><input name="q" disabled>'); 0`, nil)
		for _, tc := range []struct{ expression, kind, want string }{
			{"NaN", "number", "NaN"},
			{"-Infinity", "number", "-Infinity"},
			{"123456789012345678901234567890n", "bigint", "123456789012345678901234567890n"},
			{"() => 1", "function", "() => 1"},
			{"Symbol('s')", "symbol", "Symbol(s)"},
			{"new Date(0)", "date", "1970-01-01T00:00:00.000Z"},
			{"window", "object", "Window"},
			{"document", "node", "#document"},
			{"document.querySelector('#lead')", "node", `<p id="lead" class="a b">Free &lt;b></p>`},
			{"document.querySelector('#list')", "node", `<ul id="list">…</ul>`},
			{"[...document.querySelectorAll('#lead, input')]", "array", `[<p id="lead" class="a b">Free &lt;b></p>,<input name="q" disabled>]`},
			{"document.querySelectorAll('input')", "array", `[<input name="q" disabled>]`},
			{"new Map([['price', 12], [{a: 1}, new Set(['red'])]])", "map", `Map(2) {"price" => 12, {"a":1} => Set(1) {"red"}}`},
			{"new Set()", "set", "Set(0) {}"},
			{"new TypeError('bo\"om')", "error", `TypeError: "bo\"om"`},
			{"(() => { const a = {name: 'loop'}; a.self = a; return a })()", "object", `{"name":"loop","self":(circular)}`},
			{"({list: new Map([['inner', 34]]), n: [NaN, 1], big: 12n, when: new Date(0), no: undefined, f() {}, err: new Error('x')})", "object",
				`{"list":Map(1) {"inner" => 34},"n":[NaN,1],"big":12n,"when":"1970-01-01T00:00:00.000Z","err":Error: "x"}`},
			{"[/a+/g, new URLSearchParams('q=1'), Promise.resolve(), () => 1, Symbol('s')]", "array",
				`[/a+/g,URLSearchParams {"q" => "1"},Promise {},function,Symbol("s")]`},
			{"['<p>', 12n]", "array", `["<p>",12n]`},
		} {
			res, err := c.Page().Eval(c.Ctx, tc.expression, nil)
			if err != nil {
				c.Errorf("%s: %v", tc.expression, err)
				continue
			}
			var got string
			if err := json.Unmarshal(res.Value, &got); err != nil || !res.OK || res.Truncated || res.Type != tc.kind || got != tc.want {
				c.Errorf("%s = %+v with value %s, want %s %s", tc.expression, res, res.Value, tc.kind, tc.want)
			}
		}
	})
	s.Page(t, "values that have JSON", "second.html", func(c *suite.Case) {
		for expression, want := range map[string]string{
			"({a: [1, 'x', null], b: {c: true}, d: -0, no: undefined, f() {}})": `{"a":[1,"x",null],"b":{"c":true},"d":0}`,
			"[undefined, , 1]": "[null,null,1]",
			"({toJSON() { return {shown: 1} }, m: new Map()})":                `{"shown":1}`,
			"new (class Foo { constructor() { this.a = 1 } })":                `{"a":1}`,
			"({nodeType: 1, nodeName: 'P', size: 1})":                         `{"nodeType":1,"nodeName":"P","size":1}`,
			"[{}, Object.create(null), new Uint8Array([7]), new String('s')]": `[{},{},{"0":7},"s"]`,
			"[{[Symbol.toStringTag]: 'Map', a: 1}]":                           `[{"a":1}]`,
			"(() => { const x = {a: 1}; return [x, x] })()":                   `[{"a":1},{"a":1}]`,
			"{a: 1, b: 2}":         `{"a":1,"b":2}`,
			" {\n a: {b: 2}, }; ":  `{"a":{"b":2}}`,
			"{}":                   "{}",
			"{ let a = 1; a + 1 }": "2",
			"{ throw 1 } { 2 }":    "",
			"let x = 1; for (const y of [2, 3]) x += y; x": "6",
		} {
			res, err := c.Page().Eval(c.Ctx, expression, nil)
			if err != nil || string(res.Value) != want {
				c.Errorf("%s: %+v, %v, want %s", expression, res, err, want)
			}
		}
	})
	s.Page(t, "values of a hostile page", "second.html", func(c *suite.Case) {
		c.Eval(`window.loops = () => { const n = {list: []}; for (let i = 0; i < 50; i++) n.list[i] = {up: n, m: new Map(), all: n.list}; return n };
			Array.prototype.push = () => { throw new Error("pushed") }; 0`, nil)
		for expression, want := range map[string]string{
			"({get boom() { throw new Error('no') }})": "Object",
			"loops()": `{"list":[{"up":(circular),"m":Map(0) {},"all":(circular)},{"up":`,
			"new Map(Array.from({length: 1e5}, (_, i) => [i, {i}]))":                                                   `Map(100000) {0 => {"i":0}, 1 => {"i":1}, `,
			"(() => { let n = {m: 1n}; n.n = [n]; for (let i = 0; i < 40; i++) n = {a: n, b: n, n: 1n}; return n })()": `{"a":{"a":`,
		} {
			res, err := c.Page().Eval(c.Ctx, expression, nil)
			var got string
			if err != nil || json.Unmarshal(res.Value, &got) != nil || !strings.HasPrefix(got, want) || len(res.Value) > executor.MaxEvalBytes {
				c.Errorf("%s: %v, %.300s, want %s", expression, err, got, want)
			}
		}
	})
}
