package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// openREST opens a session of s, without a web server.
func openREST(t *testing.T, s *Server) *HTTPSession {
	t.Helper()
	h, err := s.OpenHTTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// A restResult is the response to a call.
type restResult struct {
	status int
	header http.Header
	Text   string
	Result json.RawMessage
	Images []imageResponse
	Note   string
	Error  errorMeta
}

// callREST calls a tool with a JSON body. Each pair of header is a name and a value.
func callREST(t *testing.T, h *HTTPSession, tool, body string, header ...string) restResult {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return serveTool(t, h, tool, r)
}

func serveTool(t *testing.T, h *HTTPSession, tool string, r *http.Request) restResult {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeTool(w, r, tool)
	res := restResult{status: w.Code, header: w.Header()}
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
	h := openREST(t, NewServer(&fake{
		listTabs: func(ctx context.Context) ([]executor.Tab, error) {
			executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2", Active: true}}.Report(ctx)
			return []executor.Tab{{ID: tab1, URL: "https://a.test/?a=1&b=2"}}, nil
		},
		screenshot: func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
			return &executor.Screenshot{Data: []byte("\x89PNG"), MIMEType: "image/png"}, nil
		},
	}, nil))
	const note = "the user has shared tab ext:a:2; it is now the active tab"
	for _, body := range []string{"", "{}", "null", " {}\n"} {
		res := callREST(t, h, "tabs_list", body)
		var result struct{ Tabs []executor.Tab }
		if err := json.Unmarshal(res.Result, &result); err != nil || len(result.Tabs) != 1 || result.Tabs[0].ID != tab1 {
			t.Errorf("%q: result %s, %v", body, res.Result, err)
		}
		if res.Note != note || !strings.HasSuffix(res.Text, "\nnote: "+note) || res.Images != nil {
			t.Errorf("%q: %+v", body, res)
		}
	}
	res := callREST(t, h, "screenshot", "", "Content-Type", "application/json; charset=utf-8")
	if len(res.Images) != 1 || res.Images[0].MIMEType != "image/png" || string(res.Images[0].Data) != "\x89PNG" || res.Note != "" {
		t.Errorf("%+v", res)
	}
	// Page text has angle brackets and ampersands: escapes would triple them.
	w := httptest.NewRecorder()
	h.ServeTool(w, httptest.NewRequest(http.MethodPost, "/", nil), "tabs_list")
	if !strings.Contains(w.Body.String(), "a=1&b=2") {
		t.Errorf("%s", w.Body)
	}
}

// TestServeToolErrors checks that each code has its status and the error that MCP clients receive
// in _meta.
func TestServeToolErrors(t *testing.T) {
	var failure error
	s := NewServer(&fake{click: func(ctx context.Context, _ executor.TabID, _ executor.Target, _ *executor.ClickOptions) (*executor.Action, error) {
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2"}}.Report(ctx)
		return nil, failure
	}}, nil)
	h, cs := openREST(t, s), connect(t, s, nil)
	for _, code := range executor.Codes() {
		failure = &executor.Error{
			Code: code, Err: errors.New("it failed"), Hint: "Look.", Retryable: true,
			Candidates: []executor.Candidate{{Role: "button", Name: "Pay", Ref: "e7"}},
		}
		res, want := callREST(t, h, "click", `{"ref":"e1"}`), metaOf(t, callTool(t, cs, "click", `{"ref":"e1"}`))
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

// TestServeToolRejectsRequests sends requests that are not calls, and checks that no tool runs.
func TestServeToolRejectsRequests(t *testing.T) {
	h := openREST(t, NewServer(&fake{}, nil)) // the errors of its methods have another code
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
			res := serveTool(t, h, c.tool, c.r)
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

// TestRESTSharesLimits checks that a call is counted with those of the MCP clients of the session,
// and that Retry-After says when the next call is allowed.
func TestRESTSharesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
		h := openREST(t, NewServer(f, &Options{CallsPerMinute: 6}))
		ses := h.ses
		for range 3 {
			callREST(t, h, "tabs_list", "")
			if res := ses.call(t.Context(), ses.tool("tabs_list"), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}}); res.IsError {
				t.Error(textOf(res))
			}
		}
		res := callREST(t, h, "tabs_list", "")
		if res.status != http.StatusTooManyRequests || res.header.Get("Retry-After") != "10" || !res.Error.Retryable {
			t.Errorf("%d, Retry-After %q: %+v", res.status, res.header.Get("Retry-After"), res.Error)
		}
	})
}

