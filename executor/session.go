package executor

import (
	"context"
	"log/slog"
)

// A Backend is a browser that several clients share. Its methods are safe for
// concurrent use.
type Backend interface {
	Kind() BackendKind
	// NewSession returns one client's Executor. It starts nothing.
	NewSession(opts SessionOptions) (Executor, error)
	// Status tells what is there, without starting anything.
	Status(ctx context.Context) Status
	// Close ends the backend and its sessions: a browser that it launched is
	// ended, one that it joined is let go.
	Close() error
}

// SessionOptions are the options of [Backend.NewSession].
type SessionOptions struct {
	Gate        Gate         // nil denies everything
	Logger      *slog.Logger // nil discards
	OnEvent     func(Event)  // called in order, from one goroutine; it must not block or call the session
	AfterAction AfterAction  // default AfterDiff
	UploadsDir  string       // folder whose files may be uploaded; empty: none
	Record      bool         // keep what Inspector tells; without it nothing is kept
	StateDir    string       // folder of state files; empty: none
	MaxTabs     int          // that the session may have open itself, with those that their pages open; 0 is DefaultMaxTabs
}

// DefaultMaxTabs is how many tabs a session may have open unless its options say
// otherwise.
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
	EventDownload   EventKind = "download" // one began or ended; Download tells
)

// An Event is something that happened in a tab that the session may see. Of
// tabs and documents that the Gate denies, no URL is told.
type Event struct {
	Kind     EventKind
	Tab      TabID
	URL      string
	Dialog   *Dialog
	Download *Download
}
