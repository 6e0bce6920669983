package policy

import (
	"math/rand/v2"
	"strings"
)

// A urlGrammar generates URLs that parsers read differently. It combines parts, each of which is
// unusual or canonical, and then mutates some of the URLs. The same seed generates the same URLs.
type urlGrammar struct {
	*rand.Rand
	hosts []string // allowed hosts with their ports
	traps []string // complete URLs to mutate
}

func newURLGrammar(seed uint64, hosts, traps []string) *urlGrammar {
	return &urlGrammar{rand.New(rand.NewPCG(seed, 0)), hosts, traps}
}

var (
	grammarSchemes = []string{"http", "https", "HTTP", "hTTps", "http\t", "ht\ntp", " http", "\x01https", "ws", "wss", "ftp", "file", "blob:http", "blob:https",
		"view-source:http", "javascript", "data", "filesystem:http", "about", "feed:http", "//http", "http:http", "https:http", "x", "http+x", "ｈttp", "http\x00", ""}
	grammarSlashes = []string{"://", ":/", ":", ":///", ":////", ":\\\\", ":/\\", ":\\/", ":\t//", ":/\n/", ":// ", "//", "/", ":%2f%2f", "：//", ":／／", ""}
	grammarUsers   = []string{"a@", "a:b@", "@", ":@", "a:b:c@", "a@b@", "example.com@", "example.com:443@", "evil.com@", "a%40b@", "example.com#@", "example.com?@",
		"example.com/@", "example.com\\@", "example.com%00@", "example.com%2f@", "example.com;@", "example.com&@", "\t@", "a b@"}
	grammarHosts = []string{"evil.com", "sub.evil.com", "example.com.evil.com", "evilexample.com", "example.comevil.com", "EXAMPLE.COM", "example.com.", "evil.com.", "evil.com..",
		"example%2ecom", "ex%61mple.com", "%65%76il.com", "evil.com%00.example.com", "evil.com%2f.example.com", "evil.com%23.example.com", "evil.com\t.example.com",
		"example。com", "example．com", "ｅxample.com", "evil｡com", "exam\u00adple.com", "exam\u200bple.com", "\u202eexample.com", "exämple.com", "еxample.com", "ß.example.com",
		"xn--exmple-cua.com", "xn--a", "xn--", "xn--example.com", "XN--EXMPLE-CUA.com", "-example.com", "example-.com", "a_b.example.com", "ex--ample.com",
		"127.1", "127.0.1", "0x7f000001", "0x7F.1", "017700000001", "2130706433", "127.0.0.1.", "127.0.0.01", "0177.0.0.1", "0", "0x", "0.0.0.0", "256.0.0.1", "1.2.3.4.5", "4294967295",
		"4294967296", "0xA9FEA9FE", "169.254.169.254", "169.254.43518", "2852039166", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "①②⑦.⓪.⓪.①", "１２７.0.0.1",
		"10.0.0.1", "192.168.1.1", "0xC0A80101", "100.64.0.1", "[::1]", "[::1%25lo]", "[::1%lo]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::7f00:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::1", "::1]", "[]", "[v1.x]", "[::1].example.com", "[fe80::1]", "[FE80::1]",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.evil.com", "localhost%00", "lo\tcalhost", "metadata", "metadata.google.internal", "chromewebstore.google.com",
		"a.0x1", "a.1", "a.1.", "a.0x", "", ".", "..", ".com", "com", "*.example.com", "example.com,evil.com", "example.com;evil.com", "example.com|evil.com",
		"example.com^evil.com", "example.com`evil.com", "example.com'evil.com", "example.com~evil.com", "example.com!evil.com", "example.com$evil.com", "example.com<evil.com", "example.com{}",
		"example.com\uff0fevil.com", "example.com\uff03evil.com", "example.com\uff1fevil.com", "example.com\uff20evil.com", "example.com\uff3cevil.com", "example.com\u2100evil.com", "example.com\uff1a80",
		"\xffexample.com", "example\xc0\xae.com"}
	grammarPorts = []string{":80", ":443", ":8080", ":8443", ":0", ":00080", ":65535", ":65536", ":99999999999", ":-1", ":+80", ":80a", ":a", ":", "::", ":80:80", ":8_0", ":０80", ":%38%30", ":80 ",
		":80\t", ": 80", ":80\\", ":80@evil.com", ":@evil.com", ":80#@evil.com", ":0x50", ":1e3"}
	grammarTails = []string{"", "/", "/a/b?c=d#e", "/..", "/../../evil.com", "//evil.com/", "/\\evil.com", "\\evil.com", "\\@evil.com", "/@evil.com", "?@evil.com", "#@evil.com", "?", "#", "/?#", "/#?",
		"/%2e%2e/", "/%2E./x", "/.%2e", "/a/./b", "/%", "/%zz", "/%00", "/\x00", "/\t", "/ a", "/a ", "/é", "/\xff", "/|", "/^", "/`", "/{}", "/<>", "/\"", "/'", "/?'", "/?\"", "/?<", "/?`", "/?{}", "/#<",
		"/#`", "/?é", "/#é", "/;a=b", "/a;http://evil.com", "/http://evil.com", "/?http://evil.com/", "/private", "/PRIVATE/x", "/%70rivate", "//private", "/.\\private", "\r\nHost: evil.com"}
	grammarChars = []rune("/\\:@?#.%[]&;=,!$'\"<>^`|{}~*+-_ 0aAzx7eE\t\n\r\x00\x01\x1f\x7f\u00a0\u00ad\u200b\u200d\u2028\u202e\u3002\uff0e\uff0f\uff1a\uff20\ufeff\ufffdéß\U0001f600")
)

