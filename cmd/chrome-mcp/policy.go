package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

// flagOfField maps the lists of a policy.Config to the flags that add to them. The entries of a
// policy file are checked when it is read.
var flagOfField = map[string]string{
	"AllowDomains": "allow-domain", "BlockDomains": "block-domain", "AllowPrivate": "allow-private",
}

// policy returns the policy that file, flags and variables define together. An error in any of them
// is a *usageError and yields no policy, rather than a weaker one.
func (s *settings) policy() (*policy.Policy, error) {
	var config policy.Config
	if s.policyFile != "" {
		var err error
		config, err = policy.ParseFile(s.policyFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, usagef("Correct the path; policy.example.json shows the format.", "policy file %s does not exist", s.policyFile)
		case err != nil:
			return nil, usagef("Correct the file; policy.example.json shows the format. Other users must not be able to change or replace it.", "%w", err)
		}
	}
	flags := policy.Config{
		AllowDomains: s.allowDomain,
		BlockDomains: s.blockDomain,
		AllDomains:   s.allDomains,
		Mutations:    s.mutations,
		Eval:         s.eval,
		Downloads:    s.downloads,
		Storage:      s.storage,
		StateDir:     s.stateDir,
		UploadsDir:   s.uploadsDir,
		AllowPrivate: s.allowPrivate,
	}
	if s.given("subresources") { // otherwise the policy chooses the default, depending on the grants
		flags.Subresources = policy.Subresources(s.subresources)
	}
	p, err := policy.New(config.Merge(flags))
	if entry, ok := errors.AsType[*policy.ConfigError](err); ok && flagOfField[entry.Field] != "" {
		hint := "Patterns look like example.com, *.example.com or http://localhost:3000."
		if entry.Field == "AllowPrivate" {
			hint = "Write a CIDR, such as 10.0.0.0/8, or 192.168.1.7/32 for one address."
		}
		return nil, usagef(hint, "%s: %q %w", s.flagOrVariable(flagOfField[entry.Field]), entry.Value, entry.Err)
	}
	if err != nil {
		return nil, usagef("", "%w", err)
	}
	if dir := p.Config().UploadsDir; dir != "" {
		if err := checkDir(dir, "upload", "uploads-dir"); err != nil {
			return nil, err
		}
	}
	if dir := p.Config().StateDir; dir != "" {
		if err := checkDir(dir, "state", "state-dir"); err != nil {
			return nil, err
		}
		if inside(dir, p.Config().UploadsDir) {
			return nil, usagef("Choose another directory with --state-dir.", "state directory %s is inside the upload directory, whose files can be uploaded to pages", dir)
		}
	}
	return p, nil
}

// checkDir returns an error if dir does not exist or is not a directory. Error texts call it the
// kind directory.
func checkDir(dir, kind, flag string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("Create it, or choose another with --"+flag+".", "%s directory %s does not exist", kind, dir)
	case err != nil:
		return usagef("Choose another with --"+flag+".", "%s directory: %w", kind, err)
	case !info.IsDir():
		return usagef("Choose another with --"+flag+".", "%s directory %s is not a directory", kind, dir)
	}
	return nil
}

// inside reports whether dir is parent or inside it. Both must exist; parent may be empty, which
// contains nothing.
func inside(dir, parent string) bool {
	if parent == "" {
		return false
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return true
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return true
	}
	rel, err := filepath.Rel(parent, dir)
	return err == nil && filepath.IsLocal(rel)
}
