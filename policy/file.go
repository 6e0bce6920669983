package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxFile limits a policy file, in bytes.
const maxFile = 1 << 20

// ParseFile reads a policy file: one JSON object with the keys allow_domains,
// block_domains, all_domains, enable_mutations, enable_downloads,
// enable_eval, enable_storage, clipboard, state_dir, uploads_dir, subresources, subresource_domains
// and allow_private. All keys are optional. The corresponding fields of [Config] describe them.
//
// Unknown keys, duplicate keys, values of a wrong type (including null) and invalid patterns are
// errors, each with file, line and reason:
//
//	policy.json:4: allow_domains[1]: "*.com" is a public suffix: unrelated sites share it
//
// On Unix, a file that users other than the current user and root can change or replace is an
// error.
func ParseFile(name string) (Config, error) {
	data, err := owneronly.ReadTrusted(name, maxFile)
	if err != nil {
		return Config{}, err // contains the file name
	}
	return parseConfig(name, data)
}

// parseConfig parses the text of a policy file. name is the file name for errors.
func parseConfig(name string, data []byte) (Config, error) {
	d := &fileDecoder{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	d.dec.UseNumber()
	c, err := d.config()
	if err != nil {
		return Config{}, fmt.Errorf("%s:%d: %w", name, d.line(), err)
	}
	return c, nil
}

// A fileDecoder reads the tokens of a policy file. Decoding into a struct would accept duplicate
// keys and keys in another case.
type fileDecoder struct {
	data []byte
	dec  *json.Decoder
	at   int64 // offset that an error is about; 0 means the offset of dec
}

func (d *fileDecoder) line() int {
	at := d.at
	if at == 0 {
		at = d.dec.InputOffset()
	}
	return 1 + bytes.Count(d.data[:min(int(at), len(d.data))], []byte("\n"))
}

func (d *fileDecoder) token() (json.Token, error) {
	t, err := d.dec.Token()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		d.at = syntax.Offset
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		d.at = int64(len(d.data))
		return nil, errors.New("is not JSON: unexpected end")
	}
	return t, err
}

func (d *fileDecoder) config() (Config, error) {
	var c Config
	fields := map[string]func(key string) error{
		"allow_domains":       d.strings(&c.AllowDomains, checkPattern),
		"block_domains":       d.strings(&c.BlockDomains, checkPattern),
		"subresource_domains": d.strings(&c.SubresourceDomains, checkPattern),
		"allow_private":       d.strings(&c.AllowPrivate, checkPrivate),
		"all_domains":         d.bool(&c.AllDomains),
		"enable_mutations":    d.bool(&c.Mutations),
		"enable_downloads":    d.bool(&c.Downloads),
		"enable_eval":         d.bool(&c.Eval),
		"clipboard":           d.bool(&c.Clipboard),
		"enable_storage":      d.bool(&c.Storage),
		"state_dir":           d.directory(&c.StateDir),
		"uploads_dir":         d.directory(&c.UploadsDir),
		"subresources":        d.tier(&c.Subresources),
	}
	t, err := d.token()
	if err != nil {
		return c, err
	}
	if t != json.Delim('{') {
		return c, errors.New("is not a JSON object")
	}
	seen := map[string]bool{}
	for d.dec.More() {
		t, err := d.token()
		if err != nil {
			return c, err
		}
		key := t.(string) // a token at this position is always a key
		read, ok := fields[key]
		if !ok {
			return c, fmt.Errorf("unknown key %q; the keys are %s", key, keyList(fields))
		}
		if seen[key] {
			return c, fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		if err := read(key); err != nil {
			return c, err
		}
	}
	if _, err := d.token(); err != nil { // the closing brace
		return c, err
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return c, errors.New("unexpected data after the object")
	}
	if len(c.SubresourceDomains) > 0 && c.Subresources != SubresourcesList {
		return c, errNoList
	}
	return c, nil
}

var errNoList = errors.New(`subresource_domains: has an effect only when subresources is "list"`)

// decodeValue returns a function that reads a value of type T and passes it to keep. what describes
// T in errors.
func decodeValue[T any](d *fileDecoder, what string, keep func(T) error) func(string) error {
	return func(key string) error {
		t, err := d.token()
		if err != nil {
			return err
		}
		value, ok := t.(T)
		if !ok {
			return fmt.Errorf("%s: is not %s", key, what)
		}
		if err := keep(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
}

func (d *fileDecoder) bool(to *bool) func(string) error {
	return decodeValue(d, "true or false", func(b bool) error {
		*to = b
		return nil
	})
}

// directory reads an absolute path: a policy file may be read from any working directory.
func (d *fileDecoder) directory(to *string) func(string) error {
	return decodeValue(d, "a string", func(s string) error {
		if !filepath.IsAbs(s) {
			return fmt.Errorf("%q is not an absolute path", s)
		}
		*to = s
		return nil
	})
}

func (d *fileDecoder) tier(to *Subresources) func(string) error {
	return decodeValue(d, "a string", func(s string) error {
		*to = Subresources(s)
		if err := to.validate(); err != nil || s == "" {
			return fmt.Errorf("%q is not one of public, same, list", s)
		}
		return nil
	})
}

func (d *fileDecoder) strings(to *[]string, check func(string) error) func(string) error {
	return func(key string) error {
		t, err := d.token()
		if err != nil {
			return err
		}
		if t != json.Delim('[') {
			return fmt.Errorf("%s: is not a list", key)
		}
		for i := 0; d.dec.More(); i++ {
			t, err := d.token()
			if err != nil {
				return err
			}
			s, ok := t.(string)
			if !ok {
				return fmt.Errorf("%s[%d]: is not a string", key, i)
			}
			if err := check(s); err != nil {
				return fmt.Errorf("%s[%d]: %q %w", key, i, s, reason(err))
			}
			*to = append(*to, s)
		}
		_, err = d.token() // the closing bracket
		return err
	}
}

func checkPattern(s string) error {
	_, err := ParsePattern(s)
	return err
}

func checkPrivate(s string) error {
	_, err := parsePrivate(s)
	return err
}

func keyList[V any](m map[string]V) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}
