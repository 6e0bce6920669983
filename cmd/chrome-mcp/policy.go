package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/fileserver"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
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
		Clipboard:    s.clipboard,
		Storage:      s.storage,
		StateDir:     s.stateDir,
		UploadsDir:   s.uploadsDir,
		AllowPrivate: s.allowPrivate,
	}
	if s.files != nil {
		flags.AllowDomains = append(slices.Clone(flags.AllowDomains), s.files.Origin())
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
		return nil, usagef(hint, "%s: %q %w", s.nameOf(flagOfField[entry.Field]), entry.Value, entry.Err)
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
	if s.serveDirectory != "" {
		if err := s.checkServeDirectory(p.Config().StateDir); err != nil {
			return nil, err
		}
	}
	if s.state != "" {
		if err := s.checkState(p.Config().StateDir); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkServeDirectory returns an error if --serve-directory names no directory, or one through which
// pages could read the data directory or state files.
func (s *settings) checkServeDirectory(stateDir string) error {
	if err := checkDir(s.serveDirectory, "served", "serve-directory"); err != nil {
		return err
	}
	if err := fileserver.CheckDir(s.serveDirectory, s.privatePaths(stateDir)...); err != nil {
		return usagef("Choose another directory with --serve-directory.", "%s: %w", s.nameOf("serve-directory"), err)
	}
	return nil
}

// privatePaths returns the files and directories of the settings that have secrets.
func (s *settings) privatePaths(stateDir string) []string {
	paths := []string{s.data, stateDir, s.httpCredentials, s.connectToken}
	for _, b := range s.browsers {
		paths = append(paths, b.HeadersFile, b.TokenFile)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// serveFiles starts to serve the files of --serve-directory, and returns a policy that also allows
// them. stateDir is the directory of state files, or empty.
func (s *settings) serveFiles(stateDir string, log *slog.Logger) (*policy.Policy, error) {
	var err error
	if s.files, err = fileserver.New(s.serveDirectory, log, s.privatePaths(stateDir)...); err != nil {
		return nil, usagef("", "%s: %w", s.nameOf("serve-directory"), err)
	}
	p, err := s.policy()
	if err == nil {
		if _, denied := p.CheckURL(s.files.URL()); denied != nil {
			err = usagef("Remove the pattern from --block-domain or from the policy file.", "%s: the policy denies the URL of the files: %w", s.nameOf("serve-directory"), denied)
		}
	}
	if err != nil {
		s.files.Close()
	}
	return p, err
}

// checkState returns an error if the storage state of --state cannot be loaded from dir.
func (s *settings) checkState(dir string) error {
	if dir == "" {
		return usagef("Set --state-dir to the directory that contains it.", "%s needs --state-dir", s.nameOf("state"))
	}
	files, err := statefile.Open(dir)
	if err == nil {
		defer files.Close()
		_, err = files.Load(s.state)
	}
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return usagef(hint.Translate(e.Hint), "%s: %s", s.nameOf("state"), e.Message())
	}
	return err
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
