package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

var servesHTTP = regexp.MustCompile(`serves HTTP on (https?://\S+[0-9])[;.]`)

// serve runs serve --listen 127.0.0.1:0 until the end of the test and returns its URL.
func (c *commandLine) serve(args ...string) string {
	c.t.Helper()
	url, _ := c.serveOn("127.0.0.1:0", args...)
	return url
}

// serveOn is serve on an address. It also returns the log.
func (c *commandLine) serveOn(address string, args ...string) (url string, log *testlog.Buffer) {
	c.t.Helper()
	url, log, _ = c.startServe(address, args...)
	return url, log
}

// startServe is serveOn. It also returns a channel that receives the error of the process when it
// has exited and its log is complete.
func (c *commandLine) startServe(address string, args ...string) (url string, log *testlog.Buffer, ended <-chan error) {
	c.t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", address, "--log-level", "debug", "--data", c.data}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	log = new(testlog.Buffer)
	printed := make(chan string)
	exited := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			fmt.Fprintln(log, lines.Text())
			if found := servesHTTP.FindStringSubmatch(lines.Text()); found != nil {
				printed <- found[1]
			}
		}
		exited <- cmd.Wait()
	}()
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("log of the server:\n%s", log)
		}
	})
	select {
	case url = <-printed:
	case err := <-exited:
		c.t.Fatalf("serve ended: %v\n%s", err, log)
	}
	return url, log, exited
}

// header returns the argument with which curl sends the token of the server.
func (c *commandLine) header() string { return "@" + server.TokenHeaderPath(c.data) }

// curl returns the status and the body of a response. Its last argument is the URL.
func curl(t *testing.T, args ...string) (status, body string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cmd := exec.Command("curl", append([]string{"--silent", "--show-error", "--max-time", "60", "--write-out", "\n%{http_code}"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("curl %q: %v %s", args, err, &stderr)
	}
	body = string(out)
	end := strings.LastIndex(body, "\n")
	return body[end+1:], strings.TrimSpace(body[:end])
}

// reachURL is a script by which a page tries to reach a URL in several ways.
const reachURL = `const url = %q;
const loaded = (element, attribute) => new Promise((done) => { element.onload = element.onerror = done; element[attribute] = url; document.body.append(element); });
await fetch(url, {mode: 'no-cors'}).catch(() => {});
await loaded(new Image(), 'src');
await loaded(document.createElement('script'), 'src');
await loaded(document.createElement('iframe'), 'src');
await new Promise((done) => { const s = new WebSocket(url.replace('http', 'ws')); s.onopen = s.onerror = done; });
navigator.sendBeacon(url, 'x');
return (await fetch('/after')).status`

// TestPagesCannotReachServer navigates to the addresses of the server itself, and loads from its
// port, which the policy would allow otherwise.
func TestPagesCannotReachServer(t *testing.T) {
	needChromium(t)
	c := newCommandLine(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<body>page")
	}))
	t.Cleanup(web.Close)
	url, _ := c.serveOn("127.0.0.1:0", append(rootNeedsNoSandbox(), "--behind-proxy", "--public-url", "https://Chrome.Example.COM", "--headless", "--unsafe-all-domains", "--allow-domain", "127.0.0.1:*", "--unsafe-enable-eval")...)
	call := func(tool, arg, value string) (status, body string) {
		return curl(t, "-H", c.header(), "--data", fmt.Sprintf(`{%q:%q}`, arg, value), url+"/v1/sessions/default/tools/"+tool)
	}
	if status, body := call("navigate", "url", web.URL); status != "200" {
		t.Fatalf("%s: %s %s", web.URL, status, body)
	}
	if status, body := call("eval", "expression", "(async () => {"+fmt.Sprintf(reachURL, url)+"})()"); status != "200" || !strings.Contains(body, "200") {
		t.Errorf("the page: %s %s", status, body)
	}
	if _, body := curl(t, "-H", c.header(), url+"/metrics"); strings.Contains(body, "chrome_mcp_http_rejected_total{") {
		t.Errorf("the page reached the server: %s", body)
	}
	for _, own := range []string{url, "https://chrome.example.com", "https://chrome.example.com:8443"} {
		status, body := curl(t, "-H", c.header(), "--data", fmt.Sprintf(`{"url":%q}`, own), url+"/v1/sessions/default/tools/navigate")
		if status != "403" || !strings.Contains(body, "POLICY_DENIED") {
			t.Errorf("%s: %s %s", own, status, body)
		}
	}
	// Neither can those of another process.
	if out, err := c.run("call", "navigate", "url="+url, "--no-server", "--headless", "--isolated", "--allow-domain", "127.0.0.1:*"); err == nil || !strings.Contains(out, "POLICY_DENIED") {
		t.Errorf("another process: %v, %s", err, out)
	}
}

