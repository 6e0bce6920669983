package fileserver

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// write creates files below dir. A name that ends with a slash is a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := New(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// send sends the first line of a request, with the Host header of host, and returns the response.
func send(t *testing.T, s *Server, line, host string) (*http.Response, string) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.host)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nOrigin: http://other.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", line, host)
	method, _, _ := strings.Cut(line, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// TestFiles checks what clients can read: files, directories and links that stay inside.
func TestFiles(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret.txt": "SECRET", "deep/secret.txt": "SECRET"})
	write(t, dir, map[string]string{
		"index.html": "<h1>Home</h1>", "style.css": "p {}", "app.mjs": "export {}", "a b/ü.txt": "umlaut", "README": "text",
		".env": "SECRET", ".git/config": "SECRET", "docs/.hidden": "SECRET", "docs/shown.txt": "shown", "..SECRET": "SECRET",
	})
	for link, to := range map[string]string{
		"inside": "docs/shown.txt", "up": "../" + filepath.Base(outside) + "/secret.txt", "absolute": filepath.Join(outside, "secret.txt"),
		"dir": outside, "docs/up": "../../" + filepath.Base(outside), "loop": "loop", "self": ".",
	} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err) // Windows without the privilege
		}
	}
	s := start(t, dir)
	for _, c := range []struct {
		path   string
		status int
		body   string // part of it
	}{
		{"/", 200, "<h1>Home</h1>"},
		{"/index.html", 301, ""},
		{"/?q=/../x", 200, "<h1>Home</h1>"},
		{"/style.css", 200, "p {}"},
		{"/a%20b/%C3%BC.txt", 200, "umlaut"},
		{"/docs", 301, ""},
		{"/docs/", 200, `<a href="shown.txt">`},
		{"/inside", 200, "shown"},
		{"/self/self/docs/shown.txt", 200, "shown"},
		{"/missing", 404, ""},
		{"/style.css/", 301, ""},
		{"/style.css/x", 404, ""},
		{"/up", 404, ""},
		{"/absolute", 404, ""},
		{"/dir/", 404, ""},
		{"/dir/secret.txt", 404, ""},
		{"/docs/up/secret.txt", 404, ""},
		{"/loop", 404, ""},
		{"/.env", 404, ""},
		{"/%2eenv", 404, ""},
		{"/.git/config", 404, ""},
		{"/.git/", 404, ""},
		{"/self/.env", 404, ""},
		{"/docs/.hidden", 404, ""},
		{"/docs/../.env", 404, ""},
		{"/..SECRET", 404, ""},
		{"/../" + filepath.Base(outside) + "/secret.txt", 404, ""},
		{"/%2e%2e/" + filepath.Base(outside) + "/secret.txt", 404, ""},
		{"/..%2f" + filepath.Base(outside) + "%2fsecret.txt", 404, ""},
		{"/docs/..%5c..%5csecret.txt", 404, ""},
		{"//etc/passwd", 404, ""},
		{"/" + strings.TrimPrefix(filepath.ToSlash(outside), "/") + "/secret.txt", 404, ""},
		{"/style.css%00.html", 404, ""},
	} {
		resp, body := send(t, s, "GET "+c.path, s.host)
		if resp.StatusCode != c.status || !strings.Contains(body, c.body) || strings.Contains(body, "SECRET") || strings.Contains(body, "hidden") {
			t.Errorf("GET %s: %d %q, want %d %q", c.path, resp.StatusCode, body, c.status, c.body)
		}
		if l := resp.Header.Get("Location"); strings.Contains(l, "//") {
			t.Errorf("GET %s redirects to %s", c.path, l)
		}
	}
	if resp, _ := send(t, s, "GET /app.mjs", s.host); !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("a module has the type %s", resp.Header.Get("Content-Type"))
	}
	if resp, _ := send(t, s, "GET /README", s.host); !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("a text has the type %s", resp.Header.Get("Content-Type"))
	}
}

// TestRequests checks that the server answers only GET and HEAD, only for its own host, and gives
// no other site access.
func TestRequests(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "text"})
	s := start(t, dir)
	_, port, _ := net.SplitHostPort(s.host)
	for _, c := range []struct {
		line, host string
		status     int
	}{
		{"GET /a.txt", s.host, 200},
		{"HEAD /a.txt", s.host, 200},
		{"GET /a.txt", strings.ToUpper(s.host), 200},
		{"GET /a.txt", "127.0.0.1:" + port, 403},
		{"GET /a.txt", "localhost:" + port, 403},
		{"GET /a.txt", "x" + s.host, 403},
		{"GET /a.txt", strings.TrimSuffix(s.host, ":"+port), 403},
		{"GET /a.txt", "evil.example", 403},
		{"GET /a.txt", "", 403},
		{"GET http://" + s.host + "/a.txt", "127.0.0.1:" + port, 200}, // its URL names the host
		{"GET http://evil.example/a.txt", s.host, 403},
		{"OPTIONS /a.txt", s.host, 405},
		{"PUT /a.txt", s.host, 405},
		{"POST /a.txt", s.host, 405},
		{"DELETE /a.txt", s.host, 405},
		{"CONNECT " + s.host, s.host, 405},
	} {
		resp, body := send(t, s, c.line, c.host)
		if resp.StatusCode != c.status || (c.status != 200 && strings.Contains(body, "text")) {
			t.Errorf("%s with host %q: %d %q, want %d", c.line, c.host, resp.StatusCode, body, c.status)
		}
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: header %s", c.line, name)
			}
		}
	}
	resp, _ := send(t, s, "GET /a.txt", s.host)
	for name, want := range map[string]string{"Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if other := start(t, dir); other.host[:nameLength] == s.host[:nameLength] {
		t.Error("two servers have the same name")
	}
}