// TestRESTCallSurvivesDisconnect disconnects the client of a call, over a real connection. The call
// continues, and the end of the session cancels it.
func TestRESTCallSurvivesDisconnect(t *testing.T) {
	f, started, ended := hangingNavigation()
	closed := make(chan struct{})
	f.close = func() error { close(closed); return nil }
	h, err := NewSessionServer(func(context.Context) (executor.Executor, error) { return f, nil }, nil).OpenHTTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{}) // the server has noticed the disconnect
	served := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		defer context.AfterFunc(r.Context(), func() { close(gone) })()
		h.ServeTool(w, r, "navigate")
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
	if err := h.Close(); err != nil {
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
	if res := callREST(t, h, "tabs_list", ""); res.Error.Code != executor.ErrSessionEnded || res.status != http.StatusNotFound {
		t.Errorf("a call after the end: %+v", res.Error)
	}
}

// TestRESTLostResult disconnects the client of a call that then succeeds. The next response of the
// session, and only that, has a note about the result.
func TestRESTLostResult(t *testing.T) {
	started, proceed := make(chan struct{}), make(chan struct{})
	h := openREST(t, NewServer(&fake{
		navigate: func(_ context.Context, _ executor.TabID, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
			close(started)
			<-proceed
			return &executor.Navigation{URL: url}, nil
		},
		listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil },
	}, nil))
	served := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		defer context.AfterFunc(r.Context(), func() { close(proceed) })() // the server has noticed it
		h.ServeTool(w, r, "navigate")
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
	if res := callREST(t, h, "tabs_list", ""); !strings.HasPrefix(res.Note, want) {
		t.Errorf("note %q", res.Note)
	}
	if res := callREST(t, h, "tabs_list", ""); res.Note != "" {
		t.Errorf("again: %q", res.Note)
	}
}

// TestRESTAuditClient checks that an entry names the client of its call, also within a batch, and
// that the first client begins the session.
func TestRESTAuditClient(t *testing.T) {
	var log memoryRecorder
	names := make(chan string, 2)
	f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
	h, url := openHTTP(t, NewServer(f, &Options{Tools: Toolsets(), Audit: &log, OnClient: func(name string) { names <- name }}))
	callREST(t, h, "batch", `{"calls":[{"tool":"tabs_list"}]}`, "User-Agent", "curl/8.1 "+strings.Repeat("x", maxClient))
	begun := "curl/8.1 " + strings.Repeat("x", maxClient-len("curl/8.1 ")) + "…"
	callREST(t, h, "tabs_list", "")
	for _, version := range []string{legacy, firstStateless} {
		callTool(t, connectHTTP(t, url, version), "tabs_list", "")
	}
	var got []string
	for _, e := range log.take() {
		got = append(got, fmt.Sprintf("%s %s %s", e.Event, e.Tool, e.Client))
	}
	want := []string{"session  " + begun, "call tabs_list " + begun, "call batch " + begun, "call tabs_list http", "call tabs_list test 1", "call tabs_list test 1"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("entries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if name := <-names; !strings.HasPrefix(name, "curl/8.1 ") || len(names) != 0 {
		t.Errorf("client %q, %d more calls of OnClient", name, len(names))
	}
}

// TestRESTPermissions checks that the extension popup prompts for the calls of a client that can
// show no prompt, and that a call does not use the once grant of another one.
func TestRESTPermissions(t *testing.T) {
	h := newPromptFixture(t)
	popup := &fakePopup{answer: func(executor.PermissionPrompt) (executor.PromptAnswer, error) { return executor.AnswerOnce, nil }}
	h.server.opts.Prompter = popup
	session := openREST(t, h.server)
	revoke, err := h.guard.Grant(h.guard.WithCall(t.Context(), ""), executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer revoke()
	if res := callREST(t, session, "navigate", shopCall); res.status != http.StatusForbidden || h.navigations.Load() != 0 {
		t.Errorf("with the grant of another call: %d, %+v, %d navigations", res.status, res.Error, h.navigations.Load())
	}
	popup.connected = true
	if res := callREST(t, session, "navigate", shopCall); res.status != http.StatusOK || h.navigations.Load() != 1 {
		t.Errorf("after the user's answer: %d, %+v, %d navigations", res.status, res.Error, h.navigations.Load())
	}
}

// TestRESTStalledClient closes a session while a client does not read the response to its call.
func TestRESTStalledClient(t *testing.T) {
	f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
	h, err := NewServer(f, nil).OpenHTTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &stalledWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		h.ServeTool(w, httptest.NewRequest(http.MethodPost, "/", nil), "tabs_list")
	}()
	<-w.stalled
	if err := h.Close(); err != nil { // hangs otherwise
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
