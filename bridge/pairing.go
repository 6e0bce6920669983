package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// PairingLifetime is how long a pairing string is valid.
const PairingLifetime = 5 * time.Minute

// A Pairing is an installation of the extension that has a paired key.
type Pairing struct {
	Installation string    `json:"instance"` // id of the installation
	Chrome       string    `json:"chrome"`   // version of the browser when it was paired
	Created      time.Time `json:"created"`
}

// A pairingRecord is a Pairing with its key, as stored in the file.
type pairingRecord struct {
	Pairing
	Key string `json:"key"`
}

type pairingsFile struct {
	V        int             `json:"v"`
	Pairings []pairingRecord `json:"pairings"`
}

// NewPairing writes a pairing string for the most recently started server and returns the path of
// the file, which only the user can read. The string can be used once, within [PairingLifetime].
// The server deletes the file.
func NewPairing(dataDir string) (path string, err error) {
	dataDir, err = filepath.Abs(dataDir)
	if err != nil {
		return "", errs.Errorf(errs.ErrInternal, "", "data directory: %w", err)
	}
	d := &dataDirectory{dataDir}
	servers := d.runningServers()
	if len(servers) == 0 {
		return "", errs.Errorf(errs.ErrNoBackend,
			"Start a server first, for example with an MCP host that has chrome-mcp configured. With Options.DataDir, use the same directory.",
			"no running chrome-mcp server uses %s", dataDir)
	}
	path = d.pairingPath(servers[0].PID)
	text := wire.PairingString(servers[0].Port, wire.NewKey()) + "\n"
	if _, err := owneronly.WriteFile(path, []byte(text)); err != nil {
		return "", errs.Errorf(errs.ErrNoBackend, dataDirHint, "pairing file: %w", err)
	}
	return path, nil
}

// Pairings returns the installations that have paired keys.
func Pairings(dataDir string) ([]Pairing, error) {
	file, err := (&dataDirectory{dataDir}).pairings()
	var list []Pairing
	for _, r := range file.Pairings {
		list = append(list, r.Pairing)
	}
	return list, err
}

// Unpair revokes the keys of the installations with the given ids, or of all installations if there
// are none, and returns the number of revoked keys. Servers close their connections within a
// second.
func Unpair(dataDir string, installations ...string) (int, error) {
	removed := 0
	err := (&dataDirectory{dataDir}).changePairings(func(list []pairingRecord) []pairingRecord {
		kept := slices.DeleteFunc(slices.Clone(list), func(r pairingRecord) bool {
			return len(installations) == 0 || slices.Contains(installations, r.Installation)
		})
		removed = len(list) - len(kept)
		return kept
	})
	return removed, err
}

func (d *dataDirectory) pairingsPath() string { return filepath.Join(d.path, "pairings.json") }

func (d *dataDirectory) pairingPath(pid int) string {
	return filepath.Join(d.path, fmt.Sprintf("pairing-%d.txt", pid))
}

// pairings reads the pairings file. A missing file has no pairings.
func (d *dataDirectory) pairings() (pairingsFile, error) {
	file := pairingsFile{V: fileVersion}
	if d == nil {
		return file, nil
	}
	err := readJSON(d.pairingsPath(), &file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && file.V != fileVersion:
		err = fmt.Errorf("has unsupported version %d", file.V)
	}
	if err != nil {
		return pairingsFile{V: fileVersion}, errs.Errorf(errs.ErrNoBackend,
			"Delete the file and pair again.", "%s: %w", d.pairingsPath(), err)
	}
	return file, nil
}

// changePairings stores the list that change returns. A concurrent change by another process can be
// lost. That is acceptable, because users pair one browser after another.
func (d *dataDirectory) changePairings(change func([]pairingRecord) []pairingRecord) error {
	file, err := d.pairings()
	if err != nil {
		return err
	}
	before := len(file.Pairings)
	file.Pairings = change(file.Pairings)
	if before == 0 && len(file.Pairings) == 0 {
		return nil
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err == nil {
		_, err = owneronly.WriteFile(d.pairingsPath(), append(data, '\n'))
	}
	if err != nil {
		return errs.Errorf(errs.ErrNoBackend, dataDirHint, "%s: %w", d.pairingsPath(), err)
	}
	return nil
}

// pairedKey returns the key of an installation, or nil if it is not paired.
func (d *dataDirectory) pairedKey(installation string) []byte {
	file, err := d.pairings()
	if err != nil {
		return nil
	}
	for _, r := range file.Pairings {
		if r.Installation == installation {
			if key, err := wire.DecodeKey(r.Key); err == nil {
				return key
			}
		}
	}
	return nil
}

// pairingSecret returns the secret of this server's active pairing string, or nil if there is none.
func (d *dataDirectory) pairingSecret(now time.Time) []byte {
	if d == nil {
		return nil
	}
	data, info, err := readPrivate(d.pairingPath(os.Getpid()))
	if err != nil || expired(info, now) {
		return nil
	}
	_, secret, err := wire.ParsePairingString(strings.TrimSpace(string(data)))
	if err != nil {
		return nil
	}
	return secret
}

// expired reports whether a pairing file is older than [PairingLifetime], or its modification time
// is further than that in the future.
func expired(info fs.FileInfo, now time.Time) bool {
	age := now.Sub(info.ModTime())
	return age > PairingLifetime || age < -PairingLifetime
}

// removePairing deletes this server's pairing file.
func (d *dataDirectory) removePairing() {
	if d != nil {
		os.Remove(d.pairingPath(os.Getpid()))
	}
}

// usePairingString invalidates the pairing string with the given secret, and stores and returns a
// new key for the installation that sent hello.
func (d *dataDirectory) usePairingString(secret []byte, hello *wire.Hello) ([]byte, error) {
	if d == nil || string(d.pairingSecret(time.Now())) != string(secret) {
		return nil, errors.New("the pairing string was already used")
	}
	// Of two concurrent calls, only one can remove the file.
	if err := os.Remove(d.pairingPath(os.Getpid())); err != nil {
		return nil, err
	}
	key := wire.NewKey()
	err := d.changePairings(func(list []pairingRecord) []pairingRecord {
		list = slices.DeleteFunc(list, func(r pairingRecord) bool { return r.Installation == hello.Installation })
		return append(list, pairingRecord{
			Pairing{hello.Installation, hello.Ext.Chrome, time.Now().UTC().Truncate(time.Second)}, wire.EncodeKey(key),
		})
	})
	return key, err
}
