package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestDownloadNamesWithoutLocale clicks downloads in a browser that is launched
// without a locale. Their names are kept, except for the name of a program.
func TestDownloadNamesWithoutLocale(t *testing.T) {
	for _, name := range []string{"LANG", "LC_ALL", "LC_CTYPE"} {
		t.Setenv(name, "")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<link rel=icon href=data:,><a id=text href=/text>Text</a> <a id=program href=/program>Program</a>`)
		case "/text":
			w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''rapport%20%C3%A6%C3%B8%C3%A5%20%E6%97%A5%E6%9C%AC.txt")
		case "/program":
			w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''%E6%97%A5%E6%9C%AC.desktop")
		}
	}))
	t.Cleanup(site.Close)
	ctx := await.Context(t)
	s := newSession(t, newBrowser(t, testOptions(t)))
	_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"text": "rapport æøå 日本.txt", "program": "日本.desktop.download"} {
		d, err := pagetest.Of(s, tab.ID).Download(ctx, &executor.DownloadOptions{Target: executor.Target{Selector: "#" + id}, Timeout: await.HangLimit})
		if err != nil {
			t.Errorf("%s: %v", id, err)
		} else if base := filepath.Base(d.Path); base != want {
			t.Errorf("%s is saved as %q, want %q", id, base, want)
		}
	}
}
