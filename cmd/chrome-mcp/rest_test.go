package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// A restClient sends requests to a running server with curl, as the documentation does.
type restClient struct {
	t      *testing.T
	socket string
	bodies []openAPIBody
}

// An openAPIBody is a body and the JSON pointer of its schema in the OpenAPI document.
type openAPIBody struct {
	Schema string          `json:"schema"`
	Body   json.RawMessage `json:"body"`
}

// A restResponse is the response to a request. Its fields are those of all JSON objects.
type restResponse struct {
	*http.Response
	body   string
	Text   string
	Result json.RawMessage
	Images []struct {
		MIMEType string
		Data     []byte
	}
	Error struct {
		Code, Message, Hint string
		Retryable           bool
	}
}

// send sends a request with the given method, path and options of curl.
func (c *restClient) send(method, path string, options ...string) *restResponse {
	c.t.Helper()
	args := append([]string{"--silent", "--show-error", "--include", "--raw", "--unix-socket", c.socket, "--request", method, "http://localhost" + path}, options...)
	cmd := exec.CommandContext(c.t.Context(), "curl", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("curl %q: %v\n%s", args, err, &stderr)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), nil)
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", method, path, err, out)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	r := &restResponse{Response: resp, body: string(body)}
	if err := json.Unmarshal(body, r); err != nil && strings.HasPrefix(r.body, "{") {
		c.t.Fatalf("%s %s: %v\n%s", method, path, err, body)
	}
	return r
}

// call calls a tool of the session "shop" and records the bodies. It checks the status.
func (c *restClient) call(status int, tool, args string) *restResponse {
	c.t.Helper()
	r := c.send(http.MethodPost, "/v1/sessions/shop/tools/"+tool, "--json", args)
	c.checkStatus(r, status, tool+" "+args)
	operation := "/paths/~1v1~1sessions~1{name}~1tools~1" + tool + "/post/"
	response := openAPIBody{"/components/schemas/Failure", json.RawMessage(r.body)}
	if r.StatusCode == http.StatusOK {
		response.Schema = operation + "responses/200/content/application~1json/schema"
	}
	c.bodies = append(c.bodies, response)
	if r.StatusCode != http.StatusBadRequest {
		c.bodies = append(c.bodies, openAPIBody{operation + "requestBody/content/application~1json/schema", json.RawMessage(args)})
	}
	return r
}

// checkStatus checks the status of a response.
func (c *restClient) checkStatus(r *restResponse, status int, what string) {
	c.t.Helper()
	if r.StatusCode != status {
		c.t.Errorf("%s: %s, want %d\n%s", what, r.Status, status, r.body)
	}
}

// newRESTClient returns a client of the server of c, which a command starts.
func newRESTClient(t *testing.T, c *commandLine) *restClient {
	t.Helper()
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", "first"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	return &restClient{t: t, socket: server.SocketPath(c.data)}
}

