package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/filelock"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A Vault holds the secrets of a data directory. It implements [executor.Secrets]; sessions use the
// result of [Vault.View]. Its methods are safe for concurrent use, also by several programs.
type Vault struct {
	path    string
	now     func() time.Time
	op      string             // the command-line program of 1Password
	masker  Masker             // of all values that were read
	keyring singleflight.Group // reads of the keyring, by keyringUser
}

var _ executor.Secrets = (*Vault)(nil)

// The rules of denials.
const (
	ruleFile  = "secrets-file"
	ruleStore = "secrets-store"
)

// Open returns the vault of a data directory. It does not read the file yet.
func Open(dir string) *Vault {
	return &Vault{path: filepath.Join(dir, FileName), now: time.Now, op: "op"}
}

// Path returns the path of the file.
func (v *Vault) Path() string { return v.path }

// Mask returns text with every value that was read, also by sessions, replaced by [Replacement]: see
// [Masker.Mask]. It is for logs only: what it masks depends on the secrets of all sessions, so its
// result must not reach a session.
func (v *Vault) Mask(text string) string { return v.masker.Mask(text) }

// List implements executor.Secrets.
func (v *Vault) List(context.Context) ([]executor.SecretInfo, error) {
	all, err := v.read()
	if err != nil {
		return nil, err
	}
	list := make([]executor.SecretInfo, len(all))
	for i, s := range all {
		list[i] = executor.SecretInfo{Name: s.Name, Fields: slices.Sorted(maps.Keys(s.Fields)), Origins: s.Origins}
	}
	return list, nil
}

// read reads the file, so that changes take effect immediately.
func (v *Vault) read() ([]storedSecret, error) {
	all, err := readFile(v.path)
	if err != nil {
		hint := "Ask the user to check the file."
		if e, ok := errors.AsType[*FileError](err); ok {
			hint = "Ask the user to check the file. " + e.Hint
		}
		return nil, &executor.Error{Code: executor.ErrPolicyDenied, Rule: ruleFile, Err: err, Hint: hint}
	}
	return all, nil
}

// Find implements executor.Secrets.
func (v *Vault) Find(_ context.Context, name, field string) (s *executor.SecretField, ok bool, err error) {
	return v.find(name, field, v.masker.Add)
}

// find implements Find. Reading the value calls mask with it.
func (v *Vault) find(name, field string, mask addMask) (*executor.SecretField, bool, error) {
	all, err := v.read()
	if err != nil {
		return nil, false, err
	}
	i := indexOf(all, name)
	if i < 0 {
		return nil, false, nil
	}
	f, ok := all[i].Fields[field]
	if !ok {
		return nil, false, nil
	}
	value := func(ctx context.Context) (string, error) {
		value, _, err := v.resolve(ctx, name, field, f, mask)
		if err != nil {
			return "", &executor.Error{Code: executor.ErrPolicyDenied, Rule: ruleStore, Err: fieldError(name, field, err),
				Hint: "Ask the user to test the secret."}
		}
		return value, nil
	}
	return &executor.SecretField{Name: name, Field: field, Origins: all[i].Origins, Selector: f.Selector, Value: value}, true, nil
}

// indexOf returns the index of the secret with a name, or -1.
func indexOf(all []storedSecret, name string) int {
	return slices.IndexFunc(all, func(s storedSecret) bool { return s.Name == name })
}

// fieldError returns err, whose text is a predicate such as "is too short", with the field as its
// subject.
func fieldError(name, field string, err error) error {
	return fmt.Errorf("secret %s.%s %w", name, field, err)
}

// addMask is [Masker.Add], or a function that calls it for several maskers.
type addMask func(value string, whole bool, until time.Time)

