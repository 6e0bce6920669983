package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }

// A browser is an Executor made of function fields. The methods without a field panic.
type browser struct {
	executor.Executor
	tabs       func(context.Context) ([]executor.Tab, error)
	navigate   func(context.Context, string) (*executor.Navigation, error)
	click      func(context.Context) (*executor.Action, error)
	screenshot func() (*executor.Screenshot, error)
	close      func() error
}

func (b *browser) Tabs(ctx context.Context) ([]executor.Tab, error) { return b.tabs(ctx) }

func (b *browser) Navigate(ctx context.Context, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
	return b.navigate(ctx, url)
}

func (b *browser) Page(context.Context, executor.TabID) (executor.Page, error) {
	return page{b: b}, nil
}

func (b *browser) Close() error { return b.close() }

type page struct {
	executor.Page
	b *browser
}

func (p page) Click(ctx context.Context, _ executor.Target, _ *executor.ClickOptions) (*executor.Action, error) {
	return p.b.click(ctx)
}

func (p page) Screenshot(context.Context, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	return p.b.screenshot()
}

// noTabs lists no tab.
func noTabs(context.Context) ([]executor.Tab, error) { return nil, nil }

const shopCall = `{"url":"https://shop.example.com/"}`

// open opens a session of s, without a web server.
func open(t *testing.T, s *mcp.Server) *mcp.Workspace {
	t.Helper()
	ws, err := s.OpenWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return ws
}

// A result is the response to a call.
type result struct {
	status int
	header http.Header
	Text   string
	Result json.RawMessage
	Images []imageResponse
	Note   string
	Error  mcp.ErrorInfo
}

// call calls a tool with a JSON body. Each pair of header is a name and a value.
func call(t *testing.T, ws *mcp.Workspace, tool, body string, header ...string) result {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return serveTool(t, ws, tool, r)
}

func serveTool(t *testing.T, ws *mcp.Workspace, tool string, r *http.Request) result {
	t.Helper()
	w := httptest.NewRecorder()
	ServeTool(ws, w, r, tool)
	res := result{status: w.Code, header: w.Header()}
	dec := json.NewDecoder(w.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&res); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d, %s: %v", tool, w.Code, w.Header(), err)
	}
	if (res.status == http.StatusOK) != (res.Error.Code == "") || (res.status == http.StatusOK) != (res.Text != "") {
		t.Errorf("%s: %+v", tool, res)
	}
	return res
}

// TestServeTool checks the bodies of successful calls. They are structured, and have images and
// notes, although the session is not structured for MCP clients.
func TestServeTool(t *testing.T) {
	ws := open(t, mcp.NewServer(&browser{
		tabs: func(ctx context.Context) ([]executor.Tab, error) {
			executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2", Active: true}}.Report(ctx)
			return []executor.Tab{{ID: "cdp:a:1", URL: "https://a.test/?a=1&b=2"}}, nil
		},
		screenshot: func() (*executor.Screenshot, error) {
			return &executor.Screenshot{Data: []byte("\x89PNG"), MIMEType: "image/png"}, nil
		},
	}, nil))
	const note = "the user has shared tab ext:a:2; it is now the active tab"
	for _, body := range []string{"", "{}", "null", " {}\n"} {
		res := call(t, ws, "tabs_list", body)
		var result struct{ Tabs []executor.Tab }
		if err := json.Unmarshal(res.Result, &result); err != nil || len(result.Tabs) != 1 || result.Tabs[0].ID != "cdp:a:1" {
			t.Errorf("%q: result %s, %v", body, res.Result, err)
		}
		if res.Note != note || !strings.HasSuffix(res.Text, "\nnote: "+note) || res.Images != nil {
			t.Errorf("%q: %+v", body, res)
		}
	}
	res := call(t, ws, "screenshot", "", "Content-Type", "application/json; charset=utf-8")
	if len(res.Images) != 1 || res.Images[0].MIMEType != "image/png" || string(res.Images[0].Data) != "\x89PNG" || res.Note != "" {
		t.Errorf("%+v", res)
	}
	// Page text has angle brackets and ampersands: escapes would triple them.
	w := httptest.NewRecorder()
	ServeTool(ws, w, httptest.NewRequest(http.MethodPost, "/", nil), "tabs_list")
	if !strings.Contains(w.Body.String(), "a=1&b=2") {
		t.Errorf("%s", w.Body)
	}
}

