package frames

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// ErrDocumentGone is returned by calls on a document that no longer exists.
var ErrDocumentGone = errors.New("the document is gone")

// UnknownError returns the reason why a call failed: the document of frame is not known yet, so neither
// is whether the policy allows it. decision is the verb of the message, "allows" or "denies".
func UnknownError(frame, decision string) error {
	return fmt.Errorf("%s is loading or does not respond, so it is not known whether the policy %s it", frame, decision)
}

// A Document is one document of a frame, as it was when it was looked up. Calls on it run in our
// isolated world of exactly this document, or fail: a navigation between two calls cannot redirect
// a call to another document.
type Document struct {
	tree      *Tree
	Session   *cdpconn.Session // that reports the frame
	Frame     cdp.FrameID
	Parent    cdp.FrameID // the frame around Frame; empty for the top frame
	Loader    cdp.LoaderID
	World     string // CDP's unique id of our isolated world; identifies the document
	MainWorld string // CDP's unique id of the main world; may be empty
	URL       string
	Origin    string
	// ErrorPage means that the document is an error page of the browser, such as a certificate
	// warning.
	ErrorPage bool
}

// UnknownDocument returns the document of a frame before it is known, or after it is gone. No
// script can run in it, and its origin counts as opaque.
func (t *Tree) UnknownDocument(frame cdp.FrameID) *Document {
	return t.documentOf(frame, "", executor.OriginOpaque)
}

// documentOf returns the document of a frame, of which only the URL and the origin are known.
func (t *Tree) documentOf(frame cdp.FrameID, url, origin string) *Document {
	return &Document{tree: t, Frame: frame, URL: url, Origin: origin}
}

// DocumentForURL returns a document of the top frame, past or future, of which only the URL is known.
func (t *Tree) DocumentForURL(url string) *Document {
	return t.documentOf(t.topFrame, url, OriginOfURL(url))
}

// BestKnownDocument returns the top document. Between two documents, after a crash and while the
// tab is not attached, no script can run in the result, and it has only the URL and origin that are
// known.
func (s *State) BestKnownDocument() *Document {
	if d := s.Document(s.Top()); d != nil {
		return d
	}
	t := s.tree
	d := t.documentOf(t.topFrame, "about:blank", executor.OriginOpaque)
	dialog := t.observer.EarlyDialogURL()
	switch {
	case dialog != "": // it blocks the page, so nothing else is known
		d.URL = dialog
	case s.isDetached && s.lastKnownPage.URL != "":
		d.URL = s.lastKnownPage.URL
	}
	if s.isDetached || dialog != "" {
		d.Origin = OriginOfURL(d.URL)
		if s.blankIsOurs() && d.URL == "about:blank" {
			d.Origin = executor.OriginInternal
		}
	}
	return d
}

// IsTop reports whether d is the tab's top document.
func (d *Document) IsTop() bool { return d.Frame == d.tree.topFrame }

// Document returns the document of f, or nil if its isolated world is not known or f is nil.
func (s *State) Document(f *Frame) *Document {
	if f == nil || f.world == nil || f.sess == nil {
		return nil
	}
	return s.documentIn(f, f.world)
}

// documentIn is Document for a given world w of the frame.
func (s *State) documentIn(f *Frame, w *executionContext) *Document {
	d := &Document{
		tree: s.tree, Session: f.sess, Frame: f.id, Parent: f.parent, Loader: f.loader,
		World: w.id, URL: f.url, Origin: w.origin, ErrorPage: f.IsErrorPage(),
	}
	if f.mainWorld != nil {
		d.MainWorld = f.mainWorld.id
	}
	if d.IsTop() && d.Origin == executor.OriginOpaque {
		blank := s.blankIsOurs() && IsBlank(f.url)
		if blank || d.ErrorPage {
			d.Origin = executor.OriginInternal
		}
	}
	if f.unreachableURL != "" {
		d.URL = f.unreachableURL
	}
	return d
}

