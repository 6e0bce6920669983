package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// send sends a request and returns the response and its body.
func (f *fixture) send(t *testing.T, method, path, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, strings.TrimSpace(string(content))
}

func TestToolRequests(t *testing.T) {
	f := start(t, Options{})
	if err := f.OpenSession(t.Context(), "shop", nil, false); err != nil {
		t.Fatal(err)
	}
	if resp, body := f.send(t, http.MethodPost, "/v1/sessions/shop/tools/navigate", "{}"); resp.StatusCode != http.StatusOK || body != "shop navigate" {
		t.Errorf("%s: %s", resp.Status, body)
	}
	resp, body := f.send(t, http.MethodPost, "/v1/sessions/none/tools/navigate", "{}")
	if want := `{"error":{"code":"BAD_ARGS","message":"session \"none\" not found","hint":"Open the session first. ` + "`chrome-mcp sessions list`" + ` and GET /v1/sessions list the open ones.","retryable":false}}`; resp.StatusCode != http.StatusNotFound || body != want {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// TestManySettings opens a session with more settings than there are. They are not all compared with
// each other.
func TestManySettings(t *testing.T) {
	f := start(t, Options{})
	for keys, want := range map[int]string{maxMembers: "", maxMembers + 1: fmt.Sprintf("has more than %d keys", maxMembers)} {
		settings := map[string][]string{}
		for i := range keys {
			settings[fmt.Sprint(i)] = []string{""}
		}
		body, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		resp, text := f.send(t, http.MethodPut, fmt.Sprint("/v1/sessions/", keys), string(body))
		if want == "" && resp.StatusCode != http.StatusNoContent || want != "" && (resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, want)) {
			t.Errorf("%d keys: %s: %s", keys, resp.Status, text)
		}
	}
}

func TestDocuments(t *testing.T) {
	f := start(t, Options{
		Tools:   func() any { return []string{"navigate"} },
		OpenAPI: func() any { return json.RawMessage(`{"openapi":"3.1.0"}`) },
	})
	for path, want := range map[string]string{"/v1/tools": `["navigate"]`, "/v1/openapi.json": `{"openapi":"3.1.0"}`} {
		if resp, body := f.send(t, http.MethodGet, path, ""); resp.StatusCode != http.StatusOK || body != want || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s: %s", path, resp.Status, body)
		}
		if resp, _ := f.send(t, http.MethodPost, path, ""); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, resp.Status)
		}
	}
	if resp, _ := start(t, Options{}).send(t, http.MethodGet, "/v1/tools", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a server without tools: %s", resp.Status)
	}
}

// TestRetryAfter opens a session while a limit is reached.
func TestRetryAfter(t *testing.T) {
	f := start(t, Options{Open: func(r OpenRequest) (Workspace, error) {
		if r.Name != "shop" {
			e := errs.Errorf(errs.ErrBackpressure, "", "too many browsers")
			e.Retryable = r.Name == "busy"
			return nil, e
		}
		return fakeWorkspace{r.Name, new(atomic.Int32)}, nil
	}})
	resp, body := f.send(t, http.MethodPut, "/v1/sessions/busy", "{}")
	if want := `{"error":{"code":"BACKPRESSURE","message":"too many browsers","retryable":true}}`; resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != retryAfter || body != want {
		t.Errorf("%s, Retry-After %q: %s", resp.Status, resp.Header.Get("Retry-After"), body)
	}
	if resp, body := f.send(t, http.MethodPut, "/v1/sessions/full", "{}"); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "" {
		t.Errorf("not retryable: %s, Retry-After %q: %s", resp.Status, resp.Header.Get("Retry-After"), body)
	}
}
