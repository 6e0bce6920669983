package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// onePasswordTimeout bounds one read from 1Password, which may ask the user to unlock it.
const onePasswordTimeout = 60 * time.Second

// onePassword reads a value from 1Password with its command-line program.
func (v *Vault) onePassword(ctx context.Context, reference string) (string, error) {
	path, err := exec.LookPath(v.op)
	if err != nil {
		return "", errors.New("is not available: op, the command-line program of 1Password, is not installed")
	}
	ctx, cancel := context.WithTimeout(ctx, onePasswordTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "read", "--no-newline", "--", reference)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &limitedWriter{&stdout, maxLength + 1}, &limitedWriter{&stderr, 1000}, time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("is not available: 1Password did not answer: %w", context.Cause(ctx))
		}
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("is not available: 1Password: %w: %s", err, first)
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// A limitedWriter writes the first bytes to a buffer and discards the rest.
type limitedWriter struct {
	b    *bytes.Buffer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.b.Write(p[:n])
	l.left -= n
	return len(p), nil
}
