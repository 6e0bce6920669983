package policy

import (
	"regexp"
	"testing"
)

// namedOption matches an option in a hint, and its value.
var namedOption = regexp.MustCompile(`Config\.(AllowDomains|AllowPrivate) (\S+?)\.?(?:\s|$)`)

// TestHintsAllow checks that a user who follows the hints of denials can open the URL, and that no
// hint names an option for a URL that no option allows.
func TestHintsAllow(t *testing.T) {
	for url, possible := range map[string]bool{
		"https://shop.example/":             true,
		"http://shop.example:8080/":         true,
		"http://localhost:3000/":            true,
		"http://10.0.0.5/":                  true,
		"http://100.64.0.1:8080/":           true,
		"http://[fd00::1]/":                 true,
		"http://[2001:db8::1]/":             true,
		"http://[4000::1]/":                 false, // neither public nor in a range that can be allowed
		"http://169.254.169.254/":           false,
		"https://metadata.google.internal/": false,
	} {
		c := Config{AllowDomains: []string{"other.example"}}
		for {
			_, err := mustNew(t, c).CheckURL(url)
			if err == nil {
				if !possible {
					t.Errorf("%s is allowed", url)
				}
				break
			}
			options := namedOption.FindAllStringSubmatch(denied(t, url, err).Hint, -1)
			for _, o := range options {
				if o[1] == "AllowDomains" {
					c.AllowDomains = append(c.AllowDomains, o[2])
				} else {
					c.AllowPrivate = append(c.AllowPrivate, o[2])
				}
			}
			if possible != (len(options) > 0) || len(c.AllowDomains)+len(c.AllowPrivate) > 4 {
				t.Errorf("%s with %q and %q: %v", url, c.AllowDomains, c.AllowPrivate, err)
			}
			if t.Failed() || len(options) == 0 {
				break
			}
		}
	}
}