// sessionSettingsJSON returns the body of a request that opens a session of a managed browser that
// may use a site.
func sessionSettingsJSON(t *testing.T, site string, more ...string) string {
	t.Helper()
	settings := server.Settings{"--headless": {"true"}, "--isolated": {"true"}, "--prefer": {"cdp"}, "--allow-domain": {site}}
	if browser := os.Getenv("CHROME_MCP_BROWSER"); browser != "" {
		settings["--browser"] = []string{browser}
	}
	for _, flag := range append(rootNeedsNoSandbox(), more...) {
		name, value, ok := strings.Cut(flag, "=")
		if !ok {
			value = "true"
		}
		settings[name] = []string{value}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// restSite serves a page with a button that counts clicks, and a page that never arrives.
func restSite(t *testing.T) (address string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>Counter</title><h1>Counter</h1><a href="/">Start again</a>
			<button onclick="this.textContent = 'Clicked ' + (++clicks)">Count</button><script>let clicks = 0</script>`)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	site := httptest.NewServer(mux)
	t.Cleanup(func() {
		site.CloseClientConnections()
		site.Close()
	})
	return site.URL
}

// TestREST uses a session with curl: each status that a tool can have, and a client of MCP in the
// same session. All bodies match the OpenAPI document.
func TestREST(t *testing.T) {
	needChromium(t)
	address := restSite(t)
	line := newCommandLine(t)
	c := newRESTClient(t, line)
	c.checkStatus(c.send(http.MethodPut, "/v1/sessions/shop", "--json", sessionSettingsJSON(t, address, "--enable-mutations", "--max-image=640")), http.StatusNoContent, "open")

	if r := c.call(http.StatusOK, "navigate", `{"url":"`+address+`/"}`); !strings.Contains(r.Text, "Counter") || !strings.Contains(string(r.Result), `"title":"Counter"`) {
		t.Errorf("navigate: %s", r.body)
	}
	r := c.send(http.MethodPost, "/v1/sessions/shop/tools/snapshot") // no body
	c.checkStatus(r, http.StatusOK, "snapshot")
	button := regexp.MustCompile(`button "Count" \[ref=(e[0-9]+)\]`).FindStringSubmatch(r.Text)
	if button == nil {
		t.Fatalf("snapshot: %s", r.body)
	}
	ref := `{"ref":"` + button[1] + `"}`
	if r := c.call(http.StatusOK, "click", ref); !strings.Contains(r.Text, "Clicked 1") {
		t.Errorf("click: %s", r.body)
	}
	if r := c.call(http.StatusOK, "screenshot", `{}`); len(r.Images) != 1 || !bytes.HasPrefix(r.Images[0].Data, []byte("\x89PNG")) || !strings.Contains(r.Text, "640 x 360 pixels\nscaled to 0.5: it shows 1280 CSS pixels in width") {
		t.Errorf("screenshot: %.200s", r.body)
	}
	// A command in the same session has the same active tab and the same refs.
	if out, err := line.run("call", "click", ref, "--session", "shop"); err != nil || !strings.Contains(out, "Clicked 2") {
		t.Errorf("call: %v\n%s", err, out)
	}
	if r := c.call(http.StatusOK, "get_text", `{"selector":"button"}`); !strings.Contains(r.Text, "Clicked 2") {
		t.Errorf("get_text: %s", r.body)
	}

	for _, failure := range []struct {
		status           int
		code, tool, args string
	}{
		{http.StatusBadRequest, "BAD_ARGS", "click", `{"element":"e1"}`},
		{http.StatusForbidden, "POLICY_DENIED", "navigate", `{"url":"https://denied.example/"}`},
		{http.StatusForbidden, "POLICY_DENIED", "eval", `{"expression":"1"}`},
		{http.StatusNotFound, "SELECTOR_NOT_FOUND", "click", `{"selector":"#nothing"}`},
		{http.StatusNotFound, "TAB_NOT_FOUND", "get_text", `{"tabId":"` + missingTab(t, c) + `"}`},
		{http.StatusGatewayTimeout, "TIMEOUT", "navigate", `{"url":"` + address + `/slow","timeoutMs":500}`},
		{http.StatusUnprocessableEntity, "REF_EXPIRED", "click", `{"ref":"e99999"}`},
		{http.StatusUnprocessableEntity, "STALE_TAB", "get_text", `{"tabId":"cdp:zzzz:1"}`},
	} {
		if r := c.call(failure.status, failure.tool, failure.args); r.Error.Code != failure.code || r.Error.Message == "" || r.Text != "" {
			t.Errorf("%s %s: %s", failure.tool, failure.args, r.body)
		}
	}
	for _, rejected := range []struct {
		status  int
		method  string
		path    string
		options []string
	}{
		{http.StatusNotFound, http.MethodPost, "/v1/sessions/shop/tools/nothing", nil},
		{http.StatusNotFound, http.MethodPost, "/v1/sessions/nothing/tools/navigate", nil},
		{http.StatusMethodNotAllowed, http.MethodGet, "/v1/sessions/shop/tools/snapshot", nil},
		{http.StatusUnsupportedMediaType, http.MethodPost, "/v1/sessions/shop/tools/snapshot", []string{"--header", "Content-Type: text/plain", "--data", "{}"}},
	} {
		r := c.send(rejected.method, rejected.path, rejected.options...)
		c.checkStatus(r, rejected.status, rejected.method+" "+rejected.path)
		if r.Error.Code != "BAD_ARGS" || (r.Header.Get("Allow") == http.MethodPost) != (rejected.status == http.StatusMethodNotAllowed) {
			t.Errorf("%s: %s, %v", rejected.path, r.body, r.Header)
		}
		c.bodies = append(c.bodies, openAPIBody{"/components/schemas/Failure", json.RawMessage(r.body)})
	}
	r = c.send(http.MethodGet, "/v1/sessions")
	c.checkStatus(r, http.StatusOK, "sessions")
	c.bodies = append(c.bodies, openAPIBody{"/paths/~1v1~1sessions/get/responses/200/content/application~1json/schema", json.RawMessage(r.body)})

	// A session with a limit of one call.
	c.checkStatus(c.send(http.MethodDelete, "/v1/sessions/shop"), http.StatusNoContent, "close")
	limited := sessionSettingsJSON(t, address, "--max-calls=1")
	c.checkStatus(c.send(http.MethodPut, "/v1/sessions/shop", "--json", limited), http.StatusNoContent, "open")
	c.call(http.StatusForbidden, "navigate", `{"url":"https://denied.example/"}`)
	r = c.call(http.StatusTooManyRequests, "navigate", `{"url":"https://denied.example/"}`)
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 || !r.Error.Retryable {
		t.Errorf("Retry-After %q: %s", r.Header.Get("Retry-After"), r.body)
	}
	c.bodies = append(c.bodies, openAPIBody{"/components/schemas/Settings", json.RawMessage(limited)})

	c.bodies = append(c.bodies, openAPIBody{"/paths/~1v1~1tools/get/responses/200/content/application~1json/schema", json.RawMessage(c.send(http.MethodGet, "/v1/tools").body)})
	t.Run("bodies match the OpenAPI document", func(t *testing.T) {
		validateOpenAPI(t, json.RawMessage(c.send(http.MethodGet, "/v1/openapi.json").body), c.bodies)
	})
}

// TestRESTSettings opens sessions with wrong settings: the errors name the setting, what is wrong
// with it, and what to write, without texts internal to Go.
func TestRESTSettings(t *testing.T) {
	c := newRESTClient(t, newCommandLine(t))
	put := "/v1/sessions/strict"
	for _, tt := range []struct {
		path, body string
		want       []string
	}{
		{put, `{"--allow-domian": ["example.com"]}`, []string{`unknown setting \"--allow-domian\"`, "Did you mean --allow-domain?"}},
		{put, `{"allow-domain": ["example.com"]}`, []string{`unknown setting \"allow-domain\"`, "Did you mean --allow-domain?"}},
		{put, `{"--data": ["/tmp"]}`, []string{`unknown setting \"--data\"`}},
		{put, `{"--headless": true}`, []string{`setting \"--headless\": is not a list of strings`, `[\"VALUE\"]`}},
		{put, `{"--max-tabs": [3]}`, []string{`setting \"--max-tabs\": is not a list of strings`}},
		{put, `{"--max-tabs": []}`, []string{`setting \"--max-tabs\": is not a list of strings`}},
		{put, `{"--max-tabs": ["many"]}`, []string{`--max-tabs: \"many\" is not a number from 1 to 1000000`}},
		{put, `{"--max-tabs": ["1", "2"]}`, []string{`--max-tabs has 2 values`}},
		{put, `{"--headless": ["maybe"]}`, []string{`--headless: invalid boolean \"maybe\"`}},
		{put, `{"--port": ["70000"]}`, []string{`--port: \"70000\" is not a port from 0 to 65535`}},
		{put, `{"--headless": ["true"], "--headless": ["false"]}`, []string{`duplicate key \"--headless\"`}},
		{put, `{"browsers": ["[{\"name\":\"work\",\"type\":\"firefox\"}]"]}`, []string{`browser \"work\": \"firefox\" is not managed, extension, endpoint or browserless`}},
		{put, `{"browsers": ["{}"]}`, []string{"browsers is not a JSON list of browsers"}},
		{put, `{"browsers": ["[{\"name\":\"work\",\"type\":\"managed\",\"profil\":\"w\"}]"]}`, []string{`browsers: unknown field \"profil\"`}},
		{put, `["--headless"]`, []string{"is not a JSON object", "maps each setting to a list of strings"}},
		{put, `{"--headless": ["true"]`, []string{"is not JSON"}},
		{put + "?kep=true", `{}`, []string{`unknown query parameter \"kep\"`, "Did you mean keep?"}},
		{put + "?keep=yes", `{}`, []string{`query parameter keep: \"yes\" is not true or false`, "keep=true or keep=false"}},
	} {
		r := c.send(http.MethodPut, tt.path, "--json", tt.body)
		c.checkStatus(r, http.StatusBadRequest, tt.path+" "+tt.body)
		for _, want := range append(tt.want, `"BAD_ARGS"`) {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s %s: no %s in %s", tt.path, tt.body, want, r.body)
			}
		}
		for _, internal := range []string{"json:", "strconv", "EOF", "Go value"} {
			if strings.Contains(r.body, internal) {
				t.Errorf("%s %s: %s", tt.path, tt.body, r.body)
			}
		}
	}
	if list := c.send(http.MethodGet, "/v1/sessions").body; strings.Contains(list, "strict") {
		t.Errorf("a rejected request opened a session: %s", list)
	}
	c.checkStatus(c.send(http.MethodPut, put+"?keep=true"), http.StatusNoContent, "no body")
	if list := c.send(http.MethodGet, "/v1/sessions").body; !strings.Contains(list, "strict") {
		t.Errorf("sessions: %s", list)
	}
	named := "/v1/sessions/named"
	c.checkStatus(c.send(http.MethodPut, named, "--json", `{"--allow-domain": ["example.com"], "browsers": ["[{\"name\":\"work\",\"type\":\"managed\",\"color\":\"#1a73e8\"}]"]}`), http.StatusNoContent, "browsers")
	if r := c.send(http.MethodPost, named+"/tools/chrome_status"); !strings.Contains(string(r.Result), `"browsers":[{"name":"work","type":"managed","color":"#1a73e8","open":false}]`) {
		t.Errorf("chrome_status: %s", r.body)
	}
	if r := c.send(http.MethodPost, named+"/tools/tab_new", "--json", `{"browser": "wrk"}`); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.Error.Hint, "Did you mean work?") {
		t.Errorf("tab_new: %s", r.body)
	}
	r := c.send(http.MethodPost, put+"/tools/chrome_statsu")
	if c.checkStatus(r, http.StatusNotFound, "unknown tool"); !strings.Contains(r.Error.Message, "did you mean chrome_status?") || !strings.Contains(r.Error.Hint, "GET /v1/tools") {
		t.Errorf("unknown tool: %s", r.body)
	}
}

