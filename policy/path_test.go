package policy

import (
	"math/rand/v2"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// pathPieces are the parts of the paths of FuzzPath.
var pathPieces = []string{
	"/", "/", "/", "admin", "adm", "in", "ADMIN", "a", "x", "..", ".", "%2e", "%2E", "%2f", "%2F", "%5c", "%25", "2f", "5c", "2e", "61", "%61", "%", "%2",
	";", ";a=b", "%3b", ":", "%3a", "%20", "%00", "%09", "%0a", "+", "~", "@", "%c0%af", "%c0%ae", "%e0%80%af", "%80", "%c3", "%c3%a9", "%e6%97%a5", "%ff",
	"%c4%b1", "%e2%84%aa", "%ef%bd%81", "%ef%bc%8f", "%ef%bc%8e", "%e2%80%a5", "%e2%80%8c", "%ef%bb%bf", "%u0061", "%f0%9f%98%80", "dmin",
}

// pathReadings are steps of path processing in servers.
var pathReadings = map[string]func(string) string{
	"decode": func(s string) string {
		out := regexp.MustCompile("%[0-9a-fA-F]{2}").ReplaceAllStringFunc(s, func(e string) string {
			dec, _ := url.PathUnescape(e)
			return dec
		})
		return out
	},
	"IIS escapes": func(s string) string {
		return strings.ReplaceAll(s, "%u0061", "a")
	},
	"backslashes":   func(s string) string { return strings.ReplaceAll(s, `\`, "/") },
	"merge slashes": func(s string) string { return regexp.MustCompile("/+").ReplaceAllString(s, "/") },
	"path.Clean": func(s string) string {
		if clean := path.Clean(s); strings.HasSuffix(s, "/") && clean != "/" {
			return clean + "/"
		} else {
			return clean
		}
	},
	"remove_dot_segments": func(s string) string { // RFC 3986, which leaves empty segments
		var out []string
		for segment := range strings.SplitSeq(s, "/") {
			switch {
			case segment == ".":
			case segment == ".." && len(out) > 1:
				out = out[:len(out)-1]
			case segment == "..":
			default:
				out = append(out, segment)
			}
		}
		return strings.Join(out, "/")
	},
	"parameters": func(s string) string { return regexp.MustCompile(";[^/]*").ReplaceAllString(s, "") },
	"streams":    func(s string) string { return regexp.MustCompile(":[^/]*").ReplaceAllString(s, "") },
	"trailing dots": func(s string) string {
		return regexp.MustCompile(`([^/.])[. ]+(/|$)`).ReplaceAllString(s, "$1$2")
	},
	"NUL ends":   func(s string) string { before, _, _ := strings.Cut(s, "\x00"); return before },
	"NUL absent": func(s string) string { return strings.ReplaceAll(s, "\x00", "") },
	"overlong": func(s string) string {
		return strings.NewReplacer("\xc0\xaf", "/", "\xc0\xae", ".", "\xe0\x80\xaf", "/").Replace(s)
	},
	"malformed absent": func(s string) string { return strings.ToValidUTF8(s, "") },
	"ignored absent":   func(s string) string { return strings.NewReplacer("\u200c", "", "\ufeff", "").Replace(s) },
	"compatible": func(s string) string {
		return strings.NewReplacer("\uff41", "a", "\uff0f", "/", "\uff0e", ".", "\u2025", "..").Replace(s)
	},
	"upper case": func(s string) string {
		if !utf8.ValidString(s) {
			return s
		}
		return strings.ToUpper(s)
	},
	"spaces": strings.TrimSpace,
}

// readings returns the paths that servers may read p as, for any order of steps,
// up to a limit.
func readings(p string) map[string]string {
	all := map[string]string{p: "as it is"}
	for list := []string{p}; len(list) > 0 && len(all) < 300; list = list[1:] {
		for name, step := range pathReadings {
			s := step(list[0])
			if _, ok := all[s]; !ok {
				all[s] = all[list[0]] + ", " + name
				list = append(list, s)
			}
		}
	}
	return all
}

func checkReadings(t *testing.T, p string) {
	t.Helper()
	for _, prefix := range []string{"/admin", "/x/admin", "/a/x"} {
		pattern, err := ParsePattern("example.com" + prefix)
		if err != nil {
			t.Fatal(err)
		}
		if pattern.denies(site{scheme: "https", host: "example.com", port: 443, path: p}, true) {
			continue
		}
		for reading, how := range readings(p) {
			if len(reading) >= len(prefix) && strings.EqualFold(reading[:len(prefix)], prefix) {
				t.Errorf("%q is not denied with the prefix %s, and is %q by: %s", p, prefix, reading, how)
				break
			}
		}
	}
}

// FuzzPath checks that a path is denied if any server may read it as a path below a
// denied prefix. Each byte selects a piece of the path.
func FuzzPath(f *testing.F) {
	f.Add("")
	f.Add("\x1c7\x03") // "/%3a/admin": a stream without a file
	for i := range len(pathPieces) {
		f.Add("\x07" + string(rune(i)) + "\x00\x03")
	}
	f.Fuzz(func(t *testing.T, pieces string) {
		var b strings.Builder
		b.WriteByte('/')
		for _, c := range []byte(pieces[:min(len(pieces), 12)]) {
			b.WriteString(pathPieces[int(c)%len(pathPieces)])
		}
		checkReadings(t, b.String())
	})
}

func TestPathReadings(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		p := "/"
		for range 1 + r.IntN(8) {
			p += pathPieces[r.IntN(len(pathPieces))]
		}
		checkReadings(t, p)
		if t.Failed() {
			return
		}
	}
}

// TestPathExpressions checks that the extension has the same expressions.
func TestPathExpressions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "extension", "paths.js"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(e string) string { return "'" + strings.ReplaceAll(e, `\`, `\\`) + "'" }
	for _, e := range append([]string{between}, ambiguousPaths...) {
		if !strings.Contains(string(data), quoted(e)) {
			t.Errorf("paths.js lacks %s", quoted(e))
		}
	}
	if n := strings.Count(string(data), "\n  '"); n != len(ambiguousPaths) {
		t.Errorf("paths.js has %d expressions, want %d", n, len(ambiguousPaths))
	}
}