// Path returns the document of f and the documents around it, or nil if one of them is unknown:
// the gate cannot be queried then.
func (s *State) Path(f *Frame) []*Document {
	var path []*Document
	for ; f != nil; f = s.frames[f.parent] {
		d := s.Document(f)
		switch {
		case d != nil:
		case f.mainWorld == nil || f.sess == nil:
			return nil
		default: // activity from before the attachment is reported before our isolated world exists
			if d = s.documentIn(f, f.mainWorld); d.URL == "" {
				d.URL = d.Origin + "/"
			}
		}
		path = append(path, d)
	}
	if len(path) == 0 || !path[len(path)-1].IsTop() {
		return nil
	}
	return path
}

// IsBlank reports whether url is that of a blank document.
func IsBlank(url string) bool { return url == "about:blank" || url == "" }

// TopDocument returns the tab's top document. It waits for the document's isolated world if the
// browser has not reported it yet.
func (t *Tree) TopDocument(ctx context.Context) (*Document, error) {
	return t.AwaitDocument(ctx, t.topFrame)
}

// AwaitDocument is TopDocument for a frame. It returns ErrDocumentGone if the frame does not exist.
func (t *Tree) AwaitDocument(ctx context.Context, id cdp.FrameID) (*Document, error) {
	var d *Document
	err := t.AwaitUnlessDialog(ctx, func(s *State) (bool, error) {
		f := s.frames[id]
		if f == nil {
			return false, ErrDocumentGone
		}
		d = s.Document(f)
		return d != nil, nil
	})
	if err != nil {
		return nil, TimeoutAs(err, "the document to start")
	}
	return d, nil
}

// Documents returns the documents of all frames whose isolated world is known, parents first.
func (t *Tree) Documents() []*Document {
	return slices.DeleteFunc(t.AllDocuments(), func(d *Document) bool { return d.World == "" })
}

// AllDocuments returns a document for each frame of the tab, parents first. If the document's
// isolated world is not known, it is a document without world. It omits frames whose parent is not
// known yet.
func (t *Tree) AllDocuments() []*Document {
	s := t.Lock()
	defer s.Unlock()
	var list []*Document
	for _, f := range s.InOrder() {
		list = append(list, cmp.Or(s.Document(f), &Document{tree: t, Session: f.sess, Frame: f.id, Parent: f.parent}))
	}
	return list
}

// IsCurrent reports whether d is still the document of its frame.
func (d *Document) IsCurrent() bool {
	s := d.tree.Lock()
	defer s.Unlock()
	return s.shows(d)
}

// shows reports whether d is still the document of its frame.
func (s *State) shows(d *Document) bool {
	f := s.frames[d.Frame]
	return f != nil && f.world != nil && f.world.id == d.World
}

// Call runs the page script function name with args in the document and decodes its result, or the
// value of the promise that it returns, into result. It returns ErrDocumentGone if the document
// no longer exists and ErrDialogOpen if a dialog opens during the call.
func (d *Document) Call(ctx context.Context, result any, name string, args ...any) error {
	p, err := d.Start(ctx, name, args...)
	if err != nil {
		return err
	}
	return d.Finish(ctx, p, result)
}

// Start sends the command of Call without waiting for the response. Commands run in the order in
// which they were started.
func (d *Document) Start(ctx context.Context, name string, args ...any) (*cdpconn.Pending, error) {
	if err := d.install(ctx); err != nil {
		return nil, err
	}
	if args == nil {
		args = []any{}
	}
	// Arguments are passed as text, because chrome.debugger omits null members of objects,
	// including arguments.
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encoding the arguments of %s: %w", name, err)
	}
	p, err := d.StartFunction(ctx, FunctionCall{
		Function:  "function(name, args) { return globalThis.__cm[name](...JSON.parse(args)) }",
		arguments: []argument{{name}, {string(text)}}, ByValue: true, Await: true,
	})
	return p, d.AsGone(err)
}

