package namedbrowser

import (
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

// managedBrowsers are browsers that chrome-mcp launches: with a persistent profile, or a temporary
// one.
func managedBrowsers() kind {
	return kind{
		name: Managed,
		keys: []key{
			{name: "profile", usage: "persistent profile; without it, a temporary one",
				field: func(b *Browser) any { return &b.Profile },
				check: func(value string) error {
					if !chromium.IsProfileName(value) {
						return fmt.Errorf("invalid name %q", value)
					}
					return nil
				}},
			colorKey(),
		},
	}
}
