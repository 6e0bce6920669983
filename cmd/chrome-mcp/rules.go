package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

// flagOfField maps the lists of a policy.Config to the flags that add to them.
// The entries of a policy file were checked when it was read.
var flagOfField = map[string]string{
	"AllowDomains": "allow-domain", "BlockDomains": "block-domain", "AllowPrivate": "allow-private",
}

// rules returns the policy that file, flags and variables make together. A
// mistake in any of them is a *usageError: there is no policy then, and never
// a weaker one.
func (s *settings) rules() (*policy.Policy, error) {
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
	if s.given("subresources") { // the policy picks its own default otherwise, by the grants
		flags.Subresources = policy.Subresources(s.subresources)
	}
	p, err := policy.New(config.Merge(flags))
	if entry, ok := errors.AsType[*policy.ConfigError](err); ok && flagOfField[entry.Field] != "" {
		hint := "Patterns look like example.com, *.example.com or http://localhost:3000."
		if entry.Field == "AllowPrivate" {
			hint = "Give a CIDR, such as 10.0.0.0/8, or 192.168.1.7/32 for one address."
		}
		return nil, usagef(hint, "%s: %q %w", s.named(flagOfField[entry.Field]), entry.Value, entry.Err)
	}
	if err != nil {
		return nil, usagef("", "%w", err)
	}
	if dir := p.Config().UploadsDir; dir != "" {
		if err := isFolder(dir, "uploads", "uploads-dir"); err != nil {
			return nil, err
		}
	}
	if dir := p.Config().StateDir; dir != "" {
		if err := isFolder(dir, "state files", "state-dir"); err != nil {
			return nil, err
		}
		if inside(dir, p.Config().UploadsDir) {
			return nil, usagef("Name another with --state-dir.", "the folder of state files, %s, is in the folder of uploads, whose files pages may be given", dir)
		}
	}
	return p, nil
}

// isFolder returns an error when there is no folder, or no folder is there.
func isFolder(dir, of, flag string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("Make it, or name another with --"+flag+".", "the folder of %s, %s, is not there", of, dir)
	case err != nil:
		return usagef("Name another with --"+flag+".", "the folder of %s: %w", of, err)
	case !info.IsDir():
		return usagef("Name another with --"+flag+".", "the folder of %s, %s, is a file", of, dir)
	}
	return nil
}

// inside reports whether a folder is another one or in it. Both are there.
func inside(dir, folder string) bool {
	if folder == "" {
		return false
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return true
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return true
	}
	rel, err := filepath.Rel(folder, dir)
	return err == nil && filepath.IsLocal(rel)
}