// next returns another URL.
func (g *urlGrammar) next() string {
	var s string
	switch g.IntN(10) {
	case 0, 1:
		s = pick(g, g.traps)
	case 2, 3:
		// Canonical except for one part.
		parts := []string{pick(g, []string{"http", "https"}), "://", "", pick(g, g.hosts), "", "/"}
		i := g.IntN(len(parts))
		parts[i] = pick(g, [][]string{grammarSchemes, grammarSlashes, grammarUsers, grammarHosts, grammarPorts, grammarTails}[i])
		s = strings.Join(parts, "")
	case 4:
		// Canonical, with an arbitrary path.
		return pick(g, []string{"http://", "https://"}) + pick(g, g.hosts) + g.path()
	default:
		s = pick(g, grammarSchemes[:2+g.IntN(len(grammarSchemes)-1)]) + pick(g, grammarSlashes[:1+g.IntN(len(grammarSlashes))])
		if g.IntN(3) == 0 {
			s += pick(g, grammarUsers)
		}
		if g.IntN(2) == 0 {
			s += pick(g, g.hosts)
		} else {
			s += pick(g, grammarHosts)
		}
		if g.IntN(3) == 0 {
			s += pick(g, grammarPorts)
		}
		s += pick(g, grammarTails)
	}
	for range max(0, g.IntN(5)-1) {
		s = g.mutate(s)
	}
	return s
}

// path returns a path of printable ASCII.
func (g *urlGrammar) path() string {
	b := []byte("/")
	for range g.IntN(12) {
		b = append(b, byte(0x21+g.IntN(0x5e)))
	}
	return string(b)
}

// mutate changes s at one position.
func (g *urlGrammar) mutate(s string) string {
	r := []rune(s)
	i := g.IntN(len(r) + 1)
	if g.IntN(2) == 0 {
		i = min(i, 24) // near the host
	}
	j := min(len(r), i+g.IntN(4))
	switch g.IntN(7) {
	case 0, 1: // insert
		return string(r[:i]) + string(pick(g, grammarChars)) + string(r[i:])
	case 2: // replace
		return string(r[:i]) + string(pick(g, grammarChars)) + string(r[j:])
	case 3: // delete
		return string(r[:i]) + string(r[j:])
	case 4: // duplicate
		return string(r[:j]) + string(r[i:])
	case 5: // change the case, or encode
		if g.IntN(2) == 0 {
			return string(r[:i]) + strings.ToUpper(string(r[i:j])) + string(r[j:])
		}
		var b strings.Builder
		for _, c := range []byte(string(r[i:j])) {
			b.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789abcdef"[c&15]))
		}
		return string(r[:i]) + b.String() + string(r[j:])
	}
	other := []rune(pick(g, g.traps)) // splice
	return string(r[:i]) + string(other[g.IntN(len(other)+1):])
}

func pick[T any](g *urlGrammar, list []T) T { return list[g.IntN(len(list))] }
