package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// A secretText is a text with placeholders of secrets. The values of the secrets are read only
// after the field that receives them has been checked.
type secretText struct {
	parts  []secretPart
	plain  string // the text with its placeholders, without the backslashes before others
	note   string // lists placeholders of secrets that do not exist
	hidden bool   // the text contains a secret
}

// A secretPart is literal text or a secret.
type secretPart struct {
	text   string
	secret *executor.SecretField // nil for literal text
}

// findSecrets finds the secrets whose placeholders a text contains. A nil store has none.
func findSecrets(ctx context.Context, store executor.Secrets, text string) (*secretText, error) {
	t := &secretText{plain: text}
	if store == nil {
		return t, nil
	}
	var plain strings.Builder
	var unknown []string
	for _, p := range secrets.Parse(text) {
		part := secretPart{text: p.Text}
		if p.Name != "" {
			found, ok, err := store.Find(ctx, p.Name, p.Field)
			switch {
			case err != nil:
				return nil, err
			case ok:
				part.secret = found
			case !slices.Contains(unknown, p.Text):
				unknown = append(unknown, p.Text)
			}
		}
		t.hidden = t.hidden || part.secret != nil
		t.parts = append(t.parts, part)
		plain.WriteString(p.Text)
	}
	t.plain = plain.String()
	if len(unknown) > 0 {
		t.note = fmt.Sprintf("secret %s not found; it was typed as it is", strings.Join(unknown, " or "))
	}
	return t, nil
}

// checkOrigin returns ErrPolicyDenied if a secret of the text may not be typed in documents of the
// origin of d, as reported by the browser.
func (t *secretText) checkOrigin(d *frames.Document) error {
	for _, p := range t.parts {
		if s := p.secret; s != nil && (d.Origin == executor.OriginInternal || d.Origin == executor.OriginOpaque || !slices.Contains(s.Origins, d.Origin)) {
			where := "of " + d.Origin
			if d.Origin == executor.OriginInternal || d.Origin == executor.OriginOpaque {
				where = "without an origin"
			}
			return &executor.Error{Code: executor.ErrPolicyDenied, Rule: "secret:" + s.Name,
				Err:  fmt.Errorf("secret %s is for %s, and the field is in a document %s; nothing was typed", s.Name, strings.Join(s.Origins, " and "), where),
				Hint: "Open a page of that site. Only the user can change where a secret may be typed."}
		}
	}
	return nil
}

// selectors returns the selector of each secret in the text, "" for a secret without one.
func (t *secretText) selectors() []string {
	list := []string{}
	for _, p := range t.parts {
		if p.secret != nil {
			list = append(list, p.secret.Selector)
		}
	}
	return list
}

// value reads the secrets and returns the text to type.
func (t *secretText) value(ctx context.Context) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.secret != nil {
			var err error
			if text, err = p.secret.Value(ctx); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// A secretEntryResult is the result of checkSecretField and enterSecret of js/secret_entry.js.
type secretEntryResult struct {
	Problem string `json:"problem"` // why the text was not entered; see secretEntry.problem
	Limit   int    `json:"limit"`   // with the problem "limit"
	Focused bool   `json:"focused"`
	Kept    bool   `json:"kept"` // the field still has the value
}

// secretEntryOptions are the options of these functions.
type secretEntryOptions struct {
	Origin    string   `json:"origin"`
	Selectors []string `json:"selectors"`
	Clear     bool     `json:"clear"`
}

// A secretEntry is the state of one entry of a text with secrets into a field.
type secretEntry struct {
	actor *Actor
	el    *element
	text  *secretText
}

// enter waits until the element is a field that accepts text, and enters the text. It checks the
// field first, and again in the same task of the same document in which the text is entered: if the
// document was replaced or the field changed in between, nothing is entered.
//
// The text is not sent as input: the browser would send it to the element that has the focus when
// it arrives.
func (e *secretEntry) enter(ctx context.Context, clear bool) (entryResult, error) {
	a, el, t := e.actor, e.el.Element, e.text
	if _, err := a.waitActionable(ctx, e.el, actionabilityOptions{Editable: true, Field: true}); err != nil {
		return entryResult{}, err
	}
	if err := t.checkOrigin(el.Doc); err != nil {
		return entryResult{}, err
	}
	opts := secretEntryOptions{Origin: el.Doc.Origin, Selectors: t.selectors(), Clear: clear}
	var got *secretEntryResult
	if err := a.finder.Call(ctx, el, &got, "checkSecretField", el.ID, opts); err != nil {
		return entryResult{}, a.finder.Removed(ctx, el, err)
	}
	if err := e.problem(ctx, got); err != nil {
		return entryResult{}, err
	}
	cancelSecret, err := a.opts.BeginSecret()
	if err != nil {
		return entryResult{}, err
	}
	text, err := t.value(ctx)
	if err != nil {
		cancelSecret()
		return entryResult{}, err
	}
	ctx, cancel := deadline.Extend(ctx, a.timing.Script)
	defer cancel()
	got = nil
	// After an error of this call, the secret may be in the field: cancelSecret is not called.
	err = a.finder.Call(ctx, el, &got, "enterSecret", el.ID, opts, text)
	switch {
	case errors.Is(err, executor.ErrDialogOpen):
		return entryResult{kept: true, stopped: true}, nil // the page's handler of the input opened it
	case err != nil:
		return entryResult{}, a.finder.Removed(ctx, el, err)
	}
	if err := e.problem(ctx, got); err != nil {
		cancelSecret()
		return entryResult{}, err
	}
	switch {
	case !got.Kept:
		return entryResult{kept: false, stopped: !got.Focused, note: "the page changed the value that was entered, or removed the field"}, nil
	case !got.Focused:
		return entryResult{kept: true, stopped: true, note: "the page moved the focus from the field"}, nil
	}
	return entryResult{kept: true}, nil
}

// problem returns the error for a field in which a secret was not entered, or nil.
func (e *secretEntry) problem(ctx context.Context, got *secretEntryResult) error {
	finder, el := e.actor.finder, e.el.Element
	if got == nil {
		return finder.RemovedError(ctx, el)
	}
	denied := func(hint, format string, args ...any) error {
		return &executor.Error{Code: executor.ErrPolicyDenied, Rule: "secret-field", Err: fmt.Errorf(format, args...), Hint: hint}
	}
	switch got.Problem {
	case "":
		return nil
	case "origin":
		return denied("Take a snapshot to see where the page is.", "the document changed its origin; nothing was typed")
	case "limit":
		return executor.Errorf(executor.ErrNotActionable, "Ask the user to check the secret.", "%s accepts at most %d characters, and the secret has more; nothing was typed", finder.Describe(ctx, el), got.Limit)
	}
	others := ""
	if selectors := e.text.selectors(); !slices.Contains(selectors, "") {
		others = " and those that match " + strings.Join(slices.Compact(selectors), " and ")
	}
	return denied("Use the field for the password or the one-time code. Only the user can name other fields for a secret.",
		"a secret is typed only into fields for passwords and one-time codes%s, and %s is another field; nothing was typed", others, finder.Describe(ctx, el))
}