// resolve returns the text that is typed for a field, and how long it is valid if it is a code. It
// calls mask with the stored value and with that text. The text of its error is a predicate: see
// fieldError.
func (v *Vault) resolve(ctx context.Context, name, field string, f storedField, mask addMask) (value string, valid time.Duration, err error) {
	stored, err := v.stored(ctx, name, field, f)
	if err != nil {
		return "", 0, err
	}
	if field == FieldTOTP {
		mask(seedOf(stored), false, time.Time{}) // the rest of a URL is not secret
	} else {
		mask(stored, field == FieldUsername, time.Time{})
	}
	if err := CheckValue(field, stored); err != nil {
		return "", 0, err
	}
	if field == FieldTOTP {
		return v.code(stored, mask)
	}
	return stored, 0, nil
}

// stored reads the value of a field from its store.
func (v *Vault) stored(ctx context.Context, name, field string, f storedField) (string, error) {
	switch {
	case f.Keyring:
		return keyringGet(ctx, &v.keyring, keyringUser(v.path, name, field))
	case f.OnePassword != "":
		return v.onePassword(ctx, f.OnePassword)
	}
	return f.Value, nil
}

// codeMasked is how long a code is masked: longer than sites accept it.
const codeMasked = 10 * time.Minute

// code returns the current code of a seed and how long it is valid. It calls mask with the code.
func (v *Vault) code(seed string, mask addMask) (string, time.Duration, error) {
	g, err := parseTOTP(seed)
	if err != nil {
		return "", 0, err
	}
	code, valid, err := g.code(v.now())
	if err == nil {
		mask(code, false, time.Now().Add(codeMasked))
	}
	return code, valid, err
}

// A Change describes what [Vault.Set] changes.
type Change struct {
	Name, Field string   // of the secret, and of the field in it
	Origins     []string // replace those of the secret; empty leaves them
	Value       string   // of the field, or its reference in 1Password
	Store       Store
	Selector    string // see storedField; empty leaves the present one
}

// A Store is the place where a value is stored.
type Store string

// The stores.
const (
	StoreFile        Store = "file"
	StoreKeyring     Store = "keyring"
	StoreOnePassword Store = "1password"
)

// lock waits until no other program changes the file, or ctx is done.
func (v *Vault) lock(ctx context.Context) (unlock func(), err error) {
	if err := owneronly.MakeDir(filepath.Dir(v.path)); err != nil {
		return nil, err
	}
	return filelock.Lock(ctx, v.path+".lock", nil)
}

// Set sets a field of a secret. It does not check that a value exists in 1Password.
func (v *Vault) Set(ctx context.Context, c Change) error {
	unlock, err := v.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return v.set(ctx, c)
}

// set implements Set. The file must be locked.
func (v *Vault) set(ctx context.Context, c Change) error {
	all, err := readFile(v.path)
	if err != nil {
		return err
	}
	i := indexOf(all, c.Name)
	if i < 0 {
		all = append(all, storedSecret{Name: c.Name})
		i = len(all) - 1
	}
	s := &all[i]
	if len(c.Origins) > 0 {
		s.Origins = c.Origins
	}
	if s.Fields == nil {
		s.Fields = map[string]storedField{}
	}
	old := s.Fields[c.Field]
	if s.Fields[c.Field], err = c.field(old); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	user := keyringUser(v.path, c.Name, c.Field)
	restore := func(context.Context) error { return nil }
	if c.Store == StoreKeyring {
		if restore, err = keyringReplace(ctx, &v.keyring, user, c.Value); err != nil {
			return fieldError(c.Name, c.Field, err)
		}
	}
	if err := writeFile(v.path, all); err != nil {
		if failed := restore(context.WithoutCancel(ctx)); failed != nil {
			err = errors.Join(err, fieldError(c.Name, c.Field, failed))
		}
		return err
	}
	if old.Keyring && c.Store != StoreKeyring {
		if err := keyringDelete(ctx, user); err != nil {
			return fieldError(c.Name, c.Field, err)
		}
	}
	return nil
}

// field returns the stored field that replaces old.
func (c *Change) field(old storedField) (storedField, error) {
	f := storedField{Selector: cmp.Or(c.Selector, old.Selector)}
	switch c.Store {
	case StoreKeyring:
		f.Keyring = true
		if err := CheckValue(c.Field, c.Value); err != nil {
			return storedField{}, fieldError(c.Name, c.Field, err)
		}
	case StoreOnePassword:
		f.OnePassword = c.Value
	default:
		f.Value = c.Value
	}
	if err := f.check(c.Field); err != nil {
		return storedField{}, fieldError(c.Name, c.Field, err)
	}
	return f, nil
}

