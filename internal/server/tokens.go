package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A Credential is a bearer token and the principal of the requests that carry it.
type Credential struct {
	Digest    [sha256.Size]byte // SHA-256 of the token
	Principal *Principal
}

// principalOfToken returns the principal of the token of a request, or nil. The time that it takes
// does not depend on the tokens.
func principalOfToken(r *http.Request, all []Credential) *Principal {
	header := r.Header.Values("Authorization")
	if len(header) != 1 {
		return nil
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(token)))
	var found *Principal
	for _, c := range all {
		if subtle.ConstantTimeCompare(c.Digest[:], digest[:]) == 1 {
			found = c.Principal
		}
	}
	return found
}

// Tokens are the tokens of the clients on a Unix socket. The zero value has none, so it denies all
// requests. It is safe for concurrent use.
type Tokens struct {
	mu  sync.Mutex // guards all
	all []Credential
}

// Add returns a new token of p, which must have Settings.
func (t *Tokens) Add(p *Principal) (token string) {
	token = newToken()
	p.onSocket = true
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, Credential{sha256.Sum256([]byte(token)), p})
	return token
}

// Remove removes the tokens of p.
func (t *Tokens) Remove(p *Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(slices.Clone(t.all), func(c Credential) bool { return c.Principal == p })
}

// authenticate returns a handler that serves the requests with a token, as those of its principal.
// They can only read the status of the server and connect to the default workspace, so they have no
// body, and no workspace remains that Close does not know.
func (t *Tokens) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.mu.Lock()
		all := t.all
		t.mu.Unlock()
		p := principalOfToken(r, all)
		if p == nil {
			failWith(w, http.StatusUnauthorized,
				errs.Errorf(errs.ErrPolicyDenied, "A token is valid until the server closes its session.",
					"the request has no valid token"))
			return
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/server", "POST /v1/sessions/" + DefaultSession + "/stream":
		default:
			failWith(w, http.StatusForbidden,
				errs.Errorf(errs.ErrPolicyDenied, "Connect to the default session.",
					"the token does not give access to %s", r.URL.Path))
			return
		}
		r.Body = http.NoBody
		next.ServeHTTP(w, r.WithContext(withPrincipal(r.Context(), p)))
	})
}

// newToken returns a random token.
func newToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// TokenPath returns the path of the file with the token of [HTTPListener.NewToken].
func TokenPath(dataDir string) string {
	return filepath.Join(filepath.Dir(SocketPath(dataDir)), "token")
}

// TokenHeaderPath returns the path of the file with the same token as an HTTP header, which curl
// reads with -H @FILE.
func TokenHeaderPath(dataDir string) string { return TokenPath(dataDir) + "-header" }

// NewToken adds a random token of p, and writes it to files that only the user can read. The
// listener removes them when it stops. The caller must already listen on the socket of the data
// directory, which ensures that no other server uses it. Files of a server that was killed are
// replaced.
func (h *HTTPListener) NewToken(dataDir string, p *Principal) error {
	token := newToken()
	for path, text := range map[string]string{TokenPath(dataDir): token, TokenHeaderPath(dataDir): "Authorization: Bearer " + token} {
		file, err := owneronly.WriteFile(path, []byte(text+"\n"))
		if err != nil {
			return errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.",
				"the token of the server: %w", err)
		}
		h.files = append(h.files, file)
	}
	h.tokens = append(h.tokens, Credential{sha256.Sum256([]byte(token)), p})
	return nil
}

// removeFiles removes the files of NewToken and PublishPort, unless another server has replaced
// them.
func (h *HTTPListener) removeFiles() {
	for _, file := range h.files {
		file.Remove()
	}
}

// ReadToken reads a token from a file that contains it alone or as an Authorization header. It
// returns an error if others can read the file.
func ReadToken(path string) (string, error) {
	data, err := owneronly.ReadFile(path, maxTokenLine)
	if err != nil {
		return "", readError(path, err)
	}
	token := strings.TrimSpace(string(data))
	if name, value, ok := strings.Cut(token, ":"); ok && strings.EqualFold(name, "Authorization") {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
		if token = strings.TrimSpace(rest); !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
	}
	if !isToken(token) {
		return "", errs.Errorf(errs.ErrBadArgs, "Write the token to it, or the line `Authorization: Bearer TOKEN`.",
			"%s contains no token", path)
	}
	return token, nil
}

const (
	// minToken is the minimum length of a token, in characters.
	minToken = 32
	// maxTokenLine is the maximum size of a file with one token, in bytes.
	maxTokenLine = 16 << 10
)

// isToken reports whether s can be the credentials of the Bearer scheme (RFC 6750, section 2.1).
func isToken(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/") == ""
}

// readError returns the error about a file with tokens that cannot be read.
func readError(path string, err error) error {
	hint := "Correct the path or the file."
	if errors.Is(err, owneronly.ErrMode) {
		hint = fmt.Sprintf("Run chmod 600 %s.", path)
	}
	return errs.Errorf(errs.ErrBadArgs, hint, "%w", err)
}

// digestOf returns the digest of a token, which is given as text or as a hexadecimal SHA-256.
func digestOf(token, sum string) (digest [sha256.Size]byte, err error) {
	switch {
	case (token == "") == (sum == ""):
		return digest, fmt.Errorf("must have either token or sha256")
	case sum != "":
		raw, err := hex.DecodeString(sum)
		if err != nil || len(raw) != sha256.Size {
			return digest, fmt.Errorf("sha256: is not a SHA-256 of %d hexadecimal digits", 2*sha256.Size)
		}
		return [sha256.Size]byte(raw), nil
	case len(token) < minToken:
		return digest, fmt.Errorf("token: is shorter than %d characters", minToken)
	case !isToken(token):
		return digest, fmt.Errorf("token: has characters other than letters, digits and -._~+/")
	}
	return sha256.Sum256([]byte(token)), nil
}
