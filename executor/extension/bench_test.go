package extension

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// benchElements is the number of interactive elements in the page of the snapshot benchmark.
const benchElements = 3000

// serveBenchPages serves /app, a page of benchElements, and /form, a small one.
func serveBenchPages(b *testing.B) string {
	var app strings.Builder
	app.WriteString(`<!doctype html><title>App</title><style>.c{display:inline-block;padding:2px}</style><h1>Application</h1>`)
	for i := range benchElements {
		if i%100 == 0 {
			fmt.Fprintf(&app, "<h2>Panel %d</h2>", i/100)
		}
		switch i % 3 {
		case 0:
			fmt.Fprintf(&app, `<div class="c"><div><button>Action %d</button></div></div>`, i)
		case 1:
			fmt.Fprintf(&app, `<div class="c"><span><a href="/item/%d">Action %d</a></span></div>`, i, i)
		case 2:
			fmt.Fprintf(&app, `<div class="c"><div><input aria-label="Action %d" size="8"></div></div>`, i)
		}
	}
	const form = `<!doctype html><title>Form</title><button id="count">Count</button> <input id="text" aria-label="Text">`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/app" {
			fmt.Fprint(w, app.String())
			return
		}
		fmt.Fprint(w, form)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// BenchmarkExtension measures calls on an open tab. It alternates between the extension backend and
// a managed browser, so that both run under the same load. It reports the median time with the
// extension, the median time with the managed browser, and their ratio.
func BenchmarkExtension(b *testing.B) {
	ctx, pages := b.Context(), serveBenchPages(b)
	server, _ := startReal(b)
	ext := newBackend(b, server)
	waitConnected(b, ext)
	headless := true
	managed, err := chromium.New(&chromium.Options{
		Browser: os.Getenv("CHROME_MCP_BROWSER"), Headless: &headless, Isolated: true, NoSandbox: os.Getuid() == 0, DataDir: b.TempDir(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { managed.Close() })
	type backend interface {
		NewSession(*executor.SessionOptions) (executor.Executor, error)
	}
	var sessions []executor.Executor
	for _, x := range []backend{managed, ext} {
		s, err := x.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
		if err != nil {
			b.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	for _, c := range []struct {
		name, path string
		call       func(s executor.Executor, id executor.TabID) error
	}{
		{"eval", "/form", func(s executor.Executor, id executor.TabID) error {
			_, err := pagetest.Of(s, id).Eval(ctx, "1+1", nil)
			return err
		}},
		{"click", "/form", func(s executor.Executor, id executor.TabID) error {
			_, err := pagetest.Of(s, id).Click(ctx, executor.Target{Selector: "#count"}, nil)
			return err
		}},
		{"type", "/form", func(s executor.Executor, id executor.TabID) error {
			_, err := pagetest.Of(s, id).Type(ctx, executor.Target{Selector: "#text"}, "some text", &executor.TypeOptions{Clear: true})
			return err
		}},
		{"snapshot", "/app", func(s executor.Executor, id executor.TabID) error {
			res, err := pagetest.Of(s, id).Snapshot(ctx, nil)
			if err == nil && res.Elements < benchElements {
				err = fmt.Errorf("snapshot has %d elements, want at least %d", res.Elements, benchElements)
			}
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ids []executor.TabID
			for _, s := range sessions {
				_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: pages + c.path})
				if err != nil {
					b.Fatal(err)
				}
				defer pagetest.Of(s, tab.ID).Close(context.Background())
				ids = append(ids, tab.ID)
			}
			took := make([][]time.Duration, len(sessions))
			for b.Loop() {
				for i, s := range sessions {
					start := time.Now()
					if err := c.call(s, ids[i]); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(start))
				}
			}
			var median [2]float64
			for i, list := range took {
				slices.Sort(list)
				median[i] = float64(list[len(list)/2])
			}
			b.ReportMetric(median[1], "ns/op")
			b.ReportMetric(median[0], "managed-ns/op")
			b.ReportMetric(median[1]/median[0], "x_managed")
		})
	}
}
