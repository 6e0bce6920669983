package namedbrowser

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHeadersOfEndpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	file := &Browser{Name: "far", HeadersFile: path}
	want := func(b *Browser, want string) {
		t.Helper()
		header, err := b.Headers()
		got := fmt.Sprint(header)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || strings.Contains(got, "SECRET") {
			t.Errorf("headers %s, want %s", got, want)
		}
	}
	write("authorization: Bearer a:b\r\nX-Team: web\n", 0o600)
	want(file, "map[Authorization:[Bearer a:b] X-Team:[web]]")
	for text, message := range map[string]string{
		"":                        "has no headers",
		"X-Team: web\n\nX-A: b":   "line 2 is not NAME: VALUE",
		"SECRET":                  "line 1 is not",
		"X-Team: web\n SECRET: x": "line 2 is not",
		"X-Te\x00am: SECRET":      "is not a list of headers",
		"X-Team: " + strings.Repeat("x", maxHeaders): "headers of browser far",
	} {
		write(text, 0o600)
		want(file, message)
	}
	if runtime.GOOS != "windows" {
		write("X-Team: SECRET", 0o644)
		want(file, path)
	}
	t.Setenv("FAR_HEADERS", "X-Team: web")
	want(&Browser{Name: "far", HeadersEnv: "FAR_HEADERS"}, "map[X-Team:[web]]")
	want(&Browser{Name: "far", HeadersEnv: "FAR_HEADERS_UNSET"}, "environment variable FAR_HEADERS_UNSET has no headers")
}

func TestTokenOfBrowserless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	want := func(b *Browser, want string) {
		t.Helper()
		got, err := b.Service().Token()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || err != nil && strings.Contains(got, "SECRET") {
			t.Errorf("token %s, want %s", got, want)
		}
	}
	file := &Browser{Name: "fleet", TokenFile: path}
	want(file, "token of browser fleet: ")
	for text, message := range map[string]string{
		"SECRET\n":                         "SECRET",
		"\n":                               "has no token",
		"SECRET: a":                        "is not a token: it contains white space",
		"SECRET\x00":                       "is not a token: it contains white space",
		strings.Repeat("SECRET", maxToken): "token of browser fleet: ",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want(file, message)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		want(file, path)
	}
	t.Setenv("FLEET", "SECRET")
	want(&Browser{Name: "fleet", TokenEnv: "FLEET"}, "SECRET")
	want(&Browser{Name: "fleet", TokenEnv: "FLEET_UNSET"}, "environment variable FLEET_UNSET has no token")
	if s := (&Browser{}).Service(); s.Token != nil {
		t.Error("a browser without a token has one")
	}
}
