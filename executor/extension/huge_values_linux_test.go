package extension

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func TestHugeValueMemory(t *testing.T) {
	tier.Deep(t)
	server, _ := startReal(t)
	b := newBackend(t, server)
	waitConnected(t, b)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>page</title>")
	}))
	t.Cleanup(site.Close)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Navigate(t.Context(), site.URL, nil); err != nil {
		t.Fatal(err)
	}
	executortest.HugeValueMemory(t, s)
}