// TestServeHTTP sends requests with curl to a server with one token.
func TestServeHTTP(t *testing.T) {
	c := newCommandLine(t)
	url, log := c.serveOn("127.0.0.1:0", "--allow-domain", "example.com")
	big := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(big, make([]byte, 4<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status string
		body   string
	}{
		{[]string{"/healthz"}, "200", "ok"},
		{[]string{"/readyz"}, "401", `"code":"POLICY_DENIED"`},
		{[]string{"/metrics"}, "401", ""},
		{[]string{"-H", c.header(), "/readyz"}, "200", "ok"},
		{[]string{"-H", "Authorization: Bearer wrong", "/readyz"}, "401", "no valid token"},
		{[]string{"-H", c.header(), "-H", "Host: evil.example", "/readyz"}, "403", "--public-url"},
		{[]string{"-H", c.header(), "-H", "Origin: https://evil.example", "/readyz"}, "403", `Origin header is that of a page","hint":"Send it from a program that is not a page`},
		{[]string{"-H", c.header(), "-H", "Sec-Fetch-Site: cross-site", "/readyz"}, "403", `Sec-Fetch-Site header is that of a page","hint":"Send it from a program`},
		{[]string{"-H", "Host: evil.example", "/healthz"}, "403", ""},
		{[]string{"-H", c.header(), "-X", "PUT", "--data-binary", "@" + big, "/v1/sessions/a"}, "413", "the body is larger than 4 MiB"},
		{[]string{"-H", c.header(), "-X", "DELETE", "/v1/sessions/none"}, "404", "GET /v1/sessions list the open ones"},
		{[]string{"-H", c.header(), "-X", "POST", "/v1/server/stop"}, "403", "only to the user who started the server"},
	} {
		args := append([]string{}, tt.args...)
		args[len(args)-1] = url + args[len(args)-1]
		status, body := curl(t, args...)
		if status != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("curl %q: %s %s", args, status, body)
		}
	}
	status, body := curl(t, "-H", c.header(), "-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream",
		"-H", "Mcp-Protocol-Version: 2026-07-28", "-H", "Mcp-Method: tools/call", "-H", "Mcp-Name: chrome_status",
		"-d", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chrome_status","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, url+"/mcp")
	if status != "200" || !strings.Contains(body, "allowed domains: example.com") {
		t.Errorf("a call: %s %s", status, body)
	}
	_, body = curl(t, "-H", c.header(), url+"/metrics")
	for _, want := range []string{"chrome_mcp_sessions 1\n", `chrome_mcp_calls_total{tool="chrome_status",code="OK"} 1`, `chrome_mcp_http_rejected_total{reason="host"} 2`, `{route="/mcp",status="200"} 1`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the metrics\n%s", want, body)
		}
	}
	if out, err := c.run("serve", "status"); err != nil || !strings.Contains(out, "listening on "+url) {
		t.Errorf("serve status: %v %s", err, out)
	}

	token, err := server.ReadToken(server.TokenPath(c.data))
	if err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Contains(text, token) || !strings.Contains(text, "principal=http") || !strings.Contains(text, "session=default") {
		t.Errorf("the token is in the log, or the principal and the session are not:\n%s", text)
	}
	pid := c.server().Pid
	for _, file := range []string{"cmdline", "environ"} {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)); err == nil && strings.Contains(string(text), token) {
			t.Errorf("the token is in the %s of the server", file)
		}
	}
	if out, err := c.run("serve", "stop"); err != nil {
		t.Fatalf("serve stop: %v\n%s", err, out)
	}
	for _, path := range []string{server.TokenPath(c.data), server.TokenHeaderPath(c.data), server.SocketPath(c.data)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s after the end: %v", path, err)
		}
	}
}

