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

// A TabSwitch is that calls which name no tab go to another than before,
// because the user has shared it.
type TabSwitch struct {
	To TabID
}

// String says it in one line.
func (s TabSwitch) String() string {
	return "the user has shared tab " + string(s.To) + ", so calls without a tabId go to it from now on; tab_select chooses another"
}

type tabSwitchKey struct{}

// WithTabSwitch returns a context whose calls call tell when they find that
// the user has made another tab the active one by sharing it. It is called
// from the goroutine of the call.
func WithTabSwitch(ctx context.Context, tell func(TabSwitch)) context.Context {
	return context.WithValue(ctx, tabSwitchKey{}, tell)
}

// Tell tells the caller whose context it is: for backends.
func (s TabSwitch) Tell(ctx context.Context) {
	if tell, ok := ctx.Value(tabSwitchKey{}).(func(TabSwitch)); ok {
		tell(s)
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
