package secrets

import (
	"context"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A View is what one session may use of a Vault. It implements [executor.Secrets]. It masks only the
// values that were read through it: the masks of other values would reveal parts of secrets that the
// session may not use. A nil View masks nothing.
type View struct {
	vault  *Vault
	names  []string // of its secrets; nil means all
	masker Masker
}

var _ executor.Secrets = (*View)(nil)

// View returns a view of the secrets with the given names, or of all if names is nil.
func (v *Vault) View(names []string) *View {
	return &View{vault: v, names: names}
}

func (v *View) has(name string) bool { return v.names == nil || slices.Contains(v.names, name) }

// List implements executor.Secrets.
func (v *View) List(ctx context.Context) ([]executor.SecretInfo, error) {
	list, err := v.vault.List(ctx)
	return slices.DeleteFunc(list, func(i executor.SecretInfo) bool { return !v.has(i.Name) }), err
}

// Find implements executor.Secrets.
func (v *View) Find(_ context.Context, name, field string) (*executor.SecretField, bool, error) {
	if !v.has(name) {
		return nil, false, nil
	}
	return v.vault.find(name, field, func(value string, whole bool, until time.Time) {
		v.masker.Add(value, whole, until)
		v.vault.masker.Add(value, whole, until)
	})
}

// Mask returns text with every value that was read through v replaced by [Replacement]: see
// [Masker.Mask].
func (v *View) Mask(text string) string {
	if v == nil {
		return text
	}
	return v.masker.Mask(text)
}

// Spans returns where in text is what [View.Mask] replaces: see [Masker.Spans].
func (v *View) Spans(text string) [][2]int {
	if v == nil {
		return nil
	}
	return v.masker.Spans(text)
}

// Withhold reports whether the session must not receive a text, not even masked: see
// [Masker.Withhold].
func (v *View) Withhold(text string) bool { return v != nil && v.masker.Withhold(text) }
