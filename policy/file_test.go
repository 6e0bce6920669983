package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExampleFile(t *testing.T) {
	c, err := ParseFile(filepath.Join("..", "policy.example.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := mustNew(t, c)
	if _, err := p.CheckURL("https://www.example.com/"); err != nil {
		t.Error(err)
	}
	_, err = p.CheckURL("https://ads.example.com/")
	denied(t, "a blocked host", err)
	if !c.Mutations || c.Eval || c.Downloads || c.AllDomains || c.Subresources != SubresourcesPublic {
		t.Errorf("got %+v", c)
	}
}

func TestParseFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "1: is not JSON",
		"[]":                         "1: is not a JSON object",
		"null":                       "1: is not a JSON object",
		"{\n\"all_domains\": true":   "2: is not JSON: unexpected end",
		"{}\n{}":                     "2: unexpected data after",
		"{}\nx":                      "unexpected data after",
		"{\n\n\"allow_domain\": []}": `3: unknown key "allow_domain"`,
		"{\n\"Allow_Domains\": []}":  `2: unknown key "Allow_Domains"`,
		"{\"enable_eval\": true,\n\"enable_eval\": false}":                     `2: duplicate key "enable_eval"`,
		"{\"enable_eval\": null}":                                              "1: enable_eval: is not true or false",
		"{\"enable_eval\": \"true\"}":                                          "1: enable_eval: is not true or false",
		"{\"allow_domains\": \"example.com\"}":                                 "1: allow_domains: is not a list",
		"{\"allow_domains\": null}":                                            "1: allow_domains: is not a list",
		"{\"allow_domains\": [\n\"a.com\",\n1]}":                               "3: allow_domains[1]: is not a string",
		"{\n\"allow_domains\": [\n\"a.com\",\n\"*.com\"\n]}":                   `4: allow_domains[1]: "*.com" is a public suffix`,
		"{\n\"block_domains\": [\"a@b.com\"]}":                                 `2: block_domains[0]: "a@b.com" has a user name`,
		"{\n\"allow_domains\": [\"Example.com\"]}":                             `2: allow_domains[0]: "Example.com" is not a pattern: the host has upper-case`,
		"{\n\"allow_private\": [\"8.8.8.8/32\"]}":                              "2: allow_private[0]: \"8.8.8.8/32\" is not a private range",
		"{\"subresources\": \"\"}":                                             "1: subresources: \"\" is not one of public, same, list",
		"{\"subresources\": \"all\"}":                                          "1: subresources: \"all\" is not one of",
		"{\"subresource_domains\": [\"cdn.net\"], \"subresources\": \"same\"}": "subresource_domains: has an effect only",
		"{\n\"allow_domains\": [\"a.com\",],\n}":                               "2: is not JSON",
		"{\n\"uploads_dir\": \"files\"}":                                       `2: uploads_dir: "files" is not an absolute path`,
		"{\"uploads_dir\": true}":                                              "1: uploads_dir: is not a string",
		"{\n// comment\n}":                                                     "2: is not JSON",
		"\ufeff{}":                                                             "1: is not JSON",
	} {
		name := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ParseFile(name)
		if err == nil || !strings.HasPrefix(err.Error(), name+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, c, err, want)
		}
		if c.AllowDomains != nil || c.Eval {
			t.Errorf("%q: error with config %+v", text, c)
		}
	}
	if _, err := ParseFile(filepath.Join(t.TempDir(), "none.json")); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"allow_domains":["a.com"],"enable_eval":true}`))
	f.Add([]byte("{\n\"a\":[1,{}]}"))
	f.Add([]byte(`{"subresources":"list","subresource_domains":["cdn.net"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig("f", data)
		if err != nil {
			return
		}
		if _, err := New(c); err != nil {
			t.Fatalf("%q was parsed, but New failed: %v", data, err)
		}
	})
}