// TestLoopbackOnly checks that the server listens on no other address, and on each loopback address
// that a browser may connect to.
func TestLoopbackOnly(t *testing.T) {
	listeners, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range listeners {
		defer l.Close()
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("listens on %s", l.Addr())
		}
	}
	port := listeners[0].Addr().(*net.TCPAddr).Port
	for _, address := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(address, fmt.Sprint(port)))
		if err == nil {
			l.Close()
			t.Errorf("another process can listen on %s, port %d", address, port)
		}
	}
}

func TestClose(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"page.html": "OURS"})
	s := start(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.host)
	resp, err := http.Get("http://127.0.0.1:" + port + "/page.html") // another program may have got the port
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); strings.Contains(string(body), "OURS") {
		t.Error("the port is still open")
	}
}

// TestPrivateFiles checks that private files are not served, not through links and not in lists of a
// private directory.
func TestPrivateFiles(t *testing.T) {
	root := realPath(t.TempDir())
	write(t, root, map[string]string{"index.html": "page", ".data/secrets.json": "SECRET", ".passwords": "SECRET"})
	for link, target := range map[string]string{"state": ".data", "secrets": ".data/secrets.json", "words": ".passwords", "page": "index.html", "case": ".DATA"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skip(err) // Windows without the privilege
		}
	}
	if err := os.Link(filepath.Join(root, ".passwords"), filepath.Join(root, "second")); err != nil { // has no link to resolve
		t.Fatal(err)
	}
	s, err := New(root, slog.New(slog.DiscardHandler), filepath.Join(root, ".data"), filepath.Join(root, ".passwords"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for path, want := range map[string]int{"/page": 200, "/state/": 404, "/state/secrets.json": 404, "/secrets": 404, "/words": 404, "/case/": 404, "/case/secrets.json": 404, "/second": 404} {
		r := httptest.NewRequest(http.MethodGet, s.Origin()+path, nil)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != want || strings.Contains(w.Body.String(), "SECRET") {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// TestNamesBelow compares paths whose symbolic links count as resolved. The link OTHER is another
// spelling of a directory, as upper and lower case are on macOS.
func TestNamesBelow(t *testing.T) {
	root := realPath(t.TempDir())
	write(t, root, map[string]string{"data/profiles/x": "", "database/x": ""})
	if err := os.Symlink("data", filepath.Join(root, "OTHER")); err != nil {
		t.Skip(err) // Windows without the privilege
	}
	for _, c := range []struct{ path, dir, want string }{
		{"data", "data", "[]"},
		{"data/profiles/x", "data", "[profiles x]"},
		{"OTHER", "data", "[]"},
		{"data", "OTHER", "[]"},
		{"OTHER/profiles/x", "data", "[profiles x]"},
		{"data/profiles/x", "OTHER/profiles", "[x]"},
		{"OTHER/new/x", "data", "[new x]"},
		{"new/x", "new", "[x]"},
		{"data", ".", "[data]"},
		{".", "data", "outside"},
		{"database/x", "data", "outside"},
		{"data/profiles", "data/profiles/x", "outside"},
		{"OTHER", "data/profiles", "outside"},
		{"new", "data", "outside"},
	} {
		got := "outside"
		if names, ok := namesBelow(filepath.Join(root, c.path), filepath.Join(root, c.dir)); ok {
			got = fmt.Sprint(names)
		}
		if got != c.want {
			t.Errorf("%s below %s: %s, want %s", c.path, c.dir, got, c.want)
		}
	}
}

func TestCheckDir(t *testing.T) {
	root := realPath(t.TempDir())
	write(t, root, map[string]string{"site/index.html": "", "data/profiles/x": "", "file": ""})
	for _, c := range []struct {
		dir, private, want string
	}{
		{"site", "data", ""},
		{"site", "site-data", ""},
		{".", ".data", ""},
		{".", "site/.cache/data", ""},
		{".", "data", "contains"},
		{".", "site/not/created", "contains"},
		{"data", "data", "inside"},
		{"data/profiles", "data", "inside"},
		{"missing", "data", "no such file"},
		{"file", "data", "not a directory"},
	} {
		err := CheckDir(filepath.Join(root, c.dir), filepath.Join(root, c.private))
		if c.want == "" != (err == nil) || err != nil && runtime.GOOS != "windows" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("CheckDir(%s, %s): %v, want %q", c.dir, c.private, err, c.want)
		}
	}
}
