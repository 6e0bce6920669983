package server

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// testToken is the token of the principal "ci".
const testToken = "0123456789abcdef0123456789abcdef"

// startHTTP starts a server with an HTTP listener on loopback and returns its URL.
func startHTTP(t *testing.T, opts Options, http HTTPOptions) (*fixture, string) {
	t.Helper()
	http.Address = "127.0.0.1:0"
	listener, err := ListenHTTP(http)
	if err != nil {
		t.Fatal(err)
	}
	listener.AddTokens(Credential{sha256.Sum256([]byte(testToken)), &Principal{Name: "ci", Settings: Settings{"--headless": {"true"}}, Metrics: true}})
	opts.HTTP = listener
	return start(t, opts), listener.URL()
}

// A testRequest is a request of a test to the HTTP listener.
type testRequest struct {
	method, path, body string
	header             map[string]string // "" omits a header
}

// do sends the request, with the token unless the header says otherwise.
func (r testRequest) do(t *testing.T, base string) (status int, body string, header http.Header) {
	t.Helper()
	method := http.MethodGet
	if r.method != "" {
		method = r.method
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	for name, value := range r.header {
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// TestHTTPNeedsToken checks that every route except /healthz needs a token.
func TestHTTPNeedsToken(t *testing.T) {
	_, base := startHTTP(t, Options{}, HTTPOptions{})
	for _, path := range []string{"/", "/healthz/", "/HEALTHZ", "//healthz", "/readyz", "/metrics", "/mcp", "/v1/server", "/v1/sessions", "/v1/tools", "/json/version", "/devtools/browser/1", "/healthz/../v1/sessions"} {
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer " + testToken[1:], "Bearer " + testToken + "x", "Basic " + testToken, testToken} {
			status, body, got := testRequest{path: path, header: map[string]string{"Authorization": header}}.do(t, base)
			if status != http.StatusUnauthorized || got.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(body, `"code":"POLICY_DENIED"`) {
				t.Errorf("%s with %q: %d %s", path, header, status, body)
			}
		}
	}
	if status, body, _ := (testRequest{path: "/healthz", header: map[string]string{"Authorization": ""}}).do(t, base); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: %d %s", status, body)
	}
	for _, path := range []string{"/readyz", "/metrics", "/v1/server", "/v1/sessions"} {
		if status, body, _ := (testRequest{path: path, header: map[string]string{"Authorization": "bearer " + testToken}}).do(t, base); status != http.StatusOK {
			t.Errorf("%s with the token: %d %s", path, status, body)
		}
	}
}

// TestHTTPRejectsPages checks which requests are rejected before their token is read.
func TestHTTPRejectsPages(t *testing.T) {
	public, err := url.Parse("https://Chrome.example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, base := startHTTP(t, Options{}, HTTPOptions{PublicURL: public})
	host := strings.TrimPrefix(base, "http://")
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	type header = map[string]string
	for _, tt := range []struct {
		header header
		ok     bool
	}{
		{header{}, true},
		{header{"Host": "localhost:" + port}, true},
		{header{"Host": "LOCALHOST:" + port}, true},
		{header{"Host": "[::1]:" + port}, true},
		{header{"Host": "chrome.example.com"}, true},
		{header{"Host": "chrome.example.com:443"}, true},
		{header{"Host": "localhost"}, false},
		{header{"Host": "127.0.0.1"}, false},
		{header{"Host": "127.0.0.1:1"}, false},
		{header{"Host": "127.0.0.2:" + port}, false},
		{header{"Host": "0.0.0.0:" + port}, false},
		{header{"Host": "evil.example:" + port}, false},
		{header{"Host": "localhost.evil.example:" + port}, false},
		{header{"Host": "localhost.:" + port}, false},
		{header{"Host": "chrome.example.com:80"}, false},
		{header{"Host": "chrome.example.com.evil.example"}, false},
		{header{"Origin": base}, true},
		{header{"Origin": "http://localhost:" + port}, true},
		{header{"Origin": "https://chrome.example.com"}, true},
		{header{"Origin": "http://chrome.example.com"}, false},
		{header{"Origin": "https://" + host}, false},
		{header{"Origin": "http://localhost"}, false},
		{header{"Origin": "http://evil.example"}, false},
		{header{"Origin": "null"}, false},
		{header{"Origin": "chrome-extension://abc"}, false},
		{header{"Sec-Fetch-Site": "none"}, true},
		{header{"Sec-Fetch-Site": "same-origin"}, true},
		{header{"Sec-Fetch-Site": "same-site"}, false},
		{header{"Sec-Fetch-Site": "cross-site"}, false},
		{header{"Sec-Fetch-Site": "Same-Origin"}, false},
	} {
		for _, path := range []string{"/healthz", "/readyz"} {
			status, body, got := testRequest{path: path, header: tt.header}.do(t, base)
			if want := map[bool]int{true: 200, false: 403}[tt.ok]; status != want {
				t.Errorf("%s with %v: %d %s", path, tt.header, status, body)
			}
			for name := range got {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s with %v: header %s", path, tt.header, name)
				}
			}
		}
	}
	tt := testRequest{path: "/mcp", method: http.MethodOptions, header: header{"Origin": "http://evil.example", "Authorization": "", "Access-Control-Request-Method": "POST"}}
	if status, body, _ := tt.do(t, base); status != http.StatusForbidden {
		t.Errorf("preflight: %d %s", status, body)
	}
}

// TestHTTPLocalOnlyRoutes checks what clients with a token cannot do.
func TestHTTPLocalOnlyRoutes(t *testing.T) {
	f, base := startHTTP(t, Options{}, HTTPOptions{})
	if err := f.OpenSession(t.Context(), "mine", nil, false); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/server/stop", "/v1/server/%73top", "/v1/sessions/mine/stream"} {
		if status, body, _ := (testRequest{method: http.MethodPost, path: path}).do(t, base); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body, _ := (testRequest{path: "/mcp"}).do(t, base); status == http.StatusOK {
		t.Errorf("GET /mcp without a session: %d %s", status, body)
	}
	if status, body, _ := (testRequest{path: "/mcp", method: http.MethodPost, body: ping}).do(t, base); status != http.StatusOK || body != DefaultSession {
		t.Errorf("/mcp: %d %s", status, body)
	}
	if status, body, _ := (testRequest{path: "/v1/sessions"}).do(t, base); status != http.StatusOK || !strings.Contains(body, `"default"`) || strings.Contains(body, `"mine"`) {
		t.Errorf("sessions of the principal: %d %s", status, body)
	}
}

// TestHTTPLimits checks that bodies and headers are limited, and that slow clients are
// disconnected.
func TestHTTPLimits(t *testing.T) {
	_, base := startHTTP(t, Options{}, HTTPOptions{})
	for _, tt := range []struct {
		path string
		size int
		want int
	}{
		{"/v1/sessions/a", maxBody + 1, http.StatusRequestEntityTooLarge},
		{"/mcp", maxMCPBody + 1, http.StatusRequestEntityTooLarge},
		{"/mcp", maxBody + 1, http.StatusOK},
	} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(ping + strings.Repeat(" ", tt.size-len(ping)))
			if chunked {
				body = io.NopCloser(body)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+tt.path, body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.path != "/mcp" {
				req.Method = http.MethodPut
			}
			req.Header.Set("Authorization", "Bearer "+testToken)
			req.Header.Set("Expect", "100-continue") // so that the response arrives before the connection is closed
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Errorf("%s with %d bytes, chunked %v: %v", tt.path, tt.size, chunked, err)
				continue
			}
			resp.Body.Close()
			if resp.StatusCode != tt.want {
				t.Errorf("%s with %d bytes, chunked %v: %d, want %d", tt.path, tt.size, chunked, resp.StatusCode, tt.want)
			}
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The server reads a few KiB more than its limit, and then answers before the end of the
	// header.
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: %s\r\nX: %s", conn.RemoteAddr(), strings.Repeat("x", maxHeader+4096))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %d", resp.StatusCode)
	}
}