// TestServeToolErrors checks that each code has its status and the error that MCP clients receive
// in _meta.
func TestServeToolErrors(t *testing.T) {
	var failure error
	s := mcp.NewServer(&browser{click: func(ctx context.Context) (*executor.Action, error) {
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2"}}.Report(ctx)
		return nil, failure
	}}, nil)
	ws, client := open(t, s), connect(t, s)
	for _, code := range executor.Codes() {
		failure = &executor.Error{
			Code: code, Err: errors.New("it failed"), Hint: "Look.", Retryable: true,
			Candidates: []executor.Candidate{{Role: "button", Name: "Pay", Ref: "e7"}},
		}
		res, want := call(t, ws, "click", `{"ref":"e1"}`), errorOfClick(t, client)
		if code == executor.ErrInternal { // the ids of the log entries differ
			if len(res.Error.ID) != 10 {
				t.Errorf("%+v", res.Error)
			}
			want.ID, want.Message = res.Error.ID, strings.ReplaceAll(want.Message, want.ID, res.Error.ID)
		}
		got, err := json.Marshal(res.Error)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := json.Marshal(want); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s, want %s, %v", code, got, want, err)
		}
		if status := errclass.Of(code).Status; res.status != status || (res.header.Get("Retry-After") != "") != (status == http.StatusTooManyRequests) {
			t.Errorf("%s: %d, Retry-After %q, want %d", code, res.status, res.header.Get("Retry-After"), status)
		}
		if !strings.Contains(res.Note, "shared tab ext:a:2") {
			t.Errorf("%s: note %q", code, res.Note)
		}
	}
}

// connect connects an MCP client to s.
func connect(t *testing.T, s *mcp.Server) *sdk.ClientSession {
	t.Helper()
	ours, theirs := sdk.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- s.Run(context.WithoutCancel(t.Context()), ours) }()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return client
}

