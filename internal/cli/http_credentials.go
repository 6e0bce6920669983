package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/configfile"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// credentialsExample is the hint for a file with HTTP credentials that is invalid.
const credentialsExample = `Write it like {"https://staging.example.com": {"username": "ada", "password": "…"}}.`

// ReadHTTPCredentials returns the credentials in the file of --http-credentials, by origin, or nil
// without that flag. Errors contain no user name and no password.
func (s *Settings) ReadHTTPCredentials() (map[string]chromium.HTTPCredentials, error) {
	path := s.HTTPCredentials
	if path == "" {
		return nil, nil
	}
	const flag = "http-credentials"
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, Usagef("Name the file itself.", "%s: %s is a symbolic link", s.NameOf(flag), path)
	}
	var text []byte
	if err == nil {
		text, err = owneronly.ReadFile(path, configfile.MaxBytes)
	}
	switch {
	case errors.Is(err, owneronly.ErrMode):
		return nil, Usagef(fmt.Sprintf("Run chmod 600 %s.", path), "%s: %w", s.NameOf(flag), err)
	case err != nil:
		return nil, Usagef("Correct the path or the file.", "%s: %w", s.NameOf(flag), err)
	}
	credentials, err := parseHTTPCredentials(path, text)
	if err != nil {
		return nil, Usagef(credentialsExample, "%s: %w", s.NameOf(flag), err)
	}
	return credentials, nil
}

// parseHTTPCredentials parses a JSON object that maps origins to user names and passwords. path is
// for errors.
func parseHTTPCredentials(path string, text []byte) (map[string]chromium.HTTPCredentials, error) {
	file, err := configfile.Parse(path, text)
	if syntax, ok := errors.AsType[*configfile.SyntaxError](err); ok { // its text may quote a part of a password
		if syntax.Position == path {
			return nil, fmt.Errorf("%s is not JSON", path)
		}
		return nil, fmt.Errorf("%s: not JSON", syntax.Position)
	}
	credentials := map[string]chromium.HTTPCredentials{}
	err = eachMember(file, file.Root, func(m hujson.ObjectMember) error {
		origin, at := configfile.Name(m), file.Position(m.Name.StartOffset)
		if err := secrets.CheckOrigin(origin); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		values := map[string]string{}
		err := eachMember(file, m.Value, func(m hujson.ObjectMember) error {
			key, at := configfile.Name(m), file.Position(m.Name.StartOffset)
			value, ok := m.Value.Value.(hujson.Literal)
			switch {
			case key != "username" && key != "password":
				return fmt.Errorf("%s: unknown key; the keys are username and password", at)
			case !ok || value.Kind() != '"':
				return fmt.Errorf("%s: %s must be a string", at, key)
			}
			values[key] = value.String()
			return nil
		})
		_, hasPassword := values["password"]
		c := chromium.HTTPCredentials{Username: values["username"], Password: values["password"]}
		switch {
		case err != nil:
			return err
		case c.Username == "" || !hasPassword:
			return fmt.Errorf("%s: %s needs username and password", at, origin)
		case strings.Contains(c.Username, ":"):
			return fmt.Errorf("%s: the username contains a colon, which HTTP authentication does not allow", at)
		}
		credentials[origin] = c
		return nil
	})
	if err == nil && len(credentials) == 0 {
		err = fmt.Errorf("%s has no origin", path)
	}
	return credentials, err
}

// eachMember calls f for the members of an object. Another value and a duplicate name are errors.
func eachMember(file *configfile.File, v hujson.Value, f func(m hujson.ObjectMember) error) error {
	members, err := file.Members(v)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range members {
		name := configfile.Name(m)
		if seen[name] {
			return fmt.Errorf("%s: duplicate key", file.Position(m.Name.StartOffset))
		}
		seen[name] = true
		if err := f(m); err != nil {
			return err
		}
	}
	return nil
}
