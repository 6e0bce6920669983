package page

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/network"
)

// Bounds of the headers that are kept of one side of a request.
const (
	maxHeaders     = 40
	maxHeaderValue = 300
)

// headersOf returns headers by their names in small letters, without secrets.
func headersOf(h network.Headers) map[string]string {
	kept := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(kept) == maxHeaders {
			break
		}
		value := fmt.Sprint(h[name])
		name = strings.ToLower(cutText(name, 60))
		if secretHeader(name) {
			value = fmt.Sprintf("(%d characters)", utf8.RuneCountInString(value))
		}
		kept[name] = cutText(value, maxHeaderValue)
	}
	return kept
}

// secretWords are what the names of headers have whose values let somebody in.
var secretWords = []string{"cookie", "auth", "token", "secret", "key", "session", "csrf", "xsrf", "password", "credential", "signature", "jwt"}

func secretHeader(name string) bool {
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// secretMember is a member of an object, as JSON and scripts write it, whose
// name says that its value lets somebody in. Headers may be hidden by less:
// nobody looks into them for what a page is about.
var secretMember = regexp.MustCompile(`(?i)("[\w-]*(?:password|passwd|secret|token|api_?key|private_?key|credential|authorization|jwt)[\w-]*"\s*:\s*)"((?:[^"\\]|\\.)*)"`)

// withoutSecrets returns the text of a body with the values of such members
// replaced by their length.
func withoutSecrets(body string) string {
	return secretMember.ReplaceAllStringFunc(body, func(member string) string {
		m := secretMember.FindStringSubmatch(member)
		return m[1] + fmt.Sprintf(`"(%d characters)"`, utf8.RuneCountInString(m[2]))
	})
}