// errorOfClick returns the error of a click that fails.
func errorOfClick(t *testing.T, client *sdk.ClientSession) (e mcp.ErrorInfo) {
	t.Helper()
	res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "click", Arguments: json.RawMessage(`{"ref":"e1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(res.Meta[mcp.ErrorKey])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestServeToolRejectsRequests sends requests that are not calls, and checks that no tool runs.
func TestServeToolRejectsRequests(t *testing.T) {
	ws := open(t, mcp.NewServer(&browser{}, nil)) // the errors of its methods have another code
	post := func(body io.Reader, contentType string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.Header.Set("Content-Type", contentType)
		return r
	}
	for name, c := range map[string]struct {
		tool   string
		r      *http.Request
		status int
		text   string
	}{
		"unknown tool":       {"naviagte", post(nil, ""), http.StatusNotFound, `unknown tool "naviagte"; did you mean navigate?`},
		"other toolset":      {"batch", post(nil, ""), http.StatusNotFound, "batch is a tool of the toolset batch, which is not enabled"},
		"method":             {"tabs_list", httptest.NewRequest(http.MethodGet, "/", nil), http.StatusMethodNotAllowed, `method "GET" is not allowed`},
		"form":               {"tabs_list", post(strings.NewReader("a=b"), "application/x-www-form-urlencoded"), http.StatusBadRequest, "arguments"},
		"text":               {"tabs_list", post(strings.NewReader("{}"), "text/plain"), http.StatusUnsupportedMediaType, "is not application/json"},
		"bad content type":   {"tabs_list", post(strings.NewReader("{}"), "application/json/x"), http.StatusUnsupportedMediaType, "is not application/json"},
		"large":              {"tabs_list", post(strings.NewReader(strings.Repeat(" ", mcptransport.MaxMessage+1)), "application/json"), http.StatusRequestEntityTooLarge, "the body is larger than 10 MiB"},
		"interrupted":        {"tabs_list", post(io.MultiReader(strings.NewReader("{"), failingReader{}), "application/json"), http.StatusBadRequest, "the body was not received: connection reset"},
		"not JSON":           {"tabs_list", post(strings.NewReader("url=x"), ""), http.StatusBadRequest, "arguments"},
		"array":              {"tabs_list", post(strings.NewReader("[]"), ""), http.StatusBadRequest, "arguments"},
		"two objects":        {"tabs_list", post(strings.NewReader("{}{}"), ""), http.StatusBadRequest, "arguments"},
		"unknown argument":   {"navigate", post(strings.NewReader(`{"adress":"https://a.test"}`), ""), http.StatusBadRequest, "adress"},
		"repeated argument":  {"navigate", post(strings.NewReader(`{"url":"https://a.test","url":"https://b.test"}`), ""), http.StatusBadRequest, "url is given twice"},
		"missing argument":   {"navigate", post(nil, ""), http.StatusBadRequest, "url is missing"},
		"argument of a type": {"navigate", post(strings.NewReader(`{"url":1}`), ""), http.StatusBadRequest, "url must be"},
	} {
		t.Run(name, func(t *testing.T) {
			res := serveTool(t, ws, c.tool, c.r)
			if res.status != c.status || res.Error.Code != executor.ErrBadArgs || res.Error.Retryable || !strings.Contains(res.Error.Message, c.text) {
				t.Errorf("%d: %+v, want %d: %s", res.status, res.Error, c.status, c.text)
			}
			if allow := res.header.Get("Allow"); (allow == http.MethodPost) != (c.status == http.StatusMethodNotAllowed) {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestRetryAfter checks that Retry-After says when the next call is allowed.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws := open(t, mcp.NewServer(&browser{tabs: noTabs}, &mcp.Options{CallsPerMinute: 6}))
		for range 6 {
			call(t, ws, "tabs_list", "")
		}
		res := call(t, ws, "tabs_list", "")
		if res.status != http.StatusTooManyRequests || res.header.Get("Retry-After") != "10" || !res.Error.Retryable {
			t.Errorf("%d, Retry-After %q: %+v", res.status, res.header.Get("Retry-After"), res.Error)
		}
	})
}

// TestCallSurvivesDisconnect disconnects the client of a call, over a real connection. The call
// continues, and the end of the session cancels it.
func TestCallSurvivesDisconnect(t *testing.T) {
	started, ended, closed := make(chan struct{}), make(chan error, 1), make(chan struct{})
	b := &browser{
		navigate: func(ctx context.Context, _ string) (*executor.Navigation, error) {
			close(started)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		},
		close: func() error { close(closed); return nil },
	}
	ws, err := mcp.NewSessionServer(func(context.Context) (executor.Executor, error) { return b, nil }, nil).OpenWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{}) // the server has noticed the disconnect
	served := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		defer context.AfterFunc(r.Context(), func() { close(gone) })()
		ServeTool(ws, w, r, "navigate")
	}))
	defer web.Close()
	ctx, disconnect := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL, strings.NewReader(shopCall))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	go func() {
		<-started
		disconnect()
	}()
	if _, err := web.Client().Do(r); !errors.Is(err, context.Canceled) {
		t.Fatalf("the client got %v", err)
	}
	<-gone
	select {
	case err := <-ended:
		t.Fatalf("the call ended with its client: %v", err)
	default:
	}
	if err := ws.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-closed:
	default:
		t.Error("Close did not close the executor")
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	default:
		t.Error("Close did not wait for the call")
	}
	<-served
	if res := call(t, ws, "tabs_list", ""); res.Error.Code != executor.ErrSessionEnded || res.status != http.StatusNotFound {
		t.Errorf("a call after the end: %+v", res.Error)
	}
}

// TestLostResult disconnects the client of a call that then succeeds. The next response of the
// session, and only that, has a note about the result.
func TestLostResult(t *testing.T) {
	started, proceed := make(chan struct{}), make(chan struct{})
	ws := open(t, mcp.NewServer(&browser{
		navigate: func(_ context.Context, url string) (*executor.Navigation, error) {
			close(started)
			<-proceed
			return &executor.Navigation{URL: url}, nil
		},
		tabs: noTabs,
	}, nil))
	served := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		defer context.AfterFunc(r.Context(), func() { close(proceed) })() // the server has noticed it
		ServeTool(ws, w, r, "navigate")
	}))
	defer web.Close()
	ctx, disconnect := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL, strings.NewReader(shopCall))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		disconnect()
	}()
	if _, err := web.Client().Do(r); !errors.Is(err, context.Canceled) {
		t.Fatalf("the client got %v", err)
	}
	<-served
	const want = `the result of an earlier call of navigate was not delivered: "https://shop.example.com/"`
	if res := call(t, ws, "tabs_list", ""); !strings.HasPrefix(res.Note, want) {
		t.Errorf("note %q", res.Note)
	}
	if res := call(t, ws, "tabs_list", ""); res.Note != "" {
		t.Errorf("again: %q", res.Note)
	}
}

// TestClientName checks that the audit log names the client of a call.
func TestClientName(t *testing.T) {
	var log recorder
	ws := open(t, mcp.NewServer(&browser{tabs: noTabs}, &mcp.Options{Audit: &log}))
	call(t, ws, "tabs_list", "", "User-Agent", " curl/8.1 ")
	call(t, ws, "tabs_list", "")
	call(t, ws, "tabs_list", "", "User-Agent", " ")
	if want := []string{"curl/8.1", "http", "http"}; !slices.Equal(log.clients, want) {
		t.Errorf("clients %q, want %q", log.clients, want)
	}
}

// A recorder collects the clients of calls.
type recorder struct{ clients []string }

func (r *recorder) Ready() error { return nil }

func (r *recorder) Record(e audit.Entry) {
	if e.Event == audit.EventCall {
		r.clients = append(r.clients, e.Client)
	}
}

// TestStalledClient closes a session while a client does not read the response to its call.
func TestStalledClient(t *testing.T) {
	ws, err := mcp.NewServer(&browser{tabs: noTabs}, nil).OpenWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &stalledWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		ServeTool(ws, w, httptest.NewRequest(http.MethodPost, "/", nil), "tabs_list")
	}()
	<-w.stalled
	if err := ws.Close(); err != nil { // hangs otherwise
		t.Error(err)
	}
	close(w.proceed)
	<-served
}

// A stalledWriter is a client that reads nothing until proceed is closed.
type stalledWriter struct {
	*httptest.ResponseRecorder
	stalled, proceed chan struct{}
}

func (w *stalledWriter) Write(p []byte) (int, error) {
	close(w.stalled)
	<-w.proceed
	return w.ResponseRecorder.Write(p)
}