// A FunctionCall is a call of a function in a document.
type FunctionCall struct {
	Function string // its source
	ByValue  bool   // the response has the result, and does not only describe it
	Await    bool   // the response waits for the promise that the function returns

	arguments []argument
}

// An argument is a text that is passed to a function.
type argument struct {
	Value string `json:"value"`
}

// StartFunction starts a call of a function in our isolated world of the document. It needs no page
// scripts, so the document may be a denied one. It does not lock the tree. [Document.AsGone] says
// what an error means.
func (d *Document) StartFunction(ctx context.Context, call FunctionCall) (*cdpconn.Pending, error) {
	p, err := d.Session.Start(ctx, runtime.CommandCallFunctionOn, struct {
		// cdproto's type omits arguments that are empty strings.
		Function  string     `json:"functionDeclaration"`
		World     string     `json:"uniqueContextId,omitempty"`
		Arguments []argument `json:"arguments,omitempty"`
		ByValue   bool       `json:"returnByValue"`
		Await     bool       `json:"awaitPromise"`
		Silent    bool       `json:"silent"`
	}{call.Function, d.World, call.arguments, call.ByValue, call.Await, true})
	return p, err
}

// install sends the page scripts to the document's isolated world, unless they are installed there.
// It does not wait: commands that are sent later find the scripts installed.
func (d *Document) install(ctx context.Context) error {
	var err error
	s := d.tree.Lock() // until the scripts are sent: no other command may overtake them
	if !s.scriptedWorlds[d.World] {
		_, err = d.Session.Start(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{
			Expression: d.tree.installScript, UniqueContextID: d.World, Silent: new(true),
		})
		s.scriptedWorlds[d.World] = err == nil
	}
	s.Unlock()
	return d.AsGone(err)
}

