package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// writeCredentials writes a file with HTTP credentials and returns its path.
func writeCredentials(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "http.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBadHTTPCredentials checks that an invalid file is reported at startup, and that the error does
// not contain what may be a password.
func TestBadHTTPCredentials(t *testing.T) {
	const password = "Zq8-hunter2"
	entry := func(origin string) string {
		return `{"` + origin + `": {"username": "ada", "password": "` + password + `"}}`
	}
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", password, ":1:1: not JSON"},
		{"unfinished", "{\n" + `"https://a.example": {"username": "ada", "password": "` + password, ":2:"},
		{"value without quotes", `{"https://a.example": {"username": "ada", "password": ` + password + `}}`, "not JSON"},
		{"list", `["` + password + `"]`, ":1:1 is not a JSON object"},
		{"empty", `{}`, "has no origin"},
		{"no object", `{"https://a.example": "` + password + `"}`, ":1:23 is not a JSON object"},
		{"no password", `{"https://a.example": {"username": "` + password + `"}}`, "https://a.example needs username and password"},
		{"no user name", `{"https://a.example": {"password": "` + password + `"}}`, "https://a.example needs username and password"},
		{"number", `{"https://a.example": {"username": "ada", "password": 8888}}`, ":1:43: password must be a string"},
		{"unknown key", `{"https://a.example": {"username": "ada", "` + password + `": "x"}}`, ":1:43: unknown key; the keys are username and password"},
		{"duplicate key", `{"https://a.example": {"username": "ada", "password": "x", "password": "` + password + `"}}`, ":1:60: duplicate key"},
		{"duplicate origin", `{"https://a.example": {"username": "a", "password": "b"}, "https://a.example": {}}`, ":1:59: duplicate key"},
		{"colon", `{"https://a.example": {"username": "ada:` + password + `", "password": "x"}}`, "contains a colon"},
		{"all origins", entry("*"), `"*" is not an origin`},
		{"all hosts", entry("https://*"), "is a pattern"},
		{"subdomains", entry("https://*.a.example"), "is a pattern"},
		{"no scheme", entry("a.example"), "is not an origin"},
		{"path", entry("https://a.example/login"), "is not an origin"},
		{"default port", entry("https://a.example:443"), "has the default port"},
		{"not encrypted", entry("http://a.example"), "not encrypted"},
		{"websocket", entry("wss://a.example"), "is not an origin"},
	} {
		t.Run(c.name, func(t *testing.T) { checkBadCredentials(t, writeCredentials(t, c.text), c.want, password) })
	}

	good := writeCredentials(t, entry("https://a.example"))
	dir := filepath.Dir(good)
	checkBadCredentials(t, filepath.Join(dir, "none.json"), "no such file", password)
	checkBadCredentials(t, dir, "not a regular file", password)
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(good, link); err != nil {
		t.Skip(err)
	}
	checkBadCredentials(t, link, "link.json is a symbolic link", password)
	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o666} {
			if err := os.Chmod(good, mode); err != nil {
				t.Fatal(err)
			}
			usage := checkBadCredentials(t, good, "may be read by others", password)
			if want := "Run chmod 600 " + good; !strings.Contains(usage.Hint, want) {
				t.Errorf("hint %q", usage.Hint)
			}
		}
	}
}

func checkBadCredentials(t *testing.T, path, want, password string) *UsageError {
	t.Helper()
	s, err := Parse([]string{"--http-credentials", path, "--data", t.TempDir()}, nil)
	if err == nil {
		err = s.Check()
	}
	usage, ok := errors.AsType[*UsageError](err)
	if !ok {
		t.Fatalf("%s: %v, want %q", path, err, want)
	}
	if text := usage.Error(); !strings.Contains(text, "--http-credentials: ") || !strings.Contains(text, want) ||
		strings.Contains(text+usage.Hint, password) {
		t.Errorf("%s; hint %s; want %q", text, usage.Hint, want)
	}
	return usage
}

func TestHTTPCredentialsExclude(t *testing.T) {
	path := writeCredentials(t, `{"https://a.example": {"username": "a", "password": "b"}}`)
	for _, other := range [][]string{
		{"--cdp-endpoint", "http://127.0.0.1:9222"}, {"--cdp-listen", "127.0.0.1:0", "--unsafe-enable-eval"}, {"--cdp-clients", "single", "--unsafe-enable-eval"},
	} {
		_, err := Parse(append(other, "--http-credentials", path), nil)
		if err == nil || !strings.Contains(err.Error(), "mutually exclusive") {
			t.Errorf("%q: %v", other, err)
		}
	}
}
