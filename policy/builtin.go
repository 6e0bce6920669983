package policy

import "sync"

// builtinBlocks lists the hosts that no policy allows. Schemes need no list: only http and https
// are allowed.
var builtinBlocks = sync.OnceValue(func() (out []builtinBlock) {
	for _, b := range []struct{ pattern, what string }{
		{"chromewebstore.google.com", "a browser's extension store"},
		{"chrome.google.com/webstore", "a browser's extension store"},
		{"microsoftedge.microsoft.com/addons", "a browser's extension store"},
		{"addons.opera.com", "a browser's extension store"},
		{"metadata.google.internal", "a cloud metadata service"},
		{"metadata.goog", "a cloud metadata service"},
		{"metadata", "a cloud metadata service"},
		{"instance-data", "a cloud metadata service"},
		{"instance-data.ec2.internal", "a cloud metadata service"},
	} {
		p, err := ParsePattern(b.pattern)
		if err != nil {
			panic("policy: built-in block " + b.pattern + ": " + err.Error())
		}
		out = append(out, builtinBlock{p, b.what})
	}
	return out
})

type builtinBlock struct {
	pattern Pattern
	what    string
}

func builtin(s site, matchIfPathUnknown bool) error {
	if s.addr.IsValid() {
		if isMetadata(s.addr) {
			return deniedBuiltin(s.host, "a cloud metadata service")
		}
		return nil
	}
	for _, b := range builtinBlocks() {
		if b.pattern.denies(s, matchIfPathUnknown) {
			return deniedBuiltin(s.host, b.what)
		}
	}
	return nil
}