// ErrUnknown is the error of a secret or a field that does not exist.
var ErrUnknown = errors.New("no such secret")

func unknownError(name, field string) error {
	if field != "" {
		name += "." + field
	}
	return fmt.Errorf("%w: %s", ErrUnknown, name)
}

// Remove removes a field of a secret, or the complete secret if field is empty. A field whose value
// cannot be deleted from the keyring remains.
func (v *Vault) Remove(ctx context.Context, name, field string) error {
	unlock, err := v.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := readFile(v.path)
	if err != nil {
		return err
	}
	i := indexOf(all, name)
	if i < 0 {
		return unknownError(name, field)
	}
	fields := all[i].Fields
	if _, ok := fields[field]; field != "" && !ok {
		return unknownError(name, field)
	}
	var failed error
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if field != "" && f != field {
			continue
		}
		if fields[f].Keyring {
			if err := keyringDelete(ctx, keyringUser(v.path, name, f)); err != nil {
				failed = errors.Join(failed, fieldError(name, f, err))
				continue
			}
		}
		delete(fields, f)
	}
	if len(fields) == 0 {
		all = slices.Delete(all, i, i+1)
	}
	return errors.Join(failed, writeFile(v.path, all))
}

// A TestResult is the result of [Vault.Test] for one field.
type TestResult struct {
	Name, Field string
	Store       Store
	Err         error         // why the value cannot be typed; nil if it can
	Valid       time.Duration // of a TOTP code
	Clock       time.Time     // of this machine, if the value is a TOTP code
}

// Test reads the values of a secret, or of all secrets if name is empty, and reports whether they
// can be typed. If field is not empty, it reads only that field. The results have no values; the
// values are masked from now on.
func (v *Vault) Test(ctx context.Context, name, field string) ([]TestResult, error) {
	all, err := readFile(v.path)
	if err != nil {
		return nil, err
	}
	var list []TestResult
	for _, s := range all {
		if name != "" && s.Name != name {
			continue
		}
		for _, one := range slices.Sorted(maps.Keys(s.Fields)) {
			if field != "" && one != field {
				continue
			}
			f := s.Fields[one]
			t := TestResult{Name: s.Name, Field: one, Store: f.store()}
			if one == FieldTOTP {
				t.Clock = v.now()
			}
			_, t.Valid, t.Err = v.resolve(ctx, s.Name, one, f, v.masker.Add)
			list = append(list, t)
		}
	}
	if name != "" && list == nil {
		return nil, unknownError(name, field)
	}
	return list, nil
}

// store returns the store of the field's value.
func (f storedField) store() Store {
	switch {
	case f.Keyring:
		return StoreKeyring
	case f.OnePassword != "":
		return StoreOnePassword
	}
	return StoreFile
}

// SplitName splits "name.field", or "name", whose field is empty.
func SplitName(s string) (name, field string, err error) {
	name, field, found := strings.Cut(s, ".")
	if err := CheckName(name); err != nil {
		return "", "", err
	}
	if found {
		if err := CheckName(field); err != nil {
			return "", "", err
		}
	}
	return name, field, nil
}

// A FieldInfo describes a field, without its value.
type FieldInfo struct {
	Name, Field string // of the secret, and of the field in it
	Store       Store
	Origins     []string
	Selector    string
}

// Fields lists the fields of all secrets.
func (v *Vault) Fields() ([]FieldInfo, error) {
	all, err := readFile(v.path)
	var list []FieldInfo
	for _, s := range all {
		for _, field := range slices.Sorted(maps.Keys(s.Fields)) {
			f := s.Fields[field]
			list = append(list, FieldInfo{s.Name, field, f.store(), s.Origins, f.Selector})
		}
	}
	return list, err
}
