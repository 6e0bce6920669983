package transcript

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// errPanic is in the chain of an error that was a panic of the database.
var errPanic = errors.New("reading the database")

// guard calls f. bbolt maps the file into memory and panics if its content is inconsistent; reading
// beyond its end is a memory fault. Both become ErrCorrupt.
func (s *Store) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = s.corrupt(fmt.Errorf("%w: %v", errPanic, r))
		}
	}()
	return f()
}

// corrupt returns ErrCorrupt with its cause.
func (s *Store) corrupt(cause error) error {
	return errs.Errorf(errs.ErrInternal, fmt.Sprintf("Move the file %s to another place to start with an empty list of chats. Nothing was deleted.", s.path),
		"%w: %s: %w", ErrCorrupt, s.path, cause)
}

// view runs f in a read-only transaction.
func (s *Store) view(f func(*bolt.Tx) error) error {
	return s.guard(func() error { return s.db.View(f) })
}

// update runs f in a transaction. The caller has locked writing.
func (s *Store) update(f func(*bolt.Tx) error) error {
	if s.broken != nil {
		return s.broken
	}
	err := s.guard(func() error { return s.db.Update(f) })
	if errors.Is(err, errPanic) {
		s.broken = err
	}
	return err
}

// seqKey returns the key of an entry, so that entries are sorted by seq.
func seqKey(seq int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(seq)) }

// encode is json.Marshal without HTML escapes, so that a query can be looked for in the result.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
