package compose

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
)

// TestNamedBrowserSettings checks that cookies, credentials and certificates of the session are
// only for named browsers that chrome-mcp launches.
func TestNamedBrowserSettings(t *testing.T) {
	s := &cli.Settings{HTTPCredentials: "c.json", AcceptCertificates: []string{"a:443"}, CDPEndpoint: "ws://a/", Given: func(string) bool { return false }}
	o := &browserOpener{setup: &setup{Settings: s}, options: executor.SessionOptions{State: "login"}}
	for _, kind := range []string{namedbrowser.Managed, namedbrowser.Extension, namedbrowser.Endpoint, namedbrowser.Browserless} {
		b := &namedbrowser.Browser{Name: "a", Type: kind}
		got, state := o.setupFor(b), o.sessionOptions(b).State
		used := kind == namedbrowser.Managed
		if (got.HTTPCredentials != "") != used || (got.AcceptCertificates != nil) != used || (state != "") != used || got.CDPEndpoint != "" {
			t.Errorf("%s: credentials %q, certificates %q, state %q, endpoint %q", kind, got.HTTPCredentials, got.AcceptCertificates, state, got.CDPEndpoint)
		}
	}
}
