// Package statefile keeps what sites keep in a browser in files of one folder,
// in the JSON of Playwright's storageState, so that people can use their own.
package statefile

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// The bounds of one file.
const (
	maxBytes   = 32 << 20
	maxCookies = 5000
	maxOrigins = 100
)

// A State is what sites keep.
type State struct {
	Cookies []Cookie `json:"cookies"`
	Origins []Origin `json:"origins"`
}

// A Cookie is one cookie, of the host Domain alone, or of its subdomains too
// when that begins with a dot.
type Cookie struct {
	Name      string            `json:"name"`
	Value     string            `json:"value"`
	Domain    string            `json:"domain"`
	Path      string            `json:"path"`
	Expires   float64           `json:"expires"` // seconds since 1970; -1 is when the browser ends
	HTTPOnly  bool              `json:"httpOnly"`
	Secure    bool              `json:"secure"`
	SameSite  executor.SameSite `json:"sameSite,omitempty"`
	Partition string            `json:"partitionKey,omitempty"`            // site under which alone it is sent
	Ancestor  bool              `json:"_crHasCrossSiteAncestor,omitempty"` // of Partition
}

// An Origin is what one origin keeps in its local storage.
type Origin struct {
	Origin string `json:"origin"`
	Items  []Item `json:"localStorage"`
}

// An Item is one item of local storage.
type Item struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Dir is a folder of state files.
type Dir struct{ root *os.Root }

// Open opens the folder dir. It returns ErrPolicyDenied when dir is empty.
func Open(dir string) (*Dir, error) {
	if dir == "" {
		return nil, executor.Errorf(executor.ErrPolicyDenied, "The user can allow it by starting chrome-mcp with --state-dir DIR.", "there is no folder for state files")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "The user has to make it, or start chrome-mcp with another --state-dir.", "the folder of state files cannot be opened: %w", cause(err))
	}
	info, err := root.Stat(".")
	if err == nil {
		err = owneronly.CheckDir(info)
	}
	if err == nil {
		err = owneronly.CheckParents(dir)
	}
	if err != nil {
		root.Close()
		return nil, executor.Errorf(executor.ErrBadArgs, "Ask the user to make it a directory that only they own and can write to, or to name another one.", "the state directory %w", cause(err))
	}
	return &Dir{root}, nil
}

// Close lets the folder go.
func (d *Dir) Close() { d.root.Close() }

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// FileName returns the name of the file that a caller calls name, with or
// without its ending .json.
func FileName(name string) (string, error) {
	base := strings.TrimSuffix(name, ".json")
	if !plainName.MatchString(base) {
		return "", executor.Errorf(executor.ErrBadArgs, "Use up to 64 letters, digits, - and _, and begin with a letter or digit.", "%.80q cannot be the name of a state file", name)
	}
	return base + ".json", nil
}

// Save writes a file of mode 0600, whole or not at all, in place of one of the
// same name.
func (d *Dir) Save(name string, state State) error {
	file, err := FileName(name)
	if err != nil {
		return err
	}
	state.Cookies, state.Origins = some(state.Cookies), some(state.Origins)
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	if len(data) > maxBytes || len(state.Cookies) > maxCookies || len(state.Origins) > maxOrigins {
		return executor.Errorf(executor.ErrNotActionable, "Remove what is not needed from the sites' storage first.",
			"the state is too large: %d bytes, %d cookies and %d origins, of at most %d, %d and %d", len(data), len(state.Cookies), len(state.Origins), maxBytes, maxCookies, maxOrigins)
	}
	if info, err := d.root.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return executor.Errorf(executor.ErrBadArgs, "Use another name.", "%s is there and is no plain file", file)
	}
	partial := ".partial-" + rand.Text()
	f, err := d.root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return notWritten(file, err)
	}
	defer d.root.Remove(partial) // gone already, when all went well
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = d.root.Rename(partial, file)
	}
	if err != nil {
		return notWritten(file, err)
	}
	return nil
}

func notWritten(file string, err error) error {
	return executor.Errorf(executor.ErrNotActionable, "The user can see to it that the folder of --state-dir can be written.", "%s cannot be written: %w", file, cause(err))
}

// Load reads a file. Its errors are ErrBadArgs, and tell nothing of what is in
// the file.
func (d *Dir) Load(name string) (*State, error) {
	file, err := FileName(name)
	if err != nil {
		return nil, err
	}
	data, err := d.read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, executor.Errorf(executor.ErrBadArgs, "Save one first, or have the user put it there.", "there is no state file %s", file)
	case err != nil:
		return nil, unusable(file, cause(err).Error())
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, unusable(file, "is not the JSON of a storage state")
	}
	return &state, state.check(file)
}

func unusable(file, why string) error {
	return executor.Errorf(executor.ErrBadArgs, "Use a file that session_state or Playwright's storageState made.", "state file %s %s; nothing was loaded", file, why)
}

func (d *Dir) read(file string) ([]byte, error) {
	info, err := d.root.Lstat(file) // and look again at what was opened
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no plain file")
	}
	f, err := d.root.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, errors.New("was changed while it was opened"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("has more than %d bytes", maxBytes)
	}
	return data, err
}

// check returns what is wrong with a state.
func (s *State) check(file string) error {
	if len(s.Cookies) > maxCookies || len(s.Origins) > maxOrigins {
		return unusable(file, fmt.Sprintf("has %d cookies and %d origins, of at most %d and %d", len(s.Cookies), len(s.Origins), maxCookies, maxOrigins))
	}
	for i, c := range s.Cookies {
		host := strings.TrimPrefix(c.Domain, ".")
		if u, err := url.Parse("http://" + host + "/"); c.Name == "" || err != nil || host == "" || u.Host != host || u.Port() != "" || host != strings.ToLower(host) {
			return unusable(file, fmt.Sprintf("has a cookie without a name or a domain, number %d", i+1))
		}
	}
	for i, o := range s.Origins {
		u, err := url.Parse(o.Origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || o.Origin != u.Scheme+"://"+u.Host || u.Host != strings.ToLower(u.Host) || u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
			return unusable(file, fmt.Sprintf("has what is no origin, number %d", i+1))
		}
	}
	return nil
}

// some returns s, or an empty slice for nil, which JSON would call null.
func some[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// cause returns what the system said, without the name it said it of.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