// missingTab returns the id of a tab that does not exist in the browser of the session.
func missingTab(t *testing.T, c *restClient) string {
	t.Helper()
	var list struct {
		Tabs []struct {
			ID string `json:"tabId"`
		}
	}
	r := c.call(http.StatusOK, "tabs_list", `{}`)
	if err := json.Unmarshal(r.Result, &list); err != nil || len(list.Tabs) == 0 {
		t.Fatalf("tabs_list: %s: %v", r.body, err)
	}
	return list.Tabs[0].ID[:strings.LastIndex(list.Tabs[0].ID, ":")+1] + "999"
}

// validateOpenAPI validates an OpenAPI document, and bodies with its schemas. It requires Node and
// tools/node_modules (make setup), and always runs in CI.
func validateOpenAPI(t *testing.T, document json.RawMessage, bodies []openAPIBody) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("../../tools/node_modules/@seriousme/openapi-schema-validator")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks Node or the validator: %v", err)
		}
		t.Skipf("Node or the validator not found (make setup): %v", err)
	}
	if bodies == nil {
		bodies = []openAPIBody{}
	}
	input, err := json.Marshal(map[string]any{"document": document, "bodies": bodies})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "../../tools/openapi-validate.mjs")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	var result struct {
		Schemas int
		Errors  []string
	}
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	if result.Schemas < 2*len(mcp.Tools()) {
		t.Errorf("the document has %d schemas", result.Schemas)
	}
	for _, problem := range result.Errors {
		t.Error(problem)
	}
}

