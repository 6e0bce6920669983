package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
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

// secretText finds the secrets whose placeholders a text contains.
func (v *View) secretText(ctx context.Context, text string) (*secretText, error) {
	t := &secretText{plain: text}
	if v.opts.Secrets == nil {
		return t, nil
	}
	var plain strings.Builder
	var unknown []string
	for _, p := range secrets.Parse(text) {
		part := secretPart{text: p.Text}
		if p.Name != "" {
			found, ok, err := v.opts.Secrets.Find(ctx, p.Name, p.Field)
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

// A secretEntry is the result of checkSecretField and enterSecret of js/secret_entry.js.
type secretEntry struct {
	Problem string `json:"problem"` // why the text was not entered; see secretProblem
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

// enterSecret enters a text with secrets into the field of el, which accepts text. It checks the
// field first, and again in the same task of the same document in which the text is entered: if the
// document was replaced or the field changed in between, nothing is entered.
//
// The text is not sent as input: the browser would send it to the element that has the focus when
// it arrives.
func (v *View) enterSecret(ctx context.Context, el *elements.Element, t *secretText, clear bool) (entryResult, error) {
	var none entryResult
	if err := t.checkOrigin(el.Doc); err != nil {
		return none, err
	}
	opts := secretEntryOptions{Origin: el.Doc.Origin, Selectors: t.selectors(), Clear: clear}
	var got *secretEntry
	if err := v.elements.Call(ctx, el, &got, "checkSecretField", el.ID, opts); err != nil {
		return none, v.elements.Removed(ctx, el, err)
	}
	if err := v.secretProblem(ctx, el, t, got); err != nil {
		return none, err
	}
	cancelSecret, err := v.tab.openerGroup.beginSecret()
	if err != nil {
		return none, err
	}
	text, err := t.value(ctx)
	if err != nil {
		cancelSecret()
		return none, err
	}
	ctx, cancel := deadline.Extend(ctx, v.tab.timing.Script)
	defer cancel()
	got = nil
	// After an error of this call, the secret may be in the field: cancelSecret is not called.
	err = v.elements.Call(ctx, el, &got, "enterSecret", el.ID, opts, text)
	switch {
	case errors.Is(err, executor.ErrDialogOpen):
		return entryResult{kept: true, stopped: true}, nil // the page's handler of the input opened it
	case err != nil:
		return none, v.elements.Removed(ctx, el, err)
	}
	if err := v.secretProblem(ctx, el, t, got); err != nil {
		cancelSecret()
		return none, err
	}
	switch {
	case !got.Kept:
		return entryResult{kept: false, stopped: !got.Focused, note: "the page changed the value that was entered, or removed the field"}, nil
	case !got.Focused:
		return entryResult{kept: true, stopped: true, note: "the page moved the focus from the field"}, nil
	}
	return entryResult{kept: true}, nil
}

// fillSecret enters a text with secrets into the field of el.
func (v *View) fillSecret(ctx context.Context, el *element, t *secretText) (note string, err error) {
	if _, err := v.waitActionable(ctx, el, actionabilityOptions{Editable: true, Field: true}); err != nil {
		return "", err
	}
	got, err := v.enterSecret(ctx, el.Element, t, true)
	if err == nil && !got.kept {
		err = &executor.Error{Code: executor.ErrNotActionable, Err: errors.New(got.note), Hint: "Take a snapshot to see what the page did."}
	}
	return joinNotes(t.note, got.note), err
}

// secretFields returns the fields of the tab in which a secret was entered.
func (v *View) secretFields(ctx context.Context) ([]*elements.Element, error) {
	if !v.tab.openerGroup.hasSecret() {
		return nil, nil
	}
	return v.fieldsOf(ctx, "secretFields")
}

// maskedFields returns the fields of the tab in which a secret was entered, or a text of the user.
func (v *View) maskedFields(ctx context.Context) ([]*elements.Element, error) {
	fields, err := v.secretFields(ctx)
	if err != nil {
		return nil, err
	}
	entered, err := v.enteredTextFields(ctx)
	return append(fields, entered...), err
}

// checkPrint returns an error if a secret was entered in a field of the tab.
func (v *View) checkPrint(ctx context.Context) error {
	fields, err := v.secretFields(ctx)
	if err == nil && len(fields) > 0 {
		err = afterSecretError("a PDF, which would show it, is")
	}
	return err
}

// fieldsOf returns the fields whose ids a function of the page scripts returns.
func (v *View) fieldsOf(ctx context.Context, function string) ([]*elements.Element, error) {
	var list []*elements.Element
	for _, d := range v.client.Allowed(ctx, executor.OpRead) {
		var ids []int
		if err := d.Call(ctx, &ids, function); err != nil {
			if errors.Is(err, frames.ErrDocumentGone) && !d.IsTop() {
				continue
			}
			return nil, err
		}
		for _, id := range ids {
			list = append(list, &elements.Element{Doc: d, ID: id})
		}
	}
	return list, nil
}

// secretProblem returns the error for a field in which a secret was not entered, or nil.
func (v *View) secretProblem(ctx context.Context, el *elements.Element, t *secretText, got *secretEntry) error {
	if got == nil {
		return v.elements.RemovedError(ctx, el)
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
		return executor.Errorf(executor.ErrNotActionable, "Ask the user to check the secret.", "%s accepts at most %d characters, and the secret has more; nothing was typed", v.elements.Describe(ctx, el), got.Limit)
	}
	others := ""
	if selectors := t.selectors(); !slices.Contains(selectors, "") {
		others = " and those that match " + strings.Join(slices.Compact(selectors), " and ")
	}
	return denied("Use the field for the password or the one-time code. Only the user can name other fields for a secret.",
		"a secret is typed only into fields for passwords and one-time codes%s, and %s is another field; nothing was typed", others, v.elements.Describe(ctx, el))
}

// valueSelector matches a condition of a selector on the attribute that frameworks set to the value
// of a field.
var valueSelector = lazyregexp.New(`(?i)\[\s*(?:[\w*-]*\|)?value\s*[~|^$*]?=`)

// cssEscape matches an escape of CSS, and a comment.
var cssEscape = lazyregexp.New(`\\(?:[0-9a-fA-F]{1,6}\s?|.)|/\*[\s\S]*?\*/`)

// xpathSelector matches what every selector with an XPath expression contains, and xpathAttribute
// what every XPath expression that selects attributes contains.
var (
	xpathSelector  = lazyregexp.New(`(?i)xpath|//|\.\.`)
	xpathAttribute = lazyregexp.New(`@|attribute\s*::`)
)

// checkSelector returns ErrPolicyDenied for a selector that tests the value of fields if a secret
// was typed in the tab: with many selectors, a client could find out the secret character by
// character. An XPath expression can name the attribute in many ways, so it may test no attribute.
func (v *View) checkSelector(selector string) error {
	if !v.tab.openerGroup.hasSecret() {
		return nil
	}
	if xpathSelector().MatchString(selector) && xpathAttribute().MatchString(selector) {
		return afterSecretError("an XPath selector that tests attributes is")
	}
	plain := cssEscape().ReplaceAllStringFunc(selector, func(s string) string {
		if strings.HasPrefix(s, "/") {
			return ""
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(s[1:]), 16, 32); err == nil {
			return string(rune(n))
		}
		return s[1:]
	})
	if valueSelector().MatchString(plain) {
		return afterSecretError("a selector that tests the value of a field is")
	}
	return nil
}

// afterSecret is the rule of what is denied after a secret was typed.
const afterSecret = "after-secret"

// afterSecretError returns the error for an operation that is denied after a secret was typed. what
// is the operation and the verb "is" or "are".
func afterSecretError(what string) error {
	return &executor.Error{Code: executor.ErrPolicyDenied, Rule: afterSecret,
		Err:  fmt.Errorf("a secret was typed in this tab or one that is related to it, so %s not allowed there until these tabs are closed", what),
		Hint: "Read the page with a snapshot, or use a new tab."}
}
