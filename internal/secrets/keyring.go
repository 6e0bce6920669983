package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/zalando/go-keyring"
	"golang.org/x/sync/singleflight"
)

// keyringService is the name under which the keyring lists the values.
const keyringService = "chrome-mcp"

// keyringTimeout is the time that the keyring may take. It may ask the user to unlock it.
const keyringTimeout = 60 * time.Second

// keyringUser returns the name of a value in the keyring. Each data directory has its own.
func keyringUser(path, name, field string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(path)))
	return name + "." + field + "@" + hex.EncodeToString(sum[:4])
}

// keyringGet reads a value. While the keyring waits for the user to unlock it, further calls for the
// value wait too: each read would prompt the user once more, and cannot be canceled.
func keyringGet(ctx context.Context, reads *singleflight.Group, user string) (string, error) {
	return withKeyring(ctx, reads, user, func() (string, error) { return keyring.Get(keyringService, user) })
}

// ErrKeyring is the error of a keyring that cannot be used.
var ErrKeyring = errors.New("keyring")

func keyringSet(ctx context.Context, user, value string) error {
	_, err := withKeyring(ctx, new(singleflight.Group), user, func() (string, error) { return "", keyring.Set(keyringService, user, value) })
	return err
}

// keyringReplace sets a value. The function that it returns restores the previous value, or deletes the
// new one if there was none.
func keyringReplace(ctx context.Context, reads *singleflight.Group, user, value string) (restore func(context.Context) error, err error) {
	previous, err := keyringGet(ctx, reads, user)
	switch {
	case err == nil:
		restore = func(ctx context.Context) error { return keyringSet(ctx, user, previous) }
	case errors.Is(err, keyring.ErrNotFound):
		restore = func(ctx context.Context) error { return keyringDelete(ctx, user) }
	default:
		return nil, err
	}
	return restore, keyringSet(ctx, user, value)
}

// keyringDelete deletes a value. One that does not exist is not an error.
func keyringDelete(ctx context.Context, user string) error {
	_, err := withKeyring(ctx, new(singleflight.Group), user, func() (string, error) { return "", keyring.Delete(keyringService, user) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// withKeyring calls f, which has no context, and returns its results or the error of ctx. Calls with
// the same user and group share one call of f.
func withKeyring(ctx context.Context, calls *singleflight.Group, user string, f func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyringTimeout)
	defer cancel()
	select {
	case r := <-calls.DoChan(user, func() (any, error) { return f() }):
		if r.Err != nil {
			return "", fmt.Errorf("is not available: %w: %w", ErrKeyring, r.Err)
		}
		return r.Val.(string), nil
	case <-ctx.Done():
		return "", fmt.Errorf("is not available: the %w did not answer: %w", ErrKeyring, context.Cause(ctx))
	}
}
