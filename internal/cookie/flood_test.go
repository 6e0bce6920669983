package cookie

import (
	"net/url"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks cookies whose attributes are long repetitions. Check must return in time.
func TestFloods(t *testing.T) {
	site, err := url.Parse("https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	testlog.Floods(t, func(text string) {
		for _, c := range []executor.Cookie{
			{Name: text, Value: "x"},
			{Name: "x", Value: text},
			{Name: "x", Domain: text},
			{Name: "x", Domain: text + ".a.example"},
			{Name: "x", Path: "/" + text},
		} {
			_, _ = Check(c, site)
		}
		_ = IsPublicSuffix(text)
	})
}