// TestOpenAPIOperations checks that the server has each operation in the document that it returns. TestREST
// validates the document.
func TestOpenAPIOperations(t *testing.T) {
	c := newRESTClient(t, newCommandLine(t))
	raw := []byte(c.send(http.MethodGet, "/v1/openapi.json").body)
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, item := range document.Paths {
		if strings.Contains(path, "/tools/") && !strings.HasSuffix(path, "/click") {
			continue // the route is the same for all tools
		}
		for method := range item {
			if method == "parameters" {
				continue
			}
			operations++
			r := c.send(strings.ToUpper(method), strings.ReplaceAll(path, "{name}", "none"))
			if r.Header.Get("Content-Type") != "application/json" && r.StatusCode != http.StatusNoContent { // no route has this path and method
				t.Errorf("%s %s: %s\n%s", method, path, r.Status, r.body)
			}
		}
	}
	if operations != 6 {
		t.Errorf("the document has %d operations in addition to those of the tools", operations)
	}
	tools := c.send(http.MethodGet, "/v1/tools").body
	var list []struct{ Name string }
	if err := json.Unmarshal([]byte(tools), &list); err != nil || len(list) != len(mcp.Tools()) {
		t.Errorf("%d tools: %v", len(list), err)
	}
}

// TestRESTDocument runs the commands of docs/rest.md, with a site of the test.
func TestRESTDocument(t *testing.T) {
	needChromium(t)
	text, err := os.ReadFile("../../docs/rest.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("no commands in docs/rest.md")
	}
	home, err := os.MkdirTemp("", "cli") // the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	line := &commandLine{t, home + "/.chrome-mcp"}
	t.Cleanup(func() {
		if out, err := line.run("serve", "stop"); err != nil {
			t.Errorf("serve stop: %v\n%s", err, out)
		}
		os.RemoveAll(home)
	})
	address := restSite(t)
	extra := strings.TrimSuffix(sessionSettingsJSON(t, address), "}")
	script := strings.NewReplacer(`{"--allow-domain": ["example.com"]`, extra, "https://example.com", address).Replace(string(block[1]))
	if !strings.Contains(script, extra) || strings.Contains(script, "example.com") {
		t.Fatalf("unexpected commands:\n%s", script)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", script)
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), `"error"`) {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{`"title":"Counter"`, `link \"Start again\"`, `"ok":true`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output does not contain %s:\n%s", want, out)
		}
	}
}