// An endlessWorkspace streams to its client until the connection fails.
type endlessWorkspace struct {
	fakeWorkspace
	failed chan error
}

func (s endlessWorkspace) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	block := []byte(strings.Repeat("x", 1<<16))
	for {
		_, err := w.Write(block)
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		if err != nil {
			s.failed <- err
			return
		}
	}
}

// TestHTTPWriteTimeout checks that a client that does not read a stream is disconnected.
func TestHTTPWriteTimeout(t *testing.T) {
	s := endlessWorkspace{failed: make(chan error, 1)}
	_, base := startHTTP(t, Options{Open: func(OpenRequest) (Workspace, error) { return s, nil }}, HTTPOptions{writeTimeout: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), testToken, len(ping), ping)
	if err := await.Receive(t, "the end of the stream", s.failed); !os.IsTimeout(err) {
		t.Errorf("the stream ended with %v", err)
	}
}

func (s endlessWorkspace) Close(string) error { return nil }

// A waitingWorkspace answers when released.
type waitingWorkspace struct {
	fakeWorkspace
	begun, release chan struct{}
}

func (s waitingWorkspace) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.begun <- struct{}{}
	<-s.release
	fmt.Fprint(w, "done")
}

func (s waitingWorkspace) Close(string) error { return nil }

// TestHTTPBodyValues checks that a body with many small values, which takes much memory, is
// rejected.
func TestHTTPBodyValues(t *testing.T) {
	_, base := startHTTP(t, Options{}, HTTPOptions{})
	for body, want := range map[string]int{
		"[" + strings.Repeat("{},", maxValues) + "{}]":                                   http.StatusRequestEntityTooLarge,
		`{"a":[` + strings.Repeat("[],", maxValues) + "[]]}":                             http.StatusRequestEntityTooLarge,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat(`[{,\"`, maxValues) + `"}`: http.StatusOK,
	} {
		status, text, _ := testRequest{path: "/mcp", method: http.MethodPost, body: body, header: map[string]string{"Expect": "100-continue"}}.do(t, base)
		if status != want {
			t.Errorf("%.40s: %d %s", body, status, text)
		}
	}
}