// TestServeHTTPS connects to a server with a self-signed certificate.
func TestServeHTTPS(t *testing.T) {
	c := newCommandLine(t)
	cert, key := writeCertificate(t)
	url, _ := c.serveOn("0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--public-url", "https://chrome.example.com")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	base := "https://127.0.0.1:" + port
	if status, body := curl(t, "--cacert", cert, "-H", c.header(), base+"/readyz"); status != "200" {
		t.Errorf("%s %s", status, body)
	}
	if status, body := curl(t, "--cacert", cert, "-H", c.header(), "-H", "Host: chrome.example.com", base+"/readyz"); status != "200" {
		t.Errorf("the public host: %s %s", status, body)
	}
	if status, body := curl(t, "--cacert", cert, base+"/readyz"); status != "401" {
		t.Errorf("without a token: %s %s", status, body)
	}
	if status, body := curl(t, "--cacert", cert, "-H", c.header(), "-H", "Host: evil.example", base+"/readyz"); status != "403" {
		t.Errorf("another host: %s %s", status, body)
	}
}

// writeCertificate writes a self-signed certificate for 127.0.0.1 and its key.
func writeCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().AddDate(0, 0, -1), NotAfter: time.Now().AddDate(0, 0, 1),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestServeErrors checks that a server that cannot start leaves nothing.
func TestServeErrors(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	const token = "0123456789abcdef0123456789abcdef"
	file := func(mode fs.FileMode, entries string) string {
		path := filepath.Join(t.TempDir(), "tokens.json")
		if err := os.WriteFile(path, []byte(`{"tokens": [`+entries+`]}`), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	entry := func(rest string) string { return `{"name": "ci", "token": "` + token + `"` + rest + `}` }
	with := func(path string) []string { return []string{"--listen", "127.0.0.1:0", "--token-file", path} }
	for _, tt := range []struct {
		name string
		args []string
		exit int
		want string
	}{
		{"port in use", []string{"--listen", used.Addr().String()}, cli.ExitFailed, "cannot listen on " + used.Addr().String()},
		{"not loopback", []string{"--listen", "0.0.0.0:0"}, cli.ExitUsage, "Set --tls-cert and --tls-key or --behind-proxy"},
		{"no port", []string{"--listen", "127.0.0.1"}, cli.ExitUsage, "not a host and port"},
		{"no certificate", []string{"--listen", "127.0.0.1:0", "--tls-cert", "none.pem", "--tls-key", "none.pem"}, cli.ExitUsage, "--tls-cert: open none.pem"},
		{"no key", []string{"--listen", "127.0.0.1:0", "--tls-cert", "listen_test.go", "--tls-key", "none.pem"}, cli.ExitUsage, "--tls-key: open none.pem"},
		{"not a certificate", []string{"--listen", "127.0.0.1:0", "--tls-cert", "listen_test.go", "--tls-key", file(0o600, "")}, cli.ExitUsage, "tls: failed"},
		{"key that others can read", []string{"--listen", "127.0.0.1:0", "--tls-cert", "listen_test.go", "--tls-key", file(0o644, "")}, cli.ExitUsage, "hint: Run chmod 600 "},
		{"port out of range", []string{"--listen", "127.0.0.1:99999"}, cli.ExitUsage, `--listen: "127.0.0.1:99999": the port is not a number from 0 to 65535`},
		{"pattern as public URL", []string{"--listen", "127.0.0.1:0", "--public-url", "https://*.example.com"}, cli.ExitUsage, `--public-url: "*.example.com" is not a host name`},
		{"bad host of public URL", []string{"--listen", "127.0.0.1:0", "--public-url", "https://a_b..example.com"}, cli.ExitUsage, `--public-url: "a_b..example.com" is not a host name`},
		{"port of public URL", []string{"--listen", "127.0.0.1:0", "--public-url", "https://example.com:99999"}, cli.ExitUsage, `--public-url: "99999" is not a port`},
		{"certificate without key", []string{"--listen", "127.0.0.1:0", "--tls-cert", "none.pem"}, cli.ExitUsage, "must be set together"},
		{"public URL with a path", []string{"--listen", "127.0.0.1:0", "--public-url", "https://example.com/x"}, cli.ExitUsage, "--public-url"},
		{"token file without --listen", []string{"--token-file", "x"}, cli.ExitUsage, "--token-file needs --listen"},
		{"session flag without --listen", []string{"--allow-domain", "example.com"}, cli.ExitUsage, "--allow-domain has no effect on serve"},
		{"CDP clients without --listen", []string{"--cdp-clients", "multi", "--unsafe-enable-eval"}, cli.ExitUsage, "Set --listen and --cdp-clients"},
		{"session flag with a token file", append(with(file(0o600, entry(""))), "--allow-domain", "example.com"), cli.ExitUsage, "settings of a token"},
		{"bad session flag", []string{"--listen", "127.0.0.1:0", "--allow-domain", "*.com"}, cli.ExitUsage, "*.com"},
		{"no token file", with("none.json"), cli.ExitUsage, "none.json"},
		{"wide permissions", with(file(0o644, entry(""))), cli.ExitUsage, "chmod 600"},
		{"unknown key", with(file(0o600, entry(`, "x": 1`))), cli.ExitUsage, `--token-file: `},
		{"unknown key on the first line", with(file(0o600, entry(`, "x": 1`))), cli.ExitUsage, `tokens.json: line 1: tokens[0]: unknown key "x"`},
		{"duplicate name", with(file(0o600, entry("")+","+entry(""))), cli.ExitUsage, `duplicate name "ci"`},
		{"short token", with(file(0o600, `{"name": "ci", "token": "short"}`)), cli.ExitUsage, "shorter than 32"},
		{"unknown setting", with(file(0o600, entry(`, "settings": {"x": ["y"]}`))), cli.ExitUsage, `tokens.json: line 1: token "ci": "x" is not a setting`},
		{"setting of the server", with(file(0o600, entry(`, "settings": {"data": ["/tmp"]}`))), cli.ExitUsage, `"data" is not a setting`},
		{"bad pattern", with(file(0o600, entry(`, "settings": {"allow-domain": ["*.com"]}`))), cli.ExitUsage, `"*.com"`},
		{"profile", with(file(0o600, entry(`, "settings": {"profile": ["work"]}`))), cli.ExitUsage, `"profile" needs the browser "profile"`},
		{"endpoint", with(file(0o600, entry(`, "settings": {"cdp-endpoint": ["http://127.0.0.1:9222"]}`))), cli.ExitUsage, `"cdp-endpoint" needs the browser "endpoint"`},
		{"extension", with(file(0o600, entry(`, "settings": {"prefer": ["extension"]}`))), cli.ExitUsage, `"prefer" needs the browser "extension"`},
		{"persistent profile", with(file(0o600, entry(`, "settings": {"isolated": ["false"]}`))), cli.ExitUsage, `"isolated" needs the browser "profile"`},
		{"unknown browser", with(file(0o600, entry(`, "browsers": ["firefox"]`))), cli.ExitUsage, `unknown browser "firefox"`},
		{"no endpoint", with(file(0o600, entry(`, "browsers": ["endpoint"]`))), cli.ExitUsage, "needs the setting cdp-endpoint"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCommandLine(t)
			// The context ends a server that starts.
			text, err := exec.CommandContext(await.Context(t), binary, append([]string{"serve", "--data", c.data}, tt.args...)...).CombinedOutput()
			out := string(text)
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.ExitCode() != tt.exit || !strings.Contains(out, tt.want) || strings.Contains(out, token) {
				t.Errorf("%v, want exit code %d and %q\n%s", err, tt.exit, tt.want, out)
			}
			left, err := filepath.Glob(filepath.Join(c.data, "server", "*"))
			for _, path := range left {
				if filepath.Base(path) != "socket.lock" {
					t.Errorf("it left %s", path)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConnectURL connects an MCP host that supports only stdio to a server over HTTP: calls,
// progress, prompts and cancellation.
func TestConnectURL(t *testing.T) {
	t.Parallel() // it mainly waits
	needChromium(t)
	web, user := newInternet(t), &person{}
	c := newCommandLine(t)
	url := c.serve(append(rootNeedsNoSandbox(), "--headless", "--ask", "auto", "--proxy", web.URL, "--subresources=same")...)
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			if version == "2025-11-25" {
				tier.Deep(t) // as the version before it
			}
			progress := make(chan string, 100)
			s := startProgram(t, &sdk.ClientOptions{
				ElicitationHandler:          user.answer,
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
			}, &sdk.ClientSessionOptions{ProtocolVersion: version}, "--connect", url, "--connect-token-file", server.TokenPath(c.data), "--session", "of-"+version)
			user.setAnswers(says("session"))
			s.call(t, "navigate", map[string]any{"url": "http://asked.example.com/page"}, "asked.example.com")
			if q := user.asked(); len(q) != 1 || !strings.Contains(q[0], "http://asked.example.com") {
				t.Errorf("the prompts are %q", q)
			}
			s.refused(t, "BAD_ARGS", "click", map[string]any{"nothing": true})

			// A call on a tab begins after the one before it, unless that is canceled.
			call := &sdk.CallToolParams{Name: "wait_for", Arguments: map[string]any{"selector": "#none", "timeoutMs": 60_000}}
			call.SetProgressToken("p")
			ctx, cancel := context.WithCancel(t.Context())
			canceled := make(chan error, 1)
			go func() {
				_, err := s.client.CallTool(ctx, call)
				canceled <- err
			}()
			if message := <-progress; !strings.Contains(message, "waiting for") {
				t.Errorf("progress %q", message)
			}
			cancel()
			if err := <-canceled; !errors.Is(err, context.Canceled) {
				t.Errorf("the canceled call: %v", err)
			}
			if version < "2026-07-28" { // from then on, a call continues
				s.call(t, "get_text", nil, "This is")
			}
			s.end(t)
			if out, err := c.run("sessions"); err != nil || !strings.Contains(out, "of-"+version+"@http ") {
				t.Errorf("sessions, with those of the token: %v\n%s", err, out)
			}
			// The end of the server waits for calls that continue.
			if status, body := curl(t, "-H", c.header(), "-X", "DELETE", url+"/v1/sessions/of-"+version); status != "204" {
				t.Errorf("close: HTTP %s %s", status, body)
			}
		})
	}
}

// TestConnectURLErrors checks the errors of --connect URL.
func TestConnectURLErrors(t *testing.T) {
	c := newCommandLine(t)
	url := c.serve()
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	wide := filepath.Join(t.TempDir(), "wide")
	if err := os.WriteFile(wide, []byte("0123456789abcdef0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	token := []string{"--connect-token-file", server.TokenPath(c.data)}
	for _, tt := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"--connect", url}, cli.ExitUsage, "--connect-token-file"},
		{[]string{"--connect", url, "--connect-token-file", wrong}, cli.ExitUsage, "rejects the token"},
		{[]string{"--connect", url, "--connect-token-file", wide}, cli.ExitUsage, "chmod 600"},
		{append(token, "--connect", url, "--allow-domain", "example.com"), cli.ExitUsage, "--allow-domain has no effect with --connect URL"},
		{append(token, "--connect", "http://127.0.0.1:1"), cli.ExitFailed, "cannot connect to http://127.0.0.1:1"},
		{append(token, "--connect", "http://127.0.0.1:99999"), cli.ExitUsage, `"99999" is not a port from 1 to 65535`},
		{append(token, "--connect", "http://user:pass@127.0.0.1:1"), cli.ExitUsage, "the URL must have a host"},
		{append(token, "--connect", "http://chrome.example:8931"), cli.ExitUsage, "can read the token\nhint: Use https, or set --unsafe-connect-http"},
		{append(token, "--connect", "http://192.0.2.1:1", "--unsafe-connect-http", "--session", ".x"), cli.ExitUsage, "invalid session name"}, // checked afterwards
		{[]string{"--unsafe-connect-http"}, cli.ExitUsage, "--unsafe-connect-http requires --connect URL"},
		{token, cli.ExitUsage, "requires --connect URL"},
		{append(token, "--connect", url, "call", "chrome_status"), cli.ExitUsage, "cannot be combined with a command"},
	} {
		cmd := exec.Command(binary, tt.args...)
		out, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != tt.exit || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "pass@") {
			t.Errorf("%q: %v\n%s", tt.args, err, out)
		}
	}
}
