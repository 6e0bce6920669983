package input

import (
	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
)

// A client may leave an error page of the browser, and read it where the browser allows that: Chrome
// lets no extension read its warnings. No call acts on an error page. The pages that warn about a
// certificate, about http and about a dangerous site are error pages: a click or a typed word on
// one of them can turn off the protection of the user for all later tabs.

// errorPageDenial returns ErrPolicyDenied for input to an error page of the browser, except for the
// release of a button, which has no effect without the press.
func (s *sender) errorPageDenial(params any) error {
	if e, ok := params.(pointerstate.MouseEvent); ok && e.Type == cdpinput.DispatchMouseEventTypeMouseReleased {
		return nil
	}
	if e, ok := params.(pointerstate.TouchEvent); ok && len(e.Points) == 0 {
		return nil
	}
	state := s.tree.Lock()
	defer state.Unlock()
	return executor.Access{Op: executor.OpAct, ErrorPage: state.Top().IsErrorPage()}.CheckErrorPage()
}
