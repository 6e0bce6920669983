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

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// PairingLifetime is how long a pairing string can be used.
const PairingLifetime = 5 * time.Minute

// A Pairing is an installation of the extension that has a key of its own.
type Pairing struct {
	Instance string    `json:"instance"`
	Chrome   string    `json:"chrome"` // version of the browser when it was paired
	Created  time.Time `json:"created"`
}

// A pairingRecord is a Pairing in the file, with its key.
type pairingRecord struct {
	Pairing
	Key string `json:"key"`
}

type pairingsFile struct {
	V        int             `json:"v"`
	Pairings []pairingRecord `json:"pairings"`
}

// NewPairing writes a pairing string for the server that was started last, and
// returns the path of the file, which only its user can read. The string is
// good for one use within [PairingLifetime]; the server deletes the file.
func NewPairing(dataDir string) (path string, err error) {
	dataDir, err = filepath.Abs(dataDir)
	if err != nil {
		return "", executor.Errorf(executor.ErrInternal, "", "data folder: %w", err)
	}
	f := &dataDirectory{dataDir}
	servers := f.live()
	if len(servers) == 0 {
		return "", executor.Errorf(executor.ErrNoBackend,
			"Start one first: an MCP host with chrome-mcp configured starts it. With --data, use the same folder.",
			"no server of chrome-mcp runs that uses %s", dataDir)
	}
	path = f.pairingPath(servers[0].PID)
	text := wire.PairingString(servers[0].Port, wire.NewKey()) + "\n"
	if _, err := writePrivate(path, []byte(text)); err != nil {
		return "", executor.Errorf(executor.ErrNoBackend, dataDirHint, "pairing file: %w", err)
	}
	return path, nil
}

// Pairings lists the installations that have keys of their own.
func Pairings(dataDir string) ([]Pairing, error) {
	file, err := (&dataDirectory{dataDir}).pairings()
	var list []Pairing
	for _, r := range file.Pairings {
		list = append(list, r.Pairing)
	}
	return list, err
}

// Unpair takes their keys back from installations, from all when none is
// named, and returns how many had one. Their sessions end within a second.
func Unpair(dataDir string, instances ...string) (int, error) {
	removed := 0
	err := (&dataDirectory{dataDir}).changePairings(func(list []pairingRecord) []pairingRecord {
		kept := slices.DeleteFunc(slices.Clone(list), func(r pairingRecord) bool {
			return len(instances) == 0 || slices.Contains(instances, r.Instance)
		})
		removed = len(list) - len(kept)
		return kept
	})
	return removed, err
}

func (f *dataDirectory) pairingsPath() string { return filepath.Join(f.path, "pairings.json") }

func (f *dataDirectory) pairingPath(pid int) string {
	return filepath.Join(f.path, fmt.Sprintf("pairing-%d.txt", pid))
}

// pairings reads the file; none is an empty one.
func (f *dataDirectory) pairings() (pairingsFile, error) {
	file := pairingsFile{V: wire.Version}
	if f == nil {
		return file, nil
	}
	err := readJSON(f.pairingsPath(), &file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && file.V != wire.Version:
		err = fmt.Errorf("is of version %d", file.V)
	}
	if err != nil {
		return pairingsFile{V: wire.Version}, executor.Errorf(executor.ErrNoBackend,
			"Delete the file, and pair again.", "%s: %w", f.pairingsPath(), err)
	}
	return file, nil
}

// changePairings writes what change returns. A change by another process at
// the same time may get lost: people pair one browser after the other.
func (f *dataDirectory) changePairings(change func([]pairingRecord) []pairingRecord) error {
	file, err := f.pairings()
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
		_, err = writePrivate(f.pairingsPath(), append(data, '\n'))
	}
	if err != nil {
		return executor.Errorf(executor.ErrNoBackend, dataDirHint, "%s: %w", f.pairingsPath(), err)
	}
	return nil
}

// pairedKey returns the key of an installation, nil when it has none.
func (f *dataDirectory) pairedKey(instance string) []byte {
	file, err := f.pairings()
	if err != nil {
		return nil
	}
	for _, r := range file.Pairings {
		if r.Instance == instance {
			if key, err := wire.DecodeKey(r.Key); err == nil {
				return key
			}
		}
	}
	return nil
}

// pairingSecret returns the secret of the pairing string that is open for this
// server, nil when there is none.
func (f *dataDirectory) pairingSecret(now time.Time) []byte {
	if f == nil {
		return nil
	}
	data, info, err := readPrivate(f.pairingPath(os.Getpid()))
	if err != nil || expired(info, now) {
		return nil
	}
	_, secret, err := wire.ParsePairingString(strings.TrimSpace(string(data)))
	if err != nil {
		return nil
	}
	return secret
}

// expired reports whether a pairing file is too old, or of the future.
func expired(info fs.FileInfo, now time.Time) bool {
	age := now.Sub(info.ModTime())
	return age > PairingLifetime || age < -PairingLifetime
}

// removePairing deletes this server's pairing file.
func (f *dataDirectory) removePairing() {
	if f != nil {
		os.Remove(f.pairingPath(os.Getpid()))
	}
}

// redeem uses a pairing string up, and returns the new key of the installation
// that had it.
func (f *dataDirectory) redeem(secret []byte, hello *wire.Hello) ([]byte, error) {
	if f == nil || string(f.pairingSecret(time.Now())) != string(secret) {
		return nil, errors.New("the pairing string was used meanwhile")
	}
	// Of two that get here at once only one removes the file.
	if err := os.Remove(f.pairingPath(os.Getpid())); err != nil {
		return nil, err
	}
	key := wire.NewKey()
	err := f.changePairings(func(list []pairingRecord) []pairingRecord {
		list = slices.DeleteFunc(list, func(r pairingRecord) bool { return r.Instance == hello.Instance })
		return append(list, pairingRecord{
			Pairing{hello.Instance, hello.Ext.Chrome, time.Now().UTC().Truncate(time.Second)}, wire.EncodeKey(key),
		})
	})
	return key, err
}
