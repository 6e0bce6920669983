package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokenFile(t *testing.T) {
	sum := sha256.Sum256([]byte("another token of the ci, with text"))
	path := filepath.Join(t.TempDir(), "tokens.json")
	text := fmt.Sprintf(`{"tokens": [
		{"name": "ci", "token": %q, "settings": {"allow-domain": ["example.com"], "enable-mutations": ["true"]}, "maxSessions": 4, "metrics": true, "browsers": ["managed"]},
		{"name": "other", "sha256": %q}]}`, testToken, strings.ToUpper(hex.EncodeToString(sum[:])))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []TokenEntry{
		{"ci", sha256.Sum256([]byte(testToken)), Settings{"allow-domain": {"example.com"}, "enable-mutations": {"true"}}, 4, true, []string{"managed"}, 2},
		{Name: "other", Digest: sum, Line: 3},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTokenFileErrors checks that the parser is strict, and that no error contains a token.
func TestTokenFileErrors(t *testing.T) {
	const secret = "s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t"
	entry := `{"name": "ci", "token": "` + secret + `"`
	for text, want := range map[string]string{
		``:                               "is not a JSON object",
		`[]`:                             "is not a JSON object",
		`{}`:                             "has no tokens",
		`{"tokens": []}`:                 "has no tokens",
		`{"tokens": null}`:               "tokens: has the wrong type",
		`{"tokens": {}}`:                 "tokens: has the wrong type",
		`{"Tokens": []}`:                 `unknown key "Tokens"; the keys are tokens`,
		`{"tokens": [1]}`:                "tokens[0]: is not a JSON object",
		`{"tokens": [` + entry:           "is not JSON",
		`{"tokens": [` + entry + `}]} x`: "unexpected data after the object",
		`{"tokens": [` + entry + `}], "tokens": []}`:                                      `duplicate key "tokens"`,
		`{"tokens": [` + entry + `, "policy": "x"}]}`:                                     `tokens[0]: unknown key "policy"`,
		`{"tokens": [` + entry + `, "` + secret + `": 1}]}`:                               "tokens[0]: unknown key of 34 bytes",
		`{"tokens": [` + entry + `, "name": "x"}]}`:                                       `duplicate key "name"`,
		`{"tokens": [` + entry + `}, {"name": "ci", "token": "2` + secret + `"}]}`:        `tokens[1]: duplicate name "ci"`,
		`{"tokens": [` + entry + `}, {"name": "x", "token": "` + secret + `"}]}`:          "tokens[1]: duplicate token",
		`{"tokens": [` + entry + `, "sha256": "00"}]}`:                                    "must have either token or sha256",
		`{"tokens": [{"name": "ci"}]}`:                                                    "must have either token or sha256",
		`{"tokens": [{"name": "ci", "sha256": "` + secret + `"}]}`:                        "sha256: is not a SHA-256",
		`{"tokens": [{"name": "ci", "token": "` + secret[:31] + `"}]}`:                    "token: is shorter than 32 characters",
		`{"tokens": [{"name": "ci", "token": "` + secret + ` ` + secret + `"}]}`:          "token: has characters other than",
		`{"tokens": [{"name": "` + secret + `", "token": "ci"}]}`:                         "name: must be 1 to 31",
		`{"tokens": [{"token": "` + secret + `"}]}`:                                       "name: must be 1 to 31",
		`{"tokens": [` + entry + `, "maxSessions": -1}]}`:                                 "maxSessions: is negative",
		`{"tokens": [` + entry + `, "maxSessions": "4"}]}`:                                "maxSessions: has the wrong type",
		`{"tokens": [` + entry + `, "browsers": "managed"}]}`:                             "browsers: has the wrong type",
		`{"tokens": [` + entry + `, "settings": {"allow-domain": "x"}}]}`:                 `settings: "allow-domain": is not a list of strings`,
		`{"tokens": [` + entry + `, "settings": {"allow-domain": []}}]}`:                  `settings: "allow-domain": is not a list of strings`,
		`{"tokens": [` + entry + `, "settings": {"headless": ["x"], "headless": []}}]}`:   `duplicate key "headless"`,
		`{"tokens": [` + entry + `, "settings": {"headless": ["true"], "x": ["y", 1]}}]}`: `settings: "x": is not a list of strings`,
	} {
		_, err := parseTokens([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret[:31]) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestTokenFileLines checks that an error names its line.
func TestTokenFileLines(t *testing.T) {
	const text = `{
  "tokens": [
    {"name": "ci", "token": "0123456789abcdef0123456789abcdef"},
    {
      "name": "other",
      "token": "1123456789abcdef0123456789abcdef",
      "settings": {
        "headless": ["true"]
      }
    }
  ]
}
`
	if _, err := parseTokens([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"ci"`, `"c i"`, "line 3: tokens[0]: name: must be"},
		{`"other"`, `"ci"`, `line 4: tokens[1]: duplicate name "ci"`},
		{`"name": "other"`, `"nam": "other"`, `line 5: tokens[1]: unknown key "nam"`},
		{`"1123456789abcdef`, `"`, "line 6: tokens[1]: token: is shorter than"},
		{`["true"]`, `true`, `line 8: tokens[1]: settings: "headless": is not a list of strings`},
		{`["true"]`, `["true"], "headless": ["true"]`, `line 8: tokens[1]: settings: duplicate key "headless"`},
		{`["true"]`, `["true"`, "line 9: is not JSON"},
		{"]\n}", "}", "line 11: is not JSON"},
		{"]\n}", "],\n\"x\": 1}", `line 12: unknown key "x"`},
		{"]\n}\n", "]\n}\nx", "line 13: unexpected data"},
	} {
		if _, err := parseTokens([]byte(strings.Replace(text, tt.old, tt.new, 1))); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s for %s: %v, want %s", tt.new, tt.old, err, tt.want)
		}
	}
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]string{
		testToken:        testToken,
		testToken + "\n": testToken,
		"Authorization: Bearer " + testToken + "\n": testToken,
		"authorization:bearer  " + testToken:        testToken,
		"Authorization: Basic " + testToken:         "",
		"Authorization: " + testToken:               "",
		"two words":                                 "",
		"":                                          "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestNewToken checks the files of a token, and that a server removes its own only.
func TestNewToken(t *testing.T) {
	dir := shortDir(t)
	l, err := Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	open := func() *HTTPListener {
		listener, err := ListenHTTP(HTTPOptions{Address: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.NewToken(dir, &Principal{Name: "http"}); err != nil {
			t.Fatal(err)
		}
		return listener
	}
	first := open()
	one, err := ReadToken(TokenPath(dir))
	if err != nil || len(one) != 43 || first.tokens[0].Digest != sha256.Sum256([]byte(one)) {
		t.Errorf("token of %d characters, %v", len(one), err)
	}
	if header, err := os.ReadFile(TokenHeaderPath(dir)); string(header) != "Authorization: Bearer "+one+"\n" {
		t.Errorf("header file %q, %v", header, err)
	}
	second := open()
	first.Close()
	two, err := ReadToken(TokenPath(dir))
	if err != nil || one == two {
		t.Errorf("the second token: same %v, %v", one == two, err)
	}
	second.Close()
	for _, path := range []string{TokenPath(dir), TokenHeaderPath(dir)} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s after the end: %v", path, err)
		}
	}
}
