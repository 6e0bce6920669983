package executor

import "context"

// A BackendSwitch reports that a [Manager] changed backends. The new backend has its own tabs,
// active tab and refs.
type BackendSwitch struct {
	From, To BackendKind
	Reason   error // why From is no longer used; nil if To is preferred and available again
}

// String describes the switch in one line.
func (s BackendSwitch) String() string {
	text := "calls now use " + s.To.describe() + ", with its own tabs and logins, instead of " + s.From.describe()
	switch {
	case s.Reason != nil:
		text += ": " + reason(s.Reason)
	case s.To == BackendExtension:
		text += ": the extension is connected"
	}
	return text
}

// describe returns the backend's name for use in a sentence.
func (k BackendKind) describe() string {
	if k == BackendExtension {
		return "the user's own Chrome (extension)"
	}
	return "the managed or attached browser (cdp)"
}

// report passes s to the observer in ctx, if there is one.
func (s BackendSwitch) report(ctx context.Context) {
	if observe := CallOptionsOf(ctx).OnSwitch; observe != nil {
		observe(s)
	}
}

// otherBackendError returns the error of a call that refers to backend from, while calls use
// backend to. skipped is the reason why the extension is not used, or nil.
func otherBackendError(what string, from, to BackendKind, skipped error) error {
	why := ""
	if skipped != nil {
		why = ": " + message(skipped)
	}
	return Errorf(ErrStaleTab, "Take a tab id from Executor.Tabs, or open a page there.",
		"%s is in %s, but calls now use %s%s", what, from.describe(), to.describe(), why)
}
