package page

import (
	"strings"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// An error page of the browser can be left, and read unless the browser prevents that: Chrome lets no
// extension read its warnings. No call acts on an error page. The pages that warn about a
// certificate, about http and about a dangerous site are error pages: a click or a typed word on one
// of them can turn off the protection of a person for all later tabs.

// errorPageDenial returns ErrPolicyDenied for input to an error page of the browser, except for the
// release of a button, which has no effect without the press.
func (v *View) errorPageDenial(params any) error {
	switch e := params.(type) {
	case mouseEvent:
		if e.Type == input.DispatchMouseEventTypeMouseReleased {
			return nil
		}
	case touchEvent:
		if len(e.Points) == 0 {
			return nil
		}
	}
	s := v.tab.tree.Lock()
	defer s.Unlock()
	return executor.Access{Op: executor.OpAct, ErrorPage: s.Top().IsErrorPage()}.CheckErrorPage()
}

// certificateDenial returns ErrPolicyDenied for a raw CDP command that makes the browser accept
// certificates, as the button of the warning does.
func certificateDenial(method string) error {
	if !strings.HasPrefix(method, "Security.") || !strings.Contains(method, "Certificate") {
		return nil
	}
	return executor.Errorf(executor.ErrPolicyDenied, "Ask the user, or use a server whose certificate the browser accepts.",
		"%s makes the browser accept certificates: only a person can accept this", method)
}
