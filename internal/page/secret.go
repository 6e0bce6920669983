package page

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/entered"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// maskedFields finds the fields of a tab whose contents a client must not see.
type maskedFields struct {
	client  *frames.Client
	group   *openerGroup    // of the tab
	entered *entered.Values // of the tab
}

// checkPrint returns an error if a field of the tab has a secret, or if the user entered something in
// one of its documents while it was handed over.
func (f maskedFields) checkPrint(ctx context.Context) error {
	fields, err := f.all(ctx)
	if err != nil {
		return err
	}
	if f.group.hasSecret() && len(fields) > 0 {
		return &executor.Error{Code: executor.ErrPolicyDenied, Rule: afterSecret, Hint: hintNoPDF,
			Err: errors.New("a field of the page has a secret, and a PDF would show it")}
	}
	if len(fields) > 0 || len(f.entered.Of(f.client.Tree.Documents())) > 0 {
		return executor.Errorf(executor.ErrPolicyDenied, hintNoPDF, "the user entered something in the page while it was handed over, and a PDF would show it")
	}
	return nil
}

// hintNoPDF is the hint of errors about pages of which a client gets no PDF.
const hintNoPDF = "Take a screenshot instead, which hides the fields, or read the page as markdown."

// all returns the text fields in which a secret was entered, or in which the user entered something,
// and those to which the page has copied it.
func (f maskedFields) all(ctx context.Context) ([]*elements.Element, error) {
	if !f.group.hasSecret() && !f.group.wasHandedOver() {
		return nil, nil
	}
	var list []*elements.Element
	for _, d := range f.client.Allowed(ctx, executor.OpRead) {
		var ids []int
		if err := d.Call(ctx, &ids, "keptFields"); err != nil {
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
// was typed in a page of the group: with many selectors, a client could find out the secret
// character by character. An XPath expression can name the attribute in many ways, so it may test
// no attribute.
func (g *openerGroup) checkSelector(selector string) error {
	if !g.hasSecret() {
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
