package policy

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Denied paths. Servers read a path in different ways: they decode it once or
// twice, merge slashes, resolve dot segments, remove parameters. We cannot know
// all of them. So on a host with a denied path, ambiguous paths, which servers may
// read differently, are denied. All other paths are compared with the prefix.
//
// Both checks are regular expressions, so that decisions about documents and the
// DNR rules of the extension are the same. extension/paths.js has the same
// expressions. internal/wire/testdata/patterns.json has test cases for both.

// ambiguousPaths are expressions that match ambiguous paths from the start of the
// path.
var ambiguousPaths = []string{
	// An incomplete escape, or an escape of a control character, of an unreserved
	// character, or of one of / \ % ;
	`/[^?#]*%(?:.?(?:[^0-9a-f]|$)|[01]|2[5def]|3[0-9b]|[46][^0]|5[0-9acf]|7[0-9aef])`,
	// Characters that browsers escape, and the backslash.
	`/[^?#]*[^!-\[\]-~]`,
	// A dot segment, optionally with a parameter or a space.
	`(?:/[^?#]*)?/\.(?:[./;:]|%20|%3a|$)`,
	// Malformed UTF-8: overlong, outside Unicode, ...
	`/[^?#]*%(?:c[01]|f[5-f]|e0%[89]|ed%[ab]|f0%8|f4%[9ab])`,
	// ... with too few bytes ...
	`/[^?#]*%(?:[c-f].|[ef].%..|f.%..%..)(?:[^%]|%[^89ab]|$)`,
	// ... or with too many.
	`/(?:[^?#]?[^?#]?|[^?#]*(?:[^%?#][^?#][^?#]|%[0-7].))%[89ab]`,
	`/[^?#]*%(?:[cd].|e.%..|f.%..%..)%..%[89ab]`,
	// Characters that some servers map to ASCII: i, s and k by case mapping ...
	`/[^?#]*%(?:c4%b[01]|c5%bf|e2%84%aa)`,
	// ... dots and slashes, and full-width forms.
	`/[^?#]*%(?:e2%(?:80%a[45]|81%84|88%9[56])|ef%b(?:c%(?:85|8[d-f]|9[0-9b]|[ab])|d%[89]))`,
	// Characters that some file systems ignore, after ASCII.
	`/(?:[^?#]?[^?#]?|[^?#]*(?:[^%?#][^?#][^?#]|%[0-7].))%(?:c2%ad|e2%8(?:0%(?:8[b-f]|a[a-e])|1%a)|ef%bb%bf)`,
}

// between matches the text between two segments: slashes, and dots, spaces and
// parameters that some servers remove from the end of a segment.
const between = `(?:(?:\.|%20)*(?:(?:[;:]|%3a)[^/?#]*)?/)`

var ambiguous = sync.OnceValue(func() []*regexp.Regexp {
	var list []*regexp.Regexp
	for _, expression := range ambiguousPaths {
		list = append(list, regexp.MustCompile("(?i)^"+expression))
	}
	return list
})

// isAmbiguous reports whether servers may read path in more than one way.
func isAmbiguous(path string) bool {
	for _, e := range ambiguous() {
		if e.MatchString(path) {
			return true
		}
	}
	return false
}

// below returns the expression that matches the unambiguous paths below a denied prefix.
func below(prefix string) string {
	segments := strings.Split(prefix[1:], "/")
	for i, segment := range segments {
		var b strings.Builder
		for _, c := range []byte(segment) {
			switch plain := regexp.QuoteMeta(string(rune(c))); {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._~-", c) >= 0:
				b.WriteString(plain)
			default:
				fmt.Fprintf(&b, "(?:%s|%%%02x)", plain, c)
			}
		}
		segments[i] = b.String()
	}
	return "/" + between + "*" + strings.Join(segments, between+"+")
}
