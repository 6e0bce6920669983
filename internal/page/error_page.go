package page

import (
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// certificateDenial returns ErrPolicyDenied for a raw CDP command that makes the browser accept
// certificates, as the button of the warning does.
func certificateDenial(method string) error {
	if !strings.HasPrefix(method, "Security.") || !strings.Contains(method, "Certificate") {
		return nil
	}
	return executor.Errorf(executor.ErrPolicyDenied, "Ask the user, or use a server whose certificate the browser accepts.",
		"%s makes the browser accept certificates: only a person can accept this", method)
}
