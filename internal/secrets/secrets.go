// Package secrets stores the credentials that agents type without seeing them: passwords, TOTP
// seeds and user names, each bound to origins. Their values are in a file, in the keyring of the
// operating system or in 1Password. A [Vault] finds them, and masks the values that were read in
// the texts that leave the program.
//
// No value is read, and no other program is contacted, before a value is needed.
package secrets

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// A storedSecret is a secret in the file: the fields of one account.
type storedSecret struct {
	Name string `json:"name"`
	// Origins are the origins in whose documents the fields may be typed, as browsers serialize
	// them: "https://example.com".
	Origins []string               `json:"origins"`
	Fields  map[string]storedField `json:"fields"`
}

// A storedField is one field of a secret. Exactly one of Value, Keyring and OnePassword is set.
type storedField struct {
	Value       string `json:"value,omitempty"`
	Keyring     bool   `json:"keyring,omitempty"` // the value is in the keyring of the operating system
	OnePassword string `json:"op,omitempty"`      // the value's reference in 1Password: "op://vault/item/field"
	// Selector is a CSS selector of fields, in addition to those for passwords and one-time codes,
	// in which the value may be typed.
	Selector string `json:"selector,omitempty"`
}

// The fields with a meaning. All others are typed as they are.
const (
	FieldTOTP     = "totp"     // a seed; its current code is typed
	FieldUsername = "username" // masked only as a complete value
)

// MinLength is the minimum length of a value, in characters. Shorter ones cannot be masked without
// masking unrelated text.
const MinLength = 4

// maxLength is the maximum length of a value, in bytes.
const maxLength = 4 << 10

var (
	validName      = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	validReference = lazyregexp.New(`^op://[^/\x00-\x1f]+/[^\x00-\x1f]+$`)
)

// CheckName returns an error if s cannot be the name of a secret or a field.
func CheckName(s string) error {
	if !validName().MatchString(s) {
		return fmt.Errorf("%q is not a name: use lower-case letters, digits, - and _", s)
	}
	return nil
}

// CheckOrigin returns an error if s is not an origin as browsers serialize it, or if it is an http
// origin of another machine: any machine on the network could replace its pages.
func CheckOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || s != u.Scheme+"://"+u.Host {
		return fmt.Errorf("%q is not an origin such as https://example.com", s)
	}
	host, port := u.Hostname(), u.Port()
	isDefault := u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80"
	switch {
	case strings.ContainsAny(u.Host, "*"):
		return fmt.Errorf("origin %q is a pattern: name each origin", s)
	case host != strings.ToLower(host) || strings.ContainsFunc(host, func(r rune) bool { return r >= 0x7f }) || strings.HasSuffix(host, "."):
		return fmt.Errorf("origin %q is not written as browsers write it: in lower case, in punycode and without a final dot", s)
	case isDefault || strings.HasSuffix(u.Host, ":"):
		return fmt.Errorf("origin %q has the default port: omit it", s)
	case u.Scheme == "http" && !isLoopback(host):
		return fmt.Errorf("origin %q is not encrypted: http is allowed only for this machine", s)
	}
	return nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// check returns an error if the secret is invalid.
func (s *storedSecret) check() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	if len(s.Origins) == 0 {
		return fmt.Errorf("secret %s has no origin", s.Name)
	}
	for _, o := range s.Origins {
		if err := CheckOrigin(o); err != nil {
			return fmt.Errorf("secret %s: %w", s.Name, err)
		}
	}
	for name, f := range s.Fields {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("secret %s: %w", s.Name, err)
		}
		if err := f.check(name); err != nil {
			return fieldError(s.Name, name, err)
		}
	}
	return nil
}

func (f storedField) check(name string) error {
	sources := 0
	for _, set := range []bool{f.Value != "", f.Keyring, f.OnePassword != ""} {
		if set {
			sources++
		}
	}
	switch {
	case sources != 1:
		return errors.New("needs exactly one of value, keyring and op")
	case f.OnePassword != "" && !validReference().MatchString(f.OnePassword):
		return errors.New("has a reference that is not of the form op://vault/item/field")
	case f.Value != "":
		return CheckValue(name, f.Value)
	}
	return nil
}

// CheckValue returns an error if value cannot be the value of a field. The error does not contain it.
func CheckValue(field, value string) error {
	switch {
	case utf8.RuneCountInString(value) < MinLength:
		return fmt.Errorf("is shorter than %d characters, so it could not be masked in results", MinLength)
	case len(value) > maxLength:
		return fmt.Errorf("is longer than %d bytes", maxLength)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("contains a line break or another control character")
	case field == FieldTOTP:
		_, err := parseTOTP(value)
		return err
	}
	return nil
}
