package outline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// appPage returns a page of n controls in nested boxes, as in web applications.
func appPage(n int) string {
	words := strings.Fields("amber basin cedar delta ember field grove harbor inlet juniper kettle lumen meadow north orchard prairie quartz river summit timber")
	var b strings.Builder
	b.WriteString(`<!doctype html><title>App</title><style>body{font:14px sans-serif}.c{display:inline-block;padding:2px}</style><h1>Application</h1><div>`)
	for i := range n {
		switch {
		case i%100 == 0:
			if i > 0 {
				b.WriteString("</div></div></div></div>")
			}
			fmt.Fprintf(&b, `<div class="panel"><h2>Panel %d</h2><div><div><div class="row">`, i/100)
		case i%10 == 0:
			b.WriteString(`</div><div class="row">`)
		}
		name := fmt.Sprintf("Action %d %s", i, words[i%len(words)])
		switch i % 5 {
		case 0, 1:
			fmt.Fprintf(&b, `<div class="c"><div><button>%s</button></div></div>`, name)
		case 2:
			fmt.Fprintf(&b, `<div class="c"><span><a href="/item/%d">%s</a></span></div>`, i, name)
		case 3:
			fmt.Fprintf(&b, `<div class="c"><div><input aria-label="%s" size="8"></div></div>`, name)
		default:
			fmt.Fprintf(&b, `<div class="c"><label><input type="checkbox">%s</label></div>`, name)
		}
	}
	return b.String()
}

// articlePage returns a page of n elements that is mainly text.
func articlePage(n int) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><title>Article</title><style>.a{color:#333}.b{color:#06c}</style><main>`)
	for i := range n / 6 {
		fmt.Fprintf(&b, `<section><h2>Part %d</h2><p class="a">Some words, <b>bold</b> and <a class="b" href="#%d">linked</a>.</p><p>More words.</p></section>`, i, i)
	}
	return b.String()
}

// BenchmarkWalk measures the walk without rendering, and the size of its result.
func BenchmarkWalk(b *testing.B) {
	for _, bench := range []struct{ name, page string }{
		{"3000", appPage(3000)}, {"10000", appPage(10000)}, {"article", articlePage(3000)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprint(w, bench.page)
			}))
			defer srv.Close()
			p := startBrowser(b).newTab(b, srv.URL)
			var raw json.RawMessage
			p.js("snapshot", &raw, map[string]any{})
			best := math.Inf(1)
			for b.Loop() {
				var took float64
				p.js("() => { const t = performance.now(); __cm.snapshot({}); return performance.now() - t }", &took)
				best = min(best, took)
			}
			b.ReportMetric(best, "best-ms/walk")
			b.ReportMetric(float64(len(raw)), "bytes")
		})
	}
}

func BenchmarkRender(b *testing.B) {
	data := syntheticWalk(10000)
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := outline.Decode(data, "d"); err != nil {
				b.Fatal(err)
			}
		}
	})
	doc, err := outline.Decode(data, "d")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("render", func(b *testing.B) {
		for b.Loop() {
			if _, err := outline.Render(doc, outline.Options{RefOf: refs()}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("diff", func(b *testing.B) {
		for b.Loop() {
			outline.Diff(doc, doc, outline.DiffOptions{})
		}
	})
}

// syntheticWalk returns the result of a walk over n controls.
func syntheticWalk(n int) []byte {
	roles := []string{"heading", "button", "link", "textbox", "checkbox"}
	var d, r, f, ids []int
	var names []string
	for i := range n {
		d, ids = append(d, 0), append(ids, i+1)
		r = append(r, i%5)
		flags := 4096
		if i < 40 {
			flags |= 2048
		}
		f = append(f, flags)
		names = append(names, fmt.Sprintf("Action %d amber", i))
	}
	data, _ := json.Marshal(map[string]any{"v": 1, "url": "http://test/", "title": "Synthetic", "d": d, "r": r, "f": f, "i": ids, "n": names, "roles": roles, "xi": []int{}, "xk": "", "xv": []string{}, "behind": 0})
	return data
}
