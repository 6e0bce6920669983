package executor

import (
	"context"
	"log/slog"
)

// A Backend is a source of browsers that several clients share. Its methods are safe for concurrent
// use.
type Backend interface {
	Kind() BackendKind
	// NewSession returns an Executor for one client. It starts nothing. A nil opts means the defaults:
	// everything is denied.
	NewSession(opts *SessionOptions) (Executor, error)
	// Status returns the state of the backend, without starting anything.
	Status(ctx context.Context) Status
	// Close closes the backend and its sessions. A launched browser is terminated, and an attached
	// one is detached.
	Close() error
}

// SessionOptions are the options of [Backend.NewSession].
type SessionOptions struct {
	Browser     string       // name of the browser, with which the ids of its tabs start; empty for the default browser
	Gate        Gate         // nil denies everything
	Logger      *slog.Logger // nil discards
	OnEvent     func(Event)  // called in order, from one goroutine; must not block or call the session
	AfterAction AfterAction  // default AfterDiff
	UploadsDir  string       // directory of files that may be uploaded; empty means none
	Record      bool         // record the activity log for Inspector
	StateDir    string       // directory of state files; empty means none
	State       string       // name of a state file that is loaded into each browser that the session starts, as by LoadState; empty means none
	Secrets     Secrets      // what Type and FillForm may type without the client seeing it; nil means nothing
	MaxTabs     int          // maximum number of open tabs of the session, including those that their pages opened; 0 means DefaultMaxTabs
}

// DefaultMaxTabs is the default of SessionOptions.MaxTabs.
const DefaultMaxTabs = 50

// An EventKind classifies an [Event].
type EventKind string

// The kinds of event.
const (
	EventNavigated  EventKind = "navigated" // the top document changed
	EventDialog     EventKind = "dialog"    // a JavaScript dialog opened
	EventTabOpened  EventKind = "tab_opened"
	EventTabClosed  EventKind = "tab_closed"
	EventTabCrashed EventKind = "tab_crashed"
	EventDownload   EventKind = "download" // a download started or ended; see Download
)

// An Event reports something that happened in a tab that the session may see. It has no URL if the
// Gate denies the tab or document.
type Event struct {
	Kind     EventKind
	Tab      TabID
	URL      string
	Dialog   *Dialog
	Download *Download
}
