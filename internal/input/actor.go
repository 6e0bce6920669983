// Package input operates the elements of a tab: it waits until they can be operated, moves the pointer,
// presses buttons and keys, enters text, and verifies what received the input.
package input

import (
	"context"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A Watch watches what an action changes in the page.
type Watch interface {
	// Effects are shared by the action and the Watch.
	Effects() *Effects
	// Finish ends the input of the call, waits until the page has settled, and returns what changed.
	Finish(ctx context.Context) (executor.Changes, error)
	// End removes what the Watch installed in the page.
	End()
	// DetachedByHandover reports whether err is the detachment of the tab by a navigation to another
	// program that the action caused.
	DetachedByHandover(err error) bool
}

// Effects are what is known about the effects of an action when its input has been sent.
type Effects struct {
	Target   *elements.Shown // the target, if its change is reported; otherwise nil
	Entered  []*EnteredField // the fields into which the action entered text
	Choosers int             // number of file choosers that the page had requested before, or that were answered
	Changed  bool            // earlier input of the action may have changed the page
	File     bool            // the click was on a download link, which starts no navigation
	Invalid  bool            // the click submitted no form, because fields are invalid
	Brief    bool            // do not wait for an animation frame if the DOM has not changed
	Plain    bool            // also do not wait for one if the page did nothing
	Hung     bool            // the page has not responded for a long time: do not wait for it again

	// Handled is called when the page has handled the last input, before the result of the action is known.
	Handled func(ctx context.Context)
}

// Options are the options of [New].
type Options struct {
	Shield       *shield.Shield
	Buttons      *Buttons // of the tab
	FileChoosers *record.EventLog[cdppage.EventFileChooserOpened]
	// Watch starts to watch what an action changes.
	Watch func() Watch
	// ReportsOutline reports whether the result of an action shows how the page changed.
	ReportsOutline func(ctx context.Context) bool
	// Touch reports whether the tab emulates a touch screen.
	Touch func() bool
	// Inflight returns the number of requests of the page that are in flight.
	Inflight func() int
	// DelayAnswers delays the answers to dialogs, because a press that waits behind a dialog must expire
	// first.
	DelayAnswers func(time.Duration)
	// Secrets are what Type and FillForm may type without the client seeing it. nil means nothing.
	Secrets executor.Secrets
	// BeginSecret is called before a secret is typed. It returns an error if none may be typed. cancel must
	// be called if none was typed.
	BeginSecret func() (cancel func(), err error)
	// SharedBrowser means that the browser also has browser contexts of other clients.
	SharedBrowser bool
	// UserClipboard means that the clipboard of the browser is that of the user's desktop.
	UserClipboard bool
}

// The types below build on each other: each embeds the one before it, and has the methods of one subject.

// A device sends input to a tab.
type device struct {
	client  *frames.Client
	finder  *elements.Finder
	tree    *frames.Tree
	timing  *timing.Timing
	shield  *shield.Shield
	buttons *Buttons
	opts    Options
}

// A waiter waits until elements can be operated.
type waiter struct{ *device }

// A pointer clicks elements, and verifies which element received the click.
type pointer struct{ *waiter }

// A keyboard presses keys and inserts text.
type keyboard struct{ *pointer }

// fields have the methods that change the values of fields.
type fields struct{ *keyboard }

// An uploader passes files to elements.
type uploader struct{ *fields }

// An Actor operates the elements of a tab for one client. It runs one action at a time.
type Actor struct{ *uploader }

// New returns the Actor of a client.
func New(client *frames.Client, finder *elements.Finder, opts Options) *Actor {
	dev := &device{client: client, finder: finder, tree: client.Tree, timing: client.Tree.Timing(), shield: opts.Shield, buttons: opts.Buttons, opts: opts}
	return &Actor{&uploader{&fields{&keyboard{&pointer{&waiter{dev}}}}}}
}
