package extension

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// reasonUnknown is the reason for a tab that the extension does not list after it has reconnected: the
// tab was closed, or the extension was reloaded, which makes it forget the shared tabs.
const reasonUnknown = "unknown"

// unsharedError returns the error of calls on a tab that is no longer shared.
func unsharedError(reason string) *executor.Error {
	const another = "Use another tab; Executor.Tabs shows which are shared."
	switch reason {
	case "closed", reasonUnknown:
		return executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed")
	case "user":
		return executor.Errorf(executor.ErrDetached,
			"Ask the user before you continue: the tab can be shared again with the chrome-mcp button in Chrome's toolbar.",
			"the user stopped sharing the tab, or does not share its site")
	case "stopped":
		return executor.Errorf(executor.ErrDetached, "Ask the user before you continue.", "the user pressed Stop")
	case "locked":
		return executor.Errorf(executor.ErrDetached, "Ask the user to unlock it and to share the tab again.",
			"the screen was locked, which ends sharing")
	case "idle":
		return executor.Errorf(executor.ErrDetached, "Ask the user to share it again.",
			"the user shared the tab only until the machine was idle")
	case "expired":
		return executor.Errorf(executor.ErrDetached, "Ask the user to share it again.",
			"the user shared the tab only until 15 minutes after the last call")
	case "moved":
		return executor.Errorf(executor.ErrDetached, another, "the user moved the tab out of the shared group")
	case "other_server":
		return executor.Errorf(executor.ErrDetached, another+" The user can choose in the extension popup which agent drives a tab.", "another agent drives the tab now")
	case "debugger":
		return executor.Errorf(executor.ErrDetached,
			"Ask the user before you continue: the tab can be shared again with the chrome-mcp button in Chrome's toolbar.",
			"the user canceled debugging in the bar below the toolbar")
	}
	return executor.Errorf(executor.ErrDetached, another, "the tab is no longer shared") // released, for example
}

// detachedError returns the error of calls on a shared tab whose debugger was detached.
func detachedError(reason string) *executor.Error {
	switch reason {
	case "idle", "released":
		return executor.Errorf(executor.ErrDetached, "Try again: the next call attaches to it.", "detached after inactivity")
	case "target_closed":
		return executor.Errorf(executor.ErrDetached, "Take a snapshot to see where it is.",
			"the browser ended debugging: the tab was closed, or navigated to a page that cannot be debugged")
	case "canceled_by_user":
		return executor.Errorf(executor.ErrDetached, "Ask the user before you continue.",
			"the user canceled debugging in the bar below the toolbar")
	case "replaced_with_devtools":
		return executor.Errorf(executor.ErrDevToolsOpen, "Ask the user to close DevTools on the tab, or use another tab.",
			"DevTools were opened on the tab")
	}
	return executor.Errorf(executor.ErrDetached, "Try again: the next call attaches to it.",
		"debugging ended: %q", pagetext.Truncate(reason, maxReason))
}

// maxReason is the maximum length of a reason or version that the browser reports, in characters.
const maxReason = 200
