package compose

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
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

// Policy returns the policy that file, flags and variables define together, which also allows more.
// An error in any of them is a *cli.UsageError and yields no policy, rather than a weaker one.
func Policy(s *cli.Settings, more ...string) (*policy.Policy, error) {
	var config policy.Config
	if s.PolicyFile != "" {
		var err error
		config, err = policy.ParseFile(s.PolicyFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, cli.Usagef("Correct the path; policy.example.json shows the format.",
				"%s: policy file %s does not exist", s.NameOf("policy"), s.PolicyFile)
		case err != nil:
			return nil, cli.Usagef("Correct the file; policy.example.json shows the format. Other users must not be able to change or replace it.",
				"%w", err)
		}
	}
	flags := policy.Config{
		AllowDomains: slices.Concat(s.AllowDomain, more),
		BlockDomains: s.BlockDomain,
		AllDomains:   s.AllDomains,
		Mutations:    s.Mutations,
		Eval:         s.Eval,
		Downloads:    s.Downloads,
		Clipboard:    s.Clipboard,
		Storage:      s.Storage,
		StateDir:     s.StateDir,
		UploadsDir:   s.UploadsDir,
		AllowPrivate: s.AllowPrivate,
	}
	if s.Given("subresources") { // otherwise the policy chooses the default, depending on the grants
		flags.Subresources = policy.Subresources(s.Subresources)
	}
	p, err := policy.New(config.Merge(flags))
	if entry, ok := errors.AsType[*policy.ConfigError](err); ok && flagOfField[entry.Field] != "" {
		hint := "Patterns look like example.com, *.example.com or http://localhost:3000."
		if entry.Field == "AllowPrivate" {
			hint = "Write a CIDR, such as 10.0.0.0/8, or 192.168.1.7/32 for one address."
		}
		return nil, cli.Usagef(hint, "%s: %q %w", s.NameOf(flagOfField[entry.Field]), entry.Value, entry.Err)
	}
	if err != nil {
		return nil, cli.Usagef("", "%w", err)
	}
	if dir := p.Config().UploadsDir; dir != "" {
		if err := checkUploadsDir(s, p, dir); err != nil {
			return nil, err
		}
	}
	if dir := p.Config().StateDir; dir != "" {
		if err := checkDir(sourceOf(s, "state-dir", s.StateDir), "state", dir); err != nil {
			return nil, err
		}
	}
	if s.ServeDirectory != "" {
		if err := checkServeDirectory(s, p); err != nil {
			return nil, err
		}
	}
	if s.State != "" {
		if err := checkState(s, p.Config().StateDir); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkUploadsDir returns an error if dir, from which files can be uploaded to pages, is not a
// directory, or contains secrets.
func checkUploadsDir(s *cli.Settings, p *policy.Policy, dir string) error {
	source := sourceOf(s, "uploads-dir", s.UploadsDir)
	if err := checkDir(source, "upload", dir); err != nil {
		return err
	}
	for _, private := range PrivatePaths(s, p) {
		if fileserver.Inside(private, dir) {
			return cli.Usagef("Choose another directory.",
				"%s: upload directory %s, whose files can be uploaded to pages, contains %s", source, dir, private)
		}
	}
	return nil
}

// checkServeDirectory returns an error if --serve-directory names no directory, or one through
// which pages could read the data directory or state files.
func checkServeDirectory(s *cli.Settings, p *policy.Policy) error {
	source := s.NameOf("serve-directory")
	if err := checkDir(source, "served", s.ServeDirectory); err != nil {
		return err
	}
	if err := fileserver.CheckDir(s.ServeDirectory, PrivatePaths(s, p)...); err != nil {
		return cli.Usagef("Choose another directory.", "%s: %w", source, err)
	}
	return nil
}

// PrivatePaths returns the files and directories with secrets that the settings name, and
// s.Private. p is the policy of the settings.
func PrivatePaths(s *cli.Settings, p *policy.Policy) []string {
	paths := append([]string{s.Data, p.Config().StateDir, s.HTTPCredentials, s.ConnectToken}, s.Private...)
	for _, b := range s.Browsers {
		paths = append(paths, b.HeadersFile, b.TokenFile)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// serveFiles starts to serve the files of --serve-directory, and returns a policy that also allows
// them. rules is the policy without them.
func (s *setup) serveFiles(rules *policy.Policy, log *slog.Logger) (*policy.Policy, error) {
	var err error
	if s.files, err = fileserver.New(s.ServeDirectory, log, PrivatePaths(s.Settings, rules)...); err != nil {
		return nil, cli.Usagef("", "%s: %w", s.NameOf("serve-directory"), err)
	}
	p, err := Policy(s.Settings, s.files.Origin())
	if err == nil {
		if _, denied := p.CheckURL(s.files.URL()); denied != nil {
			err = cli.Usagef("Remove the pattern from --block-domain or from the policy file.",
				"%s: the policy denies the URL of the files: %w", s.NameOf("serve-directory"), denied)
		}
	}
	if err != nil {
		s.files.Close()
	}
	return p, err
}

// checkState returns an error if the storage state of --state cannot be loaded from dir.
func checkState(s *cli.Settings, dir string) error {
	if dir == "" {
		return cli.Usagef("Set --state-dir to the directory that contains it.", "%s needs --state-dir", s.NameOf("state"))
	}
	files, err := statefile.Open(dir)
	if err == nil {
		defer files.Close()
		_, err = files.Load(s.State)
	}
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return cli.Usagef(hint.Translate(e.Hint), "%s: %s", s.NameOf("state"), e.Message())
	}
	return err
}

// sourceOf returns the name by which the user set a directory of the policy: that of a flag with a
// value, or the policy file.
func sourceOf(s *cli.Settings, flag, value string) string {
	if value == "" {
		return s.PolicyFile
	}
	return s.NameOf(flag)
}

// checkDir returns an error if dir, which source sets, does not exist or is not a directory. Error
// texts call it the kind directory.
func checkDir(source, kind, dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Usagef("Create it, or choose another directory.", "%s: %s directory %s does not exist", source, kind, dir)
	case err != nil:
		return cli.Usagef("Choose another directory.", "%s: %s directory: %w", source, kind, err)
	case !info.IsDir():
		return cli.Usagef("Choose another directory.", "%s: %s directory %s is not a directory", source, kind, dir)
	}
	return nil
}

// ValidPolicy returns the policy of the settings, after checking all of them.
func ValidPolicy(s *cli.Settings) (*policy.Policy, error) {
	rules, err := Policy(s)
	if err == nil {
		err = s.CheckCDPGrant(rules)
	}
	if err == nil {
		err = s.Check()
	}
	return rules, err
}
