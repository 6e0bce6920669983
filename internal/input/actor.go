// Package input acts on the elements of a tab: it waits until they are actionable, moves the
// pointer, presses buttons and keys, enters text, and verifies what received the input. The page
// scripts that its comments name are in internal/page/js.
package input

import (
	"context"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/emulate"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
	"github.com/chrome-mcp/chrome-mcp/internal/reading"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// A ChangeTracker tracks what an action changes in the page.
type ChangeTracker interface {
	// Effects are shared by the action and the ChangeTracker.
	Effects() *Effects
	// Finish ends the input of the call, waits until the page has settled, and returns what
	// changed.
	Finish(ctx context.Context) (executor.Changes, error)
	// End removes what the ChangeTracker installed in the page.
	End()
	// DetachedByExternalNavigation reports whether err is the detachment of the tab by a navigation to
	// another program that the action caused.
	DetachedByExternalNavigation(err error) bool
}

// Effects are what is known about the effects of an action when its input has been sent.
type Effects struct {
	Target   *elements.ShownElement // the target, if its change is reported; otherwise nil
	Entered  []*EnteredField        // the fields into which the action entered text
	Choosers int                    // number of file choosers that the page had requested before, or that were answered
	Changed  bool                   // earlier input of the action may have changed the page
	File     bool                   // the click was on a download link, which starts no navigation
	Invalid  bool                   // the click submitted no form, because fields are invalid
	Brief    bool                   // do not wait for an animation frame if the DOM has not changed; what changes later is reported with the next action
	NoScroll bool                   // the input scrolled nothing: do not wait for an animation frame if the page did nothing either
	Hung     bool                   // the page has not responded for a long time: do not wait for it again

	// Handled is called when the page has handled the last input, before the result of the action
	// is known.
	Handled func(ctx context.Context)
}

// Options are the options of [New].
type Options struct {
	Reader *reading.Reader // of the client

	// Of the tab.
	Shield       *shield.Shield
	Buttons      *pointerstate.Buttons
	Dialogs      *dialogs.State
	Emulation    *emulate.Emulator
	Inflight     *record.Inflight
	FileChoosers *record.EventLog[cdppage.EventFileChooserOpened]

	// Sent is called when input was sent to the page.
	Sent func()
	// TrackChanges starts to track what an action changes.
	TrackChanges func() ChangeTracker
	// Secrets are what Type and FillForm may type without the client seeing it. nil means nothing.
	Secrets executor.Secrets
	// BeginSecret is called before a secret is typed. It returns an error if no secret may be
	// typed. The caller must call cancel if the secret was not typed.
	BeginSecret func() (cancel func(), err error)
	// SharedBrowser means that the browser also has browser contexts of other clients.
	SharedBrowser bool
	// UserClipboard means that the clipboard of the browser is that of the user's desktop.
	UserClipboard bool
}

// An Actor acts on the elements of a tab for one client. Its methods must be called one at a time,
// as the calls on a tab are.
type Actor struct {
	*sender
	*keyboard
	*pointer
	finder *elements.Finder
	opts   Options
}

// New returns the Actor of a client.
func New(client *frames.Client, finder *elements.Finder, opts Options) *Actor {
	s := &sender{client: client, tree: client.Tree, timing: client.Tree.Timing(), shield: opts.Shield, sent: opts.Sent}
	c := clipboard{client: client, shared: opts.SharedBrowser, user: opts.UserClipboard}
	return &Actor{sender: s, keyboard: &keyboard{s, c}, pointer: &pointer{s, c, opts.Buttons}, finder: finder, opts: opts}
}

// actionOf returns the result of an action that act has run.
func actionOf(changes executor.Changes, err error) (*executor.Action, error) {
	if err != nil {
		return nil, err
	}
	return &executor.Action{OK: true, Changes: changes}, nil
}
