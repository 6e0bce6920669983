package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// codeTTL is how long a code can be exchanged for a login.
	codeTTL = 30 * time.Second
	// loginTTL is how long a login is valid.
	loginTTL = 12 * time.Hour
	// unusedDelay lets the response to a logout finish before the port is closed.
	unusedDelay = time.Second
	// maxCodes bounds the codes that are valid at the same time.
	maxCodes = 16
	// maxLogins bounds the logins. At the limit, a new one replaces the oldest.
	maxLogins = 16
	// cookieName is the name of the cookie of a login.
	cookieName = "chrome-mcp-dashboard"
)

// A digest is the SHA-256 of a secret.
type digest [sha256.Size]byte

// newSecret returns 256 random bits in base64.
func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// logins holds the valid codes and logins of a dashboard by the digests of their secrets: the time
// that a lookup takes reveals at most something about a digest. The zero value is ready to use.
type logins struct {
	// unused is called when the last code and the last login have ended, after unusedDelay. It may be
	// nil.
	unused func()

	mu    sync.Mutex // guards the fields below
	codes map[digest]*code
	all   map[digest]*login
}

// A code can be exchanged once for a login.
type code struct {
	page    *owneronly.File // the login page
	expires *time.Timer
}

// A login allows a browser to use the dashboard.
type login struct {
	key     digest          // of the cookie
	valid   context.Context // done when the login is no longer valid
	end     context.CancelFunc
	expires *time.Timer
	since   time.Time
}

// context returns a context that is also done when the login is no longer valid.
func (l *login) context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(l.valid, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// newCode writes a login page, which exchanges a new code at url, to a file in dir that only the
// user can read. The file is removed when the code expires or is used.
func (l *logins) newCode(dir, url string) (path string, err error) {
	secret := newSecret()
	path = filepath.Join(dir, loginPrefix+strings.ToLower(rand.Text()[:8])+".html")
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.codes) >= maxCodes {
		return "", errTooManyCodes
	}
	page := strings.NewReplacer("{{url}}", html.EscapeString(url), "{{code}}", html.EscapeString(secret)).Replace(loginPage)
	file, err := owneronly.WriteFile(path, []byte(page))
	if err != nil {
		return "", err
	}
	if l.codes == nil {
		l.codes, l.all = make(map[digest]*code), make(map[digest]*login)
	}
	key := digest(sha256.Sum256([]byte(secret)))
	l.codes[key] = &code{file, time.AfterFunc(codeTTL, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.drop(key)
	})}
	return path, nil
}

// loginPage sends a code by POST, so that the code is in no browser history and no log. newCode
// inserts the URL and the code.
//
//go:embed pages/login.html
var loginPage string

// drop makes a code invalid and removes its file. It reports whether the code was valid. l.mu must
// be held.
func (l *logins) drop(key digest) bool {
	c := l.codes[key]
	if c == nil {
		return false
	}
	c.expires.Stop()
	delete(l.codes, key)
	c.page.Remove()
	l.reportUnused()
	return true
}

// exchange returns the value of the cookie of a new login for a code, or false if the code is not
// valid. It makes the code invalid.
func (l *logins) exchange(secret string) (cookie string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.drop(sha256.Sum256([]byte(secret))) {
		return "", false
	}
	for len(l.all) >= maxLogins {
		l.end(slices.MinFunc(slices.Collect(maps.Values(l.all)), func(a, b *login) int { return a.since.Compare(b.since) }))
	}
	cookie = newSecret()
	one := &login{key: sha256.Sum256([]byte(cookie)), since: time.Now()}
	one.valid, one.end = context.WithCancel(context.Background())
	one.expires = time.AfterFunc(loginTTL, func() { l.logout(one) })
	l.all[one.key] = one
	return cookie, true
}

// end ends a login, if it is valid. l.mu must be held.
func (l *logins) end(one *login) {
	if l.all[one.key] != one {
		return
	}
	delete(l.all, one.key)
	one.expires.Stop()
	one.end()
	l.reportUnused()
}

// reportUnused calls l.unused after unusedDelay if no code and no login is valid. l.mu must be
// held.
func (l *logins) reportUnused() {
	if l.unused != nil && len(l.codes) == 0 && len(l.all) == 0 {
		time.AfterFunc(unusedDelay, l.unused)
	}
}

// logout ends a login.
func (l *logins) logout(one *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(one)
}

// of returns the login of a request, or nil. It ignores cookies of the same name that other servers
// of this machine have set.
func (l *logins) of(r *http.Request) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range r.CookiesNamed(cookieName) {
		if one := l.all[sha256.Sum256([]byte(c.Value))]; one != nil {
			return one
		}
	}
	return nil
}

// inUse reports whether a code or a login is valid.
func (l *logins) inUse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.codes) > 0 || len(l.all) > 0
}

// close ends all logins and makes all codes invalid.
func (l *logins) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.codes {
		l.drop(key)
	}
	for _, one := range l.all {
		l.end(one)
	}
}
