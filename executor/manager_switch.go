package executor

import "context"

// A Switch is that the calls of a [Manager]'s client go to another backend
// than before. That one has its own tabs, active tab and refs.
type Switch struct {
	From, To BackendKind
	Reason   error // why From is not used any more; nil when To is preferred and there again
}

// String says it in one line.
func (s Switch) String() string {
	text := "calls go to " + s.To.words() + " from now on, with its own tabs and logins, and not to " + s.From.words()
	switch {
	case s.Reason != nil:
		text += ": " + reason(s.Reason)
	case s.To == BackendExtension:
		text += ": the extension is connected"
	}
	return text
}

// A SharedTab reports that the user has shared a tab since the last call.
type SharedTab struct {
	// Tab is the shared tab. If it is active, calls that name no tab went to
	// another tab before.
	Tab Tab
}

type sharedTabKey struct{}

// WithSharedTabObserver returns a context whose calls call observe for each tab
// that the user has shared since the last call, from the goroutine of the call.
func WithSharedTabObserver(ctx context.Context, observe func(SharedTab)) context.Context {
	return context.WithValue(ctx, sharedTabKey{}, observe)
}

// Report passes s to the observer of ctx. Backends call it.
func (s SharedTab) Report(ctx context.Context) {
	if observe, ok := ctx.Value(sharedTabKey{}).(func(SharedTab)); ok {
		observe(s)
	}
}

// words names a backend in a sentence.
func (k BackendKind) words() string {
	if k == BackendExtension {
		return "the user's own Chrome (extension)"
	}
	return "the managed Chromium (cdp)"
}

type switchKey struct{}

// WithSwitch returns a context whose calls of a [Manager] call tell when they
// are the first to go to another backend than the calls before them. It is
// called before the call itself, from the same goroutine.
func WithSwitch(ctx context.Context, tell func(Switch)) context.Context {
	return context.WithValue(ctx, switchKey{}, tell)
}

// tell tells the caller whose context it is.
func (s Switch) tell(ctx context.Context) {
	if tell, ok := ctx.Value(switchKey{}).(func(Switch)); ok {
		tell(s)
	}
}

// elsewhere is the error of a call that means something in another backend
// than is used now.
func elsewhere(what string, from, to BackendKind, passed error) error {
	why := ""
	if passed != nil {
		why = ": " + message(passed)
	}
	return Errorf(ErrStaleTab, "Take a tab id from tabs_list, or open a page there.",
		"%s is in %s, and calls go to %s now%s", what, from.words(), to.words(), why)
}