// Finish waits for the response to a command of Start and decodes its result. See Call.
func (d *Document) Finish(ctx context.Context, p *cdpconn.Pending, result any) error {
	var answer struct {
		Result struct {
			Value jsonv2.Value `json:"value"`
		} `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	if err := d.Wait(ctx, p, &answer); err != nil {
		return err
	}
	if answer.Exception != nil {
		return d.scriptError(answer.Exception)
	}
	if result == nil || len(answer.Result.Value) == 0 {
		return nil
	}
	if err := cdpconn.Unmarshal(answer.Result.Value, result); err != nil {
		return fmt.Errorf("decoding the result of a page script: %w", err)
	}
	return nil
}

// Wait waits for the response to a command that runs a script in the document. It returns early if
// a dialog opens, because the browser responds only after the dialog is answered.
func (d *Document) Wait(ctx context.Context, p *cdpconn.Pending, result any) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	var grace <-chan time.Time
	for {
		changed, err := d.tree.obstruction()
		if err != nil && !notify.IsClosed(p.Done()) { // unless the response arrived earlier
			return err
		}
		if grace == nil && d.tree.observer.OtherDialogError() != nil {
			grace = time.After(d.tree.timing.OtherTabDialog)
		}
		select {
		case <-p.Done():
			return d.AsGone(p.Wait(ctx, result))
		case <-grace:
			if err := d.tree.observer.AwaitOtherTab(ctx); err != nil {
				return err
			}
		case <-changed:
		case <-ctx.Done():
			return d.AsGone(p.Wait(ctx, result))
		}
	}
}

// AwaitResponse waits for the response to a command in the CDP session of the document. When ctx
// is done, it returns, but the command stays pending, so that a later call can wait for its response;
// [Document.Wait] forgets the command.
func (d *Document) AwaitResponse(ctx context.Context, p *cdpconn.Pending) error {
	for {
		changed, err := d.tree.obstruction()
		switch {
		case notify.IsClosed(p.Done()):
			return d.AsGone(p.Wait(ctx, nil))
		case err != nil:
			return err
		}
		select {
		case <-p.Done():
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait waits for the response to a command to the page. See [Document.Wait].
func (t *Tree) Wait(ctx context.Context, p *cdpconn.Pending, result any) error {
	return t.UnknownDocument("").Wait(ctx, p, result)
}

// AsGone adds ErrDocumentGone to an error of a command that means that the document no longer exists.
// The CDP session of an out-of-process iframe ends with its document.
func (d *Document) AsGone(err error) error {
	if errors.Is(err, executor.ErrTargetGone) && d.Frame != "" && !d.IsTop() {
		s := d.tree.Lock()
		defer s.Unlock()
		if s.Unusable() == nil {
			return fmt.Errorf("%w: %w", ErrDocumentGone, err)
		}
	}
	return documentError(err)
}

// documentError adds ErrDocumentGone to errors by which the browser reports that an execution
// context no longer exists.
func documentError(err error) error {
	if ce, ok := errors.AsType[*cdpconn.Error](err); ok {
		for _, s := range []string{
			"uniqueContextId not found", "Cannot find context", "context was destroyed", "Promise was collected",
			"Inspected target navigated or closed", "Session with given id not found", "Cannot find execution context",
		} {
			if strings.Contains(ce.Message, s) {
				return fmt.Errorf("%w: %w", ErrDocumentGone, err)
			}
		}
	}
	return err
}

// maxLoggedError is the maximum number of bytes of an exception that are logged. A page may have
// thrown the exception.
const maxLoggedError = 2 << 10

// scriptError returns the error for an exception in a page script. The cause is a bug in the
// script, or a page that changed objects that the script uses. Only the log gets the stack trace.
func (d *Document) scriptError(details *runtime.ExceptionDetails) error {
	text := details.Text
	if details.Exception != nil && details.Exception.Description != "" {
		text = details.Exception.Description
	}
	d.tree.log.Warn("a page script failed", "error", text[:min(len(text), maxLoggedError)])
	return executor.Errorf(executor.ErrInternal, "Take a new snapshot and try again.", "a page script failed: %s", pagetext.Text(text))
}

// Title returns the title of the document.
func (d *Document) Title(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, d.tree.timing.Title)
	defer cancel()
	var s string
	err := d.Call(ctx, &s, "title")
	if err == nil && d.IsTop() {
		d.tree.Title.Note(d.World, s)
	}
	return s, err
}

// A NotedTitle is the title of the document that has a world with the given id. The zero value is
// that of no document.
type NotedTitle struct{ World, Text string }

// A Title stores the title of a top document. The zero value stores none. It is safe for concurrent
// use.
type Title struct{ noted atomic.Pointer[NotedTitle] }

// Note stores the title of the top document, which has the world with the given id.
func (t *Title) Note(world, title string) { t.noted.Store(&NotedTitle{world, title}) }

// Last returns the title that was last stored.
func (t *Title) Last() NotedTitle { return *cmp.Or(t.noted.Load(), new(NotedTitle)) }

// AwaitReplaced waits until another document has replaced d in its frame.
func (d *Document) AwaitReplaced(ctx context.Context) error {
	return d.tree.Await(ctx, func(s *State) (bool, error) { return !s.shows(d), nil })
}

// PollInterval is how often a wait checks again if nothing changes in the DOM: a class, a value, the
// size of the page or the time may matter.
const PollInterval = 100 * time.Millisecond

// AwaitChange waits until the DOM of d changes, for at most PollInterval.
func (d *Document) AwaitChange(ctx context.Context) error {
	return d.Call(ctx, nil, "nextChange", PollInterval.Milliseconds())
}

// TimeoutAs returns an ErrTimeout that names what was waited for if err is an exceeded deadline. It
// returns other errors unchanged.
func TimeoutAs(err error, what string) error {
	if errors.Is(err, cdpconn.ErrCallTimeout) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: fmt.Errorf("timed out waiting for %s: %w", what, cdpconn.ErrCallTimeout),
			Hint: cdpconn.HungHint}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: fmt.Errorf("timed out waiting for %s", what),
			Hint: executor.HintMoreTime + " Take a snapshot to see where the page is."}
	}
	return err
}
