package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A sessionHeader adds a token and the name of a session to each request.
type sessionHeader struct{ token, session string }

func (h sessionHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+h.token)
	r.Header.Set(server.SessionHeader, h.session)
	return http.DefaultTransport.RoundTrip(r)
}

// ConnectHTTP connects the client of the Go SDK to a session of a server on HTTP.
func connectHTTP(t *testing.T, url, token, session string) (*mcpServer, error) {
	transport := &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: sessionHeader{token, session}}}
	cs, err := sdk.NewClient(&sdk.Implementation{Name: session, Version: "1"}, nil).Connect(t.Context(), transport, nil)
	return &mcpServer{client: cs}, err
}

// TestServerDocument runs the requests of docs/server.md to /mcp, with a site and a server of the
// test.
func TestServerDocument(t *testing.T) {
	needChromium(t)
	text, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)## MCP with curl.*?```sh\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("no requests in docs/server.md")
	}
	address := restSite(t)
	c := newCommandLine(t)
	url := c.serve(append(rootNeedsNoSandbox(), "--headless", "--allow-domain", address)...)
	script := strings.NewReplacer("https://example.com", address, "http://127.0.0.1:8931", url, "$HOME/.chrome-mcp", c.data).Replace(string(block[1]))
	if strings.Contains(script, "example.com") || !strings.Contains(script, c.data) {
		t.Fatalf("unexpected commands:\n%s", script)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", script)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), `"error"`) {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{`"title":"Counter"`, `"protocolVersion":"2025-11-25"`, `link \"Start again\"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output does not contain %s:\n%s", want, out)
		}
	}
}

// TestManyClients uses sessions of one browser at the same time, each from its own client over HTTP. All
// set the same cookie and type into a field, each in its own page, and then read them back: none has the
// cookie, the text or the tab of another one.
func TestManyClients(t *testing.T) {
	needChromium(t)
	clients := 4
	if tier.DeepEnabled() {
		clients = 10
	}
	var mu sync.Mutex
	cookies := map[string]string{} // the header of the last request for a page, by its path
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		cookies[r.URL.Path] = r.Header.Get("Cookie")
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>%s</title><input aria-label="Note">`, r.URL.Path)
	}))
	defer site.Close()
	c := newCommandLine(t)
	url := c.serve(append(rootNeedsNoSandbox(), "--headless", "--enable-mutations", "--enable-storage", "--tools", "core,storage", "--allow-domain", site.URL)...)
	token, err := server.ReadToken(server.TokenPath(c.data))
	if err != nil {
		t.Fatal(err)
	}

	all := make([]*parallelClient, clients)
	forEach := func(work func(c *parallelClient) error) {
		t.Helper()
		var working sync.WaitGroup
		for _, c := range all {
			working.Go(func() {
				if err := work(c); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			})
		}
		if working.Wait(); t.Failed() {
			t.FailNow()
		}
	}
	for i := range all {
		all[i] = &parallelClient{t: t, name: fmt.Sprint("client-", i)}
	}
	forEach(func(c *parallelClient) (err error) {
		if c.mcpServer, err = connectHTTP(t, url, token, c.name); err == nil {
			t.Cleanup(func() { c.client.Close() })
			err = c.fill(site.URL)
		}
		return err
	})
	forEach((*parallelClient).readBack)
	forEach(func(c *parallelClient) error {
		for _, other := range all {
			text, failed, err := c.try(t.Context(), "get_text", map[string]any{"tabId": other.tab})
			if other != c && (err != nil || !failed || strings.Contains(text, other.name)) {
				return fmt.Errorf("get_text of the tab of %s: %v %s", other.name, err, text)
			}
		}
		_, err := c.want("navigate", map[string]any{"url": site.URL + "/second/" + c.name}, "/second/"+c.name)
		return err
	})
	mu.Lock() // the browser may still ask for the site's icon
	defer mu.Unlock()
	for _, c := range all {
		for path, want := range map[string]string{"/first/": "", "/second/": "who=" + c.name} {
			if got, ok := cookies[path+c.name]; !ok || got != want {
				t.Errorf("%s%s was requested (%v) with the cookies %q, want %q", path, c.name, ok, got, want)
			}
		}
	}
	if found := profiles(t, c.data); len(found) != 1 {
		t.Errorf("profiles %q, want that of one browser", found)
	}
	if status, body := curl(t, "-H", c.header(), url+"/metrics"); status != "200" || !strings.Contains(body, fmt.Sprintf("chrome_mcp_sessions %d\n", clients)) {
		t.Errorf("metrics: %s\n%s", status, body)
	}
}

// A parallelClient is one of the clients of TestManyClients.
type parallelClient struct {
	*mcpServer
	t         *testing.T
	name, tab string
}

// want calls a tool and returns an error unless the text of its result has the given part.
func (c *parallelClient) want(tool string, args map[string]any, part string) (string, error) {
	text, failed, err := c.try(c.t.Context(), tool, args)
	if err == nil && (failed || !strings.Contains(text, part)) {
		err = fmt.Errorf("%s %s: %s", tool, asJSON(args), text)
	}
	return text, err
}

// fill opens the page of the client, sets the cookie and types.
func (c *parallelClient) fill(site string) error {
	for _, call := range []struct {
		tool string
		args map[string]any
	}{
		{"navigate", map[string]any{"url": site + "/first/" + c.name}},
		{"cookies", map[string]any{"action": "set", "name": "who", "value": c.name}},
		{"type", map[string]any{"selector": "input", "text": "typed by " + c.name}},
	} {
		if _, err := c.want(call.tool, call.args, ""); err != nil {
			return err
		}
	}
	return nil
}

// readBack checks what the client wrote, and which tabs it has.
func (c *parallelClient) readBack() error {
	if text, err := c.want("snapshot", nil, "typed by "+c.name); err != nil || strings.Count(text, "typed by") != 1 {
		return fmt.Errorf("%v: snapshot %s", err, text)
	}
	if text, err := c.want("cookies", map[string]any{"action": "get", "values": true}, c.name); err != nil || strings.Count(text, "client-") != 1 {
		return fmt.Errorf("%v: cookies %s", err, text)
	}
	res, err := c.client.CallTool(c.t.Context(), &sdk.CallToolParams{Name: "tabs_list", Arguments: map[string]any{}})
	if err != nil {
		return err
	}
	var list struct{ Tabs []struct{ TabID, URL string } }
	if err := json.Unmarshal([]byte(asJSON(res.StructuredContent)), &list); err != nil {
		return err
	}
	if len(list.Tabs) != 1 || !strings.HasSuffix(list.Tabs[0].URL, "/first/"+c.name) {
		return fmt.Errorf("tabs %+v", list.Tabs)
	}
	c.tab = list.Tabs[0].TabID
	return nil
}