// TestHTTPBodyBudget checks that the bodies of the running requests of one client use limited
// memory.
func TestHTTPBodyBudget(t *testing.T) {
	s := waitingWorkspace{begun: make(chan struct{}), release: make(chan struct{})}
	_, base := startHTTP(t, Options{Open: func(OpenRequest) (Workspace, error) { return s, nil }}, HTTPOptions{})
	post := func(length int) string {
		status, body, _ := testRequest{path: "/mcp", method: http.MethodPost, body: ping + strings.Repeat(" ", length-len(ping)),
			header: map[string]string{"Expect": "100-continue"}}.do(t, base) // so that a rejection arrives before the connection is closed
		return fmt.Sprint(status, " ", body)
	}
	var running sync.WaitGroup
	for range maxBodies / maxMCPBody {
		running.Go(func() {
			if got := post(maxMCPBody); got != "200 done" {
				t.Errorf("within the limit: %s", got)
			}
		})
		<-s.begun
	}
	rejected := make(chan string, 1)
	go func() { rejected <- post(maxMCPBody) }()
	select {
	case got := <-rejected:
		if !strings.HasPrefix(got, "429 ") || !strings.Contains(got, "64 MiB") {
			t.Errorf("beyond the limit: %s", got)
		}
	case <-s.begun:
		t.Error("a request beyond the limit was served")
	}
	running.Go(func() { post(len(ping)) })
	<-s.begun
	close(s.release)
	running.Wait()
	go func() { <-s.begun }()
	if got := post(maxMCPBody); got != "200 done" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestHTTPBodyBudgetOfUnknownLength checks that bodies of unknown length are counted before they
// arrive.
func TestHTTPBodyBudgetOfUnknownLength(t *testing.T) {
	_, base := startHTTP(t, Options{}, HTTPOptions{})
	// begin sends the header of a request. The server asks for the body, or rejects the request.
	begin := func() int {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n", conn.RemoteAddr(), testToken)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for i := range maxBodies/maxMCPBody + 1 {
		want := http.StatusContinue
		if i == maxBodies/maxMCPBody {
			want = http.StatusTooManyRequests
		}
		if got := begin(); got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
	}
}

// TestHTTPDrain checks that a server that stops completes running requests, reports that it is not
// ready, and rejects others.
func TestHTTPDrain(t *testing.T) {
	s := waitingWorkspace{begun: make(chan struct{}), release: make(chan struct{})}
	f, base := startHTTP(t, Options{Open: func(OpenRequest) (Workspace, error) { return s, nil }}, HTTPOptions{})
	// Connections that stay open: net/http would open another one for each request.
	connect := func() func(path string) int {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		in := bufio.NewReader(conn)
		return func(path string) int {
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, conn.RemoteAddr(), testToken)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			if closes := path == "/healthz"; resp.Close != closes && resp.StatusCode == http.StatusOK {
				t.Errorf("%s: the server closes the connection: %t", path, resp.Close)
			}
			return resp.StatusCode
		}
	}
	request, probe := connect(), connect()
	if got := request("/readyz"); got != http.StatusOK {
		t.Fatalf("ready: %d", got)
	}
	called := make(chan string, 1)
	go func() {
		status, body, _ := testRequest{path: "/mcp", method: http.MethodPost, body: ping}.do(t, base)
		called <- fmt.Sprint(status, " ", body)
	}()
	<-s.begun
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a server that is not ready", func() bool { return request("/readyz") == http.StatusServiceUnavailable })
	if got := probe("/healthz"); got != http.StatusOK {
		t.Errorf("health while stopping: %d", got)
	}
	if got := request("/v1/sessions"); got != http.StatusServiceUnavailable {
		t.Errorf("a request while stopping: %d", got)
	}
	close(s.release)
	if got := <-called; got != "200 done" {
		t.Errorf("the running request: %s", got)
	}
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")); err == nil {
		conn.Close()
		t.Errorf("%s is still open", base)
	}
}

