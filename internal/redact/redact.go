// Package redact removes secrets from text that a page wrote, read or requested.
package redact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/network"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// maxHeaders and maxHeaderValue limit the number of headers that are stored for a request or a
// response, and the characters of each value.
const (
	maxHeaders     = 40
	maxHeaderValue = 300
)

// Headers returns headers by their lower-case names, without secrets.
func Headers(h network.Headers) map[string]string {
	kept := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(kept) == maxHeaders {
			break
		}
		value := fmt.Sprint(h[name])
		name = strings.ToLower(pagetext.Truncate(name, 60))
		if secretHeader(name) {
			value = fmt.Sprintf("(%d characters)", utf8.RuneCountInString(value))
		}
		kept[name] = pagetext.Truncate(Secrets(value), maxHeaderValue)
	}
	return kept
}

// secretHeaderWords are parts of the names of headers whose values grant access.
var secretHeaderWords = []string{"cookie", "auth", "token", "secret", "key", "session", "csrf", "xsrf", "password", "credential", "signature", "jwt"}

// secretHeader reports whether the header with a lower-case name contains a secret.
func secretHeader(name string) bool {
	return slices.ContainsFunc(secretHeaderWords, func(w string) bool { return strings.Contains(name, w) })
}

// secretName is a pattern for a part of the names of values that grant access.
const secretName = `(?:password|passwd|pwd|secret|token|api_?key|private_?key|credential|authorization|jwt)`

// cardName is a pattern for the names of payment card data, such as the card number.
const cardName = `(?:(?:card|cc)[-_]?(?:number|num|no|cvv|cvc|csc)|card|pan|cvv2?|cvc2?|csc)`

// hidden replaces a secret whose surrounding text is kept.
const hidden = "(hidden)"

var (
	// secretMember matches an object member, in the syntax of JSON and JavaScript, whose name shows
	// that its value grants access. Headers may be redacted by a broader rule, because they do not
	// contain the content of a page.
	secretMember = lazyregexp.New(`(?i)("(?:[\w-]*` + secretName + `[\w-]*|` + cardName + `)"\s*:\s*)(?:"((?:[^"\\]|\\.)*)"|(\d{3,}))`)
	// secretParameter matches a parameter of a URL or a form by its name.
	secretParameter = lazyregexp.New(`(?i)([?&#;]` + `(?:[\w.-]*` + secretName + `[\w.-]*|` + cardName + `|auth|sig|signature|session(?:_?id)?|sid)=)([^&#;\s"'<>()\\]+)`)
	// secretScheme matches a credential in the format of the Authorization header.
	secretScheme = lazyregexp.New(`(?i)\b(bearer|basic)(\s+|%20)[\w.~+/=-]{8,}`)
	// secretJWT matches a JSON Web Token.
	secretJWT = lazyregexp.New(`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`)
)

// Secrets replaces the values that grant access in text that a page wrote, read or requested. It
// recognizes them by their format or their name.
func Secrets(text string) string {
	text = secretMember().ReplaceAllStringFunc(text, func(member string) string {
		m := secretMember().FindStringSubmatch(member)
		return m[1] + fmt.Sprintf(`"(%d characters)"`, utf8.RuneCountInString(m[2]+m[3]))
	})
	text = secretParameter().ReplaceAllString(text, "${1}"+hidden)
	text = secretScheme().ReplaceAllString(text, "${1}${2}"+hidden)
	return secretJWT().ReplaceAllString(text, hidden)
}

// FieldValues masks the values of password and payment card fields in HTML, as the page scripts
// mask them (js/secret_fields.js).
func FieldValues(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	z := html.NewTokenizer(strings.NewReader(text))
	var b strings.Builder
	masked := false // inside a secret textarea
	for {
		kind := z.Next()
		raw := z.Raw()
		if kind == html.ErrorToken {
			b.Write(raw)
			return b.String()
		}
		raw = slices.Clone(raw)
		token := z.Token()
		field := token.DataAtom == atom.Input || token.DataAtom == atom.Textarea
		switch {
		case kind == html.TextToken && masked:
			b.WriteString(FieldMask)
		case field && (kind == html.StartTagToken || kind == html.SelfClosingTagToken) && secretField(token):
			masked = token.DataAtom == atom.Textarea
			for i, a := range token.Attr {
				if a.Key == "value" && a.Val != "" {
					token.Attr[i].Val = FieldMask
				}
			}
			b.WriteString(token.String())
		default:
			masked = masked && kind != html.EndTagToken
			b.Write(raw)
		}
	}
}

// FieldMask is what the page scripts return instead of a secret value.
const FieldMask = "••••"

var (
	secretAutocomplete = lazyregexp.New(`(?i)(^|\s)(cc-[a-z-]+|one-time-code|current-password|new-password)(\s|$)`)
	secretFieldName    = lazyregexp.New(`(?i)(password|passwd|pwd)\d?$|(card|cc)[-_ ]?(number|num|no|pin)\b|\b(cvv2?|cvc2?|csc|cvn|ccv)\b|card[-_ ]?(security|verification|code)|security[-_ ]?code|(cc|card)[-_ ]?exp|^(your |card |bank )?pin([-_ ]?(code|number))?$`)
	camelCase          = lazyregexp.New(`([a-z])([A-Z])`)
)

// secretField reports whether the value of a field is a secret.
func secretField(token html.Token) bool {
	attr := make(map[string]string)
	for _, a := range token.Attr {
		attr[a.Key] = a.Val
	}
	switch strings.ToLower(attr["type"]) {
	case "password":
		return true
	case "", "text", "tel", "number", "month", "hidden":
	default:
		return secretAutocomplete().MatchString(attr["autocomplete"])
	}
	return secretAutocomplete().MatchString(attr["autocomplete"]) || slices.ContainsFunc([]string{"name", "id", "placeholder", "aria-label"}, func(name string) bool {
		return secretFieldName().MatchString(camelCase().ReplaceAllString(attr[name], "$1 $2"))
	})
}
