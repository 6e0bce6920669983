package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A Credential is a bearer token and the principal of the requests that carry it.
type Credential struct {
	Digest    [sha256.Size]byte // SHA-256 of the token
	Principal *Principal
}

// authenticate returns the principal of a request, or nil. The time that it takes does not depend
// on the tokens.
func authenticate(r *http.Request, all []Credential) *Principal {
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

// TokenPath returns the path of the file with the token of [Front.NewToken].
func TokenPath(dataDir string) string {
	return filepath.Join(filepath.Dir(SocketPath(dataDir)), "token")
}

// TokenHeaderPath returns the path of the file with the same token as an HTTP header, which curl
// reads with -H @FILE.
func TokenHeaderPath(dataDir string) string { return TokenPath(dataDir) + "-header" }

// NewToken adds a random token of p, and writes it to files that only the user can read. The front
// removes them when it stops. The caller must already listen on the socket of the data directory,
// which ensures that no other server uses it. Files of a server that was killed are replaced.
func (f *Front) NewToken(dataDir string, p *Principal) error {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	token := base64.RawURLEncoding.EncodeToString(secret)
	for path, text := range map[string]string{TokenPath(dataDir): token, TokenHeaderPath(dataDir): "Authorization: Bearer " + token} {
		info, err := owneronly.WriteFile(path, []byte(text+"\n"))
		if err != nil {
			return errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.", "the token of the server: %w", err)
		}
		f.files = append(f.files, ownFile{path, info})
	}
	f.tokens = append(f.tokens, Credential{sha256.Sum256([]byte(token)), p})
	return nil
}

// portPath returns the path of the file with the port of [Front.PublishPort].
func portPath(dataDir string) string {
	return filepath.Join(filepath.Dir(SocketPath(dataDir)), "port")
}

// PublishPort writes the port of the front to a file in a data directory, for [ListeningPort]. The
// caller must already listen on the socket of the directory. The front removes the file when it
// stops.
func (f *Front) PublishPort(dataDir string) error {
	path := portPath(dataDir)
	info, err := owneronly.WriteFile(path, fmt.Appendln(nil, f.listener.Addr().(*net.TCPAddr).Port))
	if err != nil {
		return errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.", "the port of the server: %w", err)
	}
	f.files = append(f.files, ownFile{path, info})
	return nil
}

// ListeningPort returns the TCP port of the running server of a data directory, or 0.
func ListeningPort(dataDir string) int {
	text, err := owneronly.ReadFile(portPath(dataDir), maxPortFile)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	conn, err := net.DialTimeout("unix", SocketPath(dataDir), time.Second)
	if err != nil { // the server was killed
		return 0
	}
	conn.Close()
	return port
}

// maxPortFile is the maximum size of a file with a port, in bytes.
const maxPortFile = 16

// An ownFile is a file that the front removes.
type ownFile struct {
	path string
	info fs.FileInfo
}

// removeFiles removes the files of NewToken and PublishPort, unless another server has replaced them.
func (f *Front) removeFiles() {
	for _, file := range f.files {
		if info, err := os.Lstat(file.path); err == nil && os.SameFile(info, file.info) {
			os.Remove(file.path)
		}
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
		return "", errs.Errorf(errs.ErrBadArgs, "Write the token to it, or the line `Authorization: Bearer TOKEN`.", "%s contains no token", path)
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
	if strings.Contains(err.Error(), "may be ") {
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
