package serve

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/spf13/pflag"
)

// TestPrivateFilesOfTokens checks that no token serves, or uploads from, a directory that contains the
// token file, the key of the certificate, or the credentials of another token.
func TestPrivateFilesOfTokens(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	site := filepath.Join(dir, "site")
	if err := os.Mkdir(site, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, tokenFile, key, credentials string
		setting                           string // names the directory site
		want                              string // the visible file; empty means no error
	}{
		{"none", "tokens.json", "key.pem", "passwords.json", "serve-directory", ""},
		{"token file", "site/tokens.json", "key.pem", "passwords.json", "serve-directory", "tokens.json"},
		{"key", "tokens.json", "site/key.pem", "passwords.json", "serve-directory", "key.pem"},
		{"credentials", "tokens.json", "key.pem", "site/passwords.json", "serve-directory", "passwords.json"},
		{"hidden", "site/.tokens.json", "site/.key.pem", "site/.passwords.json", "serve-directory", ""},
		{"uploads", "tokens.json", "key.pem", "passwords.json", "uploads-dir", ""},
		{"uploads of the token file", "site/.tokens.json", "key.pem", "passwords.json", "uploads-dir", ".tokens.json"},
		{"uploads of the key", "tokens.json", "site/key.pem", "passwords.json", "uploads-dir", "key.pem"},
		{"uploads of credentials", "tokens.json", "key.pem", "site/passwords.json", "uploads-dir", "passwords.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			credentials := filepath.Join(dir, tt.credentials)
			write(credentials, `{"https://example.com": {"username": "ann", "password": "secret"}}`)
			type token struct {
				Name     string              `json:"name"`
				SHA256   string              `json:"sha256"`
				Settings map[string][]string `json:"settings"`
			}
			const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
			text, err := json.Marshal(map[string][]token{"tokens": {
				{"other", digest + "0", map[string][]string{"http-credentials": {credentials}}},
				{"files", digest + "1", map[string][]string{tt.setting: {site}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			write(tt.tokenFile, string(text))
			s, err := cli.Parse([]string{"--data", filepath.Join(dir, "data")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := &listenFlags{tokenFile: tt.tokenFile, key: tt.key}
			_, _, err = l.credentials(s, new(pflag.FlagSet), slog.New(slog.DiscardHandler))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantUsage(t, err, `token "files": `)
			wantUsage(t, err, " contains "+filepath.Join(site, tt.want))
			os.Remove(tt.tokenFile)
			os.Remove(credentials)
		})
	}
}
