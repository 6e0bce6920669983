// Package statefile saves storage state, which is cookies and local storage, to files in one
// directory. The format is the JSON of Playwright's storageState, so that files of Playwright can
// be loaded.
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
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

// The limits of one file.
const (
	maxBytes   = 32 << 20
	maxCookies = 5000
	maxOrigins = 100
)

// A State is the storage state of a browser.
type State struct {
	Cookies []Cookie `json:"cookies"`
	Origins []Origin `json:"origins"`
}

// A Cookie is one cookie. It is for the host Domain only or, if Domain begins with a dot, also for
// its subdomains.
type Cookie struct {
	Name      string            `json:"name"`
	Value     string            `json:"value"`
	Domain    string            `json:"domain"`
	Path      string            `json:"path"`
	Expires   float64           `json:"expires"` // seconds since 1970; -1 for a session cookie
	HTTPOnly  bool              `json:"httpOnly"`
	Secure    bool              `json:"secure"`
	SameSite  executor.SameSite `json:"sameSite,omitempty"`
	Partition string            `json:"partitionKey,omitempty"`            // the only top-level site under which it is sent
	Ancestor  bool              `json:"_crHasCrossSiteAncestor,omitempty"` // part of the partition key
}

// An Origin is the local storage of one origin.
type Origin struct {
	Origin string `json:"origin"`
	Items  []Item `json:"localStorage"`
}

// An Item is one item of local storage.
type Item struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Dir is a directory of state files.
type Dir struct{ root *os.Root }

// Open opens the directory dir. It returns ErrPolicyDenied if dir is empty, and ErrBadArgs if dir
// cannot be opened or other users can change it.
func Open(dir string) (*Dir, error) {
	if dir == "" {
		return nil, executor.Errorf(executor.ErrPolicyDenied, "The user can allow it with Config.StateDir.", "no state directory configured")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "The user must create it, or choose another with Config.StateDir.", "the state directory cannot be opened: %w", patherror.Cause(err))
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
		return nil, executor.Errorf(executor.ErrBadArgs, "Ask the user to make it a directory that only they own and can write to, or to name another one.", "the state directory %w", patherror.Cause(err))
	}
	return &Dir{root}, nil
}

// Close closes the directory.
func (d *Dir) Close() { d.root.Close() }

var plainName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// FileName returns the file name for name, to which a caller may or may not append .json.
func FileName(name string) (string, error) {
	base := strings.TrimSuffix(name, ".json")
	if !plainName().MatchString(base) {
		return "", executor.Errorf(executor.ErrBadArgs, "Use up to 64 letters, digits, - and _, and begin with a letter or digit.", "invalid state file name %.80q", name)
	}
	return base + ".json", nil
}

// Save atomically writes a file with mode 0600. It replaces an existing file with the same name.
func (d *Dir) Save(name string, state State) error {
	file, err := FileName(name)
	if err != nil {
		return err
	}
	// A nil slice would become null.
	state.Cookies, state.Origins = append([]Cookie{}, state.Cookies...), append([]Origin{}, state.Origins...)
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	if len(data) > maxBytes || len(state.Cookies) > maxCookies || len(state.Origins) > maxOrigins {
		return executor.Errorf(executor.ErrNotActionable, "Remove unneeded data from the storage of the sites first.",
			"the state is too large: %d bytes, %d cookies and %d origins; the limits are %d, %d and %d", len(data), len(state.Cookies), len(state.Origins), maxBytes, maxCookies, maxOrigins)
	}
	if info, err := d.root.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return executor.Errorf(executor.ErrBadArgs, "Use another name.", "%s is not a regular file", file)
	}
	partial := ".partial-" + rand.Text()
	f, err := d.root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return notWritten(file, err)
	}
	defer d.root.Remove(partial) // does not exist after success
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
	return executor.Errorf(executor.ErrNotActionable, "The user must make the directory of Config.StateDir writable.", "%s cannot be written: %w", file, patherror.Cause(err))
}

// Load reads a file. Its errors have code ErrBadArgs and do not contain the file's content.
func (d *Dir) Load(name string) (*State, error) {
	file, err := FileName(name)
	if err != nil {
		return nil, err
	}
	data, err := d.read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, executor.Errorf(executor.ErrBadArgs, "Save one first, or ask the user to put the file into the directory.", "state file %s not found", file)
	case err != nil:
		return nil, invalidFileError(file, patherror.Cause(err).Error())
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, invalidFileError(file, "is not the JSON of a storage state")
	}
	return &state, state.check(file)
}

func invalidFileError(file, why string) error {
	return executor.Errorf(executor.ErrBadArgs, "Use a file that Executor.SaveState or Playwright's storageState wrote.", "state file %s %s; nothing was loaded", file, why)
}

func (d *Dir) read(file string) ([]byte, error) {
	info, err := d.root.Lstat(file) // checked again after opening
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := d.root.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, errors.New("was replaced while it was opened"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("has more than %d bytes", maxBytes)
	}
	return data, err
}

// check returns an error if the state is invalid. file is the file name for the error.
func (s *State) check(file string) error {
	if len(s.Cookies) > maxCookies || len(s.Origins) > maxOrigins {
		return invalidFileError(file, fmt.Sprintf("has %d cookies and %d origins; the limits are %d and %d", len(s.Cookies), len(s.Origins), maxCookies, maxOrigins))
	}
	for i, c := range s.Cookies {
		host := strings.TrimPrefix(c.Domain, ".")
		if u, err := url.Parse("http://" + host + "/"); c.Name == "" || err != nil || host == "" || u.Host != host || u.Port() != "" || host != strings.ToLower(host) {
			return invalidFileError(file, fmt.Sprintf("has a cookie without a valid name and domain, number %d", i+1))
		}
	}
	for i, o := range s.Origins {
		u, err := url.Parse(o.Origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || o.Origin != u.Scheme+"://"+u.Host || u.Host != strings.ToLower(u.Host) || u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
			return invalidFileError(file, fmt.Sprintf("has an invalid origin, number %d", i+1))
		}
	}
	return nil
}
