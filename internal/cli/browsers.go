package cli

import (
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
)

// checkBrowsers checks that the browsers do not need the same profile or the same extension. With a
// browser for the extension, the default browser is one that chrome-mcp launches or attaches to, so
// that each browser has one name.
func (s *Settings) checkBrowsers() error {
	profiles := map[string]string{}
	var extension *namedbrowser.Browser
	for i := range s.Browsers {
		b := &s.Browsers[i]
		switch {
		case b.Type == namedbrowser.Extension && extension != nil:
			return Usagef("Remove one of them.", "%s has the type extension, as browser %s does", b.Describe(), extension.Name)
		case b.Type == namedbrowser.Extension:
			extension = b
		case b.Profile != "" && profiles[b.Profile] != "":
			return Usagef("Give it another profile.",
				"%s has the profile %s, as browser %s does", b.Describe(), b.Profile, profiles[b.Profile])
		case b.Profile != "":
			profiles[b.Profile] = b.Name
		}
	}
	if extension == nil {
		return nil
	}
	for _, flag := range []string{"prefer", "no-cdp-fallback"} {
		if flag == "prefer" && s.Given(flag) && s.Prefer == string(executor.BackendExtension) ||
			flag == "no-cdp-fallback" && s.NoCDPFallback {
			return Usagef("Remove one of them. With a browser of type extension, the user's Chrome is used only under its name.",
				"%s and %s are mutually exclusive", extension.Describe(), s.NameOf(flag))
		}
	}
	s.Prefer = string(executor.BackendCDP)
	return nil
}

// CheckDefaultProfile checks that no named browser has the profile of the default browser.
func (s *Settings) CheckDefaultProfile() error {
	if s.Isolated || s.CDPEndpoint != "" {
		return nil
	}
	for i := range s.Browsers {
		if b := &s.Browsers[i]; b.Profile == s.Profile {
			return Usagef("Give it another profile, or set --isolated or another --profile for the default browser.",
				"%s has the profile %s, which is that of the default browser", b.Describe(), b.Profile)
		}
	}
	return nil
}

// NamesExtension reports whether a named browser is the user's Chrome.
func (s *Settings) NamesExtension() bool {
	return slices.ContainsFunc(s.Browsers, func(b namedbrowser.Browser) bool { return b.Type == namedbrowser.Extension })
}

// setBrowsers sets the browsers that a client sent.
func (s *Settings) setBrowsers(values []string) error {
	var err error
	if s.Browsers, err = namedbrowser.Decode(values); err != nil {
		return Usagef("", "%w", err)
	}
	return nil
}