// TestHTTPMetrics checks the metrics after requests and calls.
func TestHTTPMetrics(t *testing.T) {
	metrics := new(Metrics)
	_, base := startHTTP(t, Options{}, HTTPOptions{Metrics: metrics})
	record := metrics.Recorder(nil)
	for range 2 {
		record.Record(audit.Entry{Event: audit.EventCall, Tool: "click", Code: "OK", DurationMS: 100})
	}
	record.Record(audit.Entry{Event: audit.EventCall, Tool: "click", Code: "TIMEOUT", DurationMS: 90_000})
	record.Record(audit.Entry{Event: audit.EventDenied, Tool: "navigate"})
	record.Record(audit.Entry{Event: audit.EventCall, Tool: audit.CDPTool + "Page.navigate", Decision: audit.Allowed, Count: 3})
	testRequest{path: "/mcp", method: http.MethodPost, body: ping}.do(t, base)
	testRequest{path: "/none"}.do(t, base)
	testRequest{path: "/mcp", header: map[string]string{"Authorization": ""}}.do(t, base)
	testRequest{path: "/mcp", header: map[string]string{"Origin": "null"}}.do(t, base)
	status, body, header := testRequest{path: "/metrics"}.do(t, base)
	if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("status %d, %v", status, header)
	}
	for _, want := range []string{
		"# TYPE chrome_mcp_sessions gauge\nchrome_mcp_sessions 1\n",
		`chrome_mcp_calls_total{tool="click",code="OK"} 2` + "\n",
		`chrome_mcp_calls_total{tool="click",code="TIMEOUT"} 1` + "\n",
		`chrome_mcp_call_duration_seconds_bucket{tool="click",le="0.05"} 0` + "\n",
		`chrome_mcp_call_duration_seconds_bucket{tool="click",le="0.1"} 2` + "\n",
		`chrome_mcp_call_duration_seconds_bucket{tool="click",le="60"} 2` + "\n",
		`chrome_mcp_call_duration_seconds_bucket{tool="click",le="+Inf"} 3` + "\n",
		`chrome_mcp_call_duration_seconds_sum{tool="click"} 90.2` + "\n",
		`chrome_mcp_call_duration_seconds_count{tool="click"} 3` + "\n",
		`chrome_mcp_http_requests_total{route="/mcp",status="200"} 1` + "\n",
		`chrome_mcp_http_requests_total{route="none",status="404"} 1` + "\n",
		`chrome_mcp_http_rejected_total{reason="origin"} 1` + "\n",
		`chrome_mcp_http_rejected_total{reason="token"} 1` + "\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "navigate") {
		t.Errorf("an entry that is not a call is counted:\n%s", body)
	}
}

// TestListenHTTPErrors checks which addresses are rejected.
func TestListenHTTPErrors(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for _, tt := range []struct {
		opts HTTPOptions
		code errs.Code
		text string
	}{
		{HTTPOptions{Address: "0.0.0.0:0"}, errs.ErrBadArgs, "can be reached from other machines"},
		{HTTPOptions{Address: ":0"}, errs.ErrBadArgs, "can be reached from other machines"},
		{HTTPOptions{Address: "[::]:0"}, errs.ErrBadArgs, "can be reached from other machines"},
		{HTTPOptions{Address: "127.0.0.1"}, errs.ErrBadArgs, "is not a host and port"},
		{HTTPOptions{Address: "127.0.0.1:x"}, errs.ErrBadArgs, "127.0.0.1:x"},
		{HTTPOptions{Address: used.Addr().String()}, errs.ErrLaunchFailed, "cannot listen on " + used.Addr().String()},
	} {
		_, err := ListenHTTP(tt.opts)
		wantError(t, err, tt.code, tt.text)
	}
	listener, err := ListenHTTP(HTTPOptions{Address: "0.0.0.0:0", BehindProxy: true})
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}
