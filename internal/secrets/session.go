package secrets

import (
	"context"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Session holds the secrets of one session. It implements [executor.Secrets]. It masks only the
// values that the session has read: the masks of other values would reveal parts of secrets that
// the session may not use. A nil Session masks nothing.
type Session struct {
	vault  *Vault
	names  []string // of its secrets; nil means all
	masker Masker
}

var _ executor.Secrets = (*Session)(nil)

// Session returns the secrets with the given names for a session, or all if names is nil.
func (v *Vault) Session(names []string) *Session {
	return &Session{vault: v, names: names}
}

func (s *Session) has(name string) bool { return s.names == nil || slices.Contains(s.names, name) }

// List implements executor.Secrets.
func (s *Session) List(ctx context.Context) ([]executor.SecretInfo, error) {
	list, err := s.vault.List(ctx)
	return slices.DeleteFunc(list, func(i executor.SecretInfo) bool { return !s.has(i.Name) }), err
}

// Find implements executor.Secrets.
func (s *Session) Find(_ context.Context, name, field string) (*executor.SecretField, bool, error) {
	if !s.has(name) {
		return nil, false, nil
	}
	return s.vault.find(name, field, func(value string, whole bool, until time.Time) {
		s.masker.Add(value, whole, until)
		s.vault.masker.Add(value, whole, until)
	})
}

// Mask returns text with every value that the session has read replaced by [Replacement]: see
// [Masker.Mask].
func (s *Session) Mask(text string) string {
	if s == nil {
		return text
	}
	return s.masker.Mask(text)
}

// Spans returns where in text is what [Session.Mask] replaces: see [Masker.Spans].
func (s *Session) Spans(text string) [][2]int {
	if s == nil {
		return nil
	}
	return s.masker.Spans(text)
}

// Withhold reports whether the session must not receive a text, not even masked: see
// [Masker.Withhold].
func (s *Session) Withhold(text string) bool { return s != nil && s.masker.Withhold(text) }
