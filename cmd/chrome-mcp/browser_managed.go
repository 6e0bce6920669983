package main

import (
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

// managedBrowsers are browsers that chrome-mcp launches: with a persistent profile, or a temporary
// one.
func managedBrowsers() browserType {
	return browserType{
		name: browserManaged,
		keys: []browserKey{
			{name: "profile", usage: "persistent profile; without it, a temporary one",
				field: func(b *namedBrowser) any { return &b.Profile },
				check: func(value string) error {
					if !chromium.IsProfileName(value) {
						return fmt.Errorf("invalid name %q", value)
					}
					return nil
				}},
			colorKey(),
		},
		open: func(o *browserOpener, b *namedBrowser) (executor.Executor, error) {
			s := o.settingsFor(b)
			s.profile, s.isolated = b.Profile, b.Profile == ""
			options, err := s.chromium(o.guard.Network(), o.log)
			if err != nil {
				return nil, err
			}
			options.Color = b.Color
			return o.openChromium(b, options)
		},
	}
}
