package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// errDocumentDetached is returned by calls on a document that no longer exists.
var errDocumentDetached = errors.New("the document is gone")

// A document is one document of a frame, as it was when it was looked up. Calls on it run in our
// isolated world of exactly this document, or fail: a navigation between two calls cannot redirect
// a call to another document.
type document struct {
	tree   *frameTree
	sess   *cdpconn.Session
	frame  cdp.FrameID
	parent cdp.FrameID
	loader cdp.LoaderID
	world  string // CDP's unique id of our isolated world; identifies the document
	main   string // CDP's unique id of the main world; may be empty
	url    string
	origin string
	// errorPage means that the document is an error page of the browser, such as a certificate warning.
	errorPage bool
}

// top reports whether d is the tab's top document.
func (d *document) top() bool { return d.frame == d.tree.main }

// documentOf returns the document of f, or nil if its isolated world is not known or f is nil.
func (s *State) documentOf(f *frame) *document {
	if f == nil || f.world == nil || f.sess == nil {
		return nil
	}
	return s.documentIn(f, f.world)
}

// documentIn is documentOf for a given world w of the frame.
func (s *State) documentIn(f *frame, w *executionContext) *document {
	d := &document{
		tree: s.tree, sess: f.sess, frame: f.id, parent: f.parent, loader: f.loader,
		world: w.id, url: f.url, origin: w.origin, errorPage: f.isErrorPage(),
	}
	if f.mainWorld != nil {
		d.main = f.mainWorld.id
	}
	if d.top() && d.origin == executor.OriginOpaque {
		blank := s.blankIsOurs() && isBlank(f.url)
		if blank || d.errorPage {
			d.origin = executor.OriginInternal
		}
	}
	if f.unreachable != "" {
		d.url = f.unreachable
	}
	return d
}

// path returns the document of f and the documents around it, or nil if one of them is unknown, so
// that the gate cannot be queried.
func (s *State) Path(f *frame) []*document {
	var path []*document
	for ; f != nil; f = s.frames[f.parent] {
		d := s.documentOf(f)
		switch {
		case d != nil:
		case f.mainWorld == nil || f.sess == nil:
			return nil
		default: // activity from before the attachment is reported before our isolated world exists
			if d = s.documentIn(f, f.mainWorld); d.url == "" {
				d.url = d.origin + "/"
			}
		}
		path = append(path, d)
	}
	if len(path) == 0 || !path[len(path)-1].top() {
		return nil
	}
	return path
}

func isBlank(url string) bool { return url == "about:blank" || url == "" }

// document returns the tab's top document. It waits for the document's isolated world if the
// browser has not reported it yet.
func (t *frameTree) document(ctx context.Context) (*document, error) {
	return t.frameDocument(ctx, t.main)
}

func (t *frameTree) frameDocument(ctx context.Context, id cdp.FrameID) (*document, error) {
	var d *document
	err := t.awaitUnblocked(ctx, func(s *State) (bool, error) {
		f := s.frames[id]
		if f == nil {
			return false, errDocumentDetached
		}
		d = s.documentOf(f)
		return d != nil, nil
	})
	if err != nil {
		return nil, timeoutAs(err, "the document to start")
	}
	return d, nil
}

// documents returns the documents of all frames whose isolated world is known, parents first.
func (t *frameTree) documents() []*document {
	return slices.DeleteFunc(t.frameList(), func(d *document) bool { return d.world == "" })
}

// frameList returns a document for each frame of the tab, parents first. If the document's isolated
// world is not known, it is a document without world.
func (t *frameTree) frameList() []*document {
	s := t.Lock()
	defer s.Unlock()
	var list []*document
	for _, f := range s.inOrder() {
		list = append(list, cmp.Or(s.documentOf(f), &document{tree: t, sess: f.sess, frame: f.id, parent: f.parent}))
	}
	return list
}

// current reports whether d is still the document of its frame.
func (d *document) current() bool {
	s := d.tree.Lock()
	defer s.Unlock()
	return s.shows(d)
}

// shows reports whether d is still the document of its frame.
func (s *State) shows(d *document) bool {
	f := s.frames[d.frame]
	return f != nil && f.world != nil && f.world.id == d.world
}

// call runs the page script function name with args in the document and decodes its result, or the
// value of the promise that it returns, into result. It returns errDocumentDetached if the document
// no longer exists and ErrDialogOpen if a dialog opens during the call.
func (d *document) call(ctx context.Context, result any, name string, args ...any) error {
	p, err := d.start(ctx, name, args...)
	if err != nil {
		return err
	}
	return d.finish(ctx, p, result)
}

// start sends the command of call without waiting for the response. Commands run in the order in
// which they were started.
func (d *document) start(ctx context.Context, name string, args ...any) (*cdpconn.Pending, error) {
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
	return d.startFunction(ctx, functionCall{
		Function:  "function(name, args) { return globalThis.__cm[name](...JSON.parse(args)) }",
		Arguments: []argument{{name}, {string(text)}}, ByValue: true, Await: true,
	})
}

// A functionCall is a call of a function that the page scripts do not define.
type functionCall struct {
	Function  string // its source
	Arguments []argument
	ByValue   bool // the response has the result; otherwise it describes it
	Await     bool // wait for the promise that the function returns
}

// An argument is an argument of a functionCall.
type argument struct {
	Value string `json:"value"`
}

// startFunction starts a call of a function in our isolated world of the document, which may be denied.
func (d *document) startFunction(ctx context.Context, call functionCall) (*cdpconn.Pending, error) {
	p, err := d.sess.Start(ctx, runtime.CommandCallFunctionOn, struct {
		// cdproto's type omits arguments that are empty strings.
		Function  string     `json:"functionDeclaration"`
		World     string     `json:"uniqueContextId,omitempty"`
		Arguments []argument `json:"arguments,omitempty"`
		ByValue   bool       `json:"returnByValue"`
		Await     bool       `json:"awaitPromise"`
		Silent    bool       `json:"silent"`
	}{call.Function, d.world, call.Arguments, call.ByValue, call.Await, true})
	return p, d.failure(err)
}

// install sends the page scripts to the document's isolated world, unless they are installed there.
// It does not wait: commands that are sent later find the scripts installed.
func (d *document) install(ctx context.Context) error {
	var err error
	s := d.tree.Lock() // until the scripts are sent: no other command may overtake them
	if !s.installed[d.world] {
		_, err = d.sess.Start(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{
			Expression: d.tree.scripts, UniqueContextID: d.world, Silent: new(true),
		})
		s.installed[d.world] = err == nil
	}
	s.Unlock()
	return d.failure(err)
}

// finish waits for the response to a command of start and decodes its result. See call.
func (d *document) finish(ctx context.Context, p *cdpconn.Pending, result any) error {
	var answer struct {
		Result struct {
			Value jsonv2.Value `json:"value"`
		} `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	if err := d.wait(ctx, p, &answer); err != nil {
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

// wait waits for the response to a command that runs a script in the document. It returns early if
// a dialog opens, because the browser responds only after the dialog is answered.
func (d *document) wait(ctx context.Context, p *cdpconn.Pending, result any) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	var grace <-chan time.Time
	for {
		changed, err := d.tree.obstruction()
		if err != nil && !notify.IsClosed(p.Done()) { // unless the response arrived earlier
			return err
		}
		if grace == nil && d.tree.observer.mayBeBlocked() != nil {
			grace = time.After(d.tree.timing.OtherTabDialog)
		}
		select {
		case <-p.Done():
			return d.failure(p.Wait(ctx, result))
		case <-grace:
			if err := d.tree.observer.awaitOtherTab(ctx); err != nil {
				return err
			}
		case <-changed:
		case <-ctx.Done():
			return d.failure(p.Wait(ctx, result))
		}
	}
}

// failure is like documentError. In addition, it returns errDocumentDetached for an out-of-process
// iframe whose CDP session has ended, because that session ends with the document.
func (d *document) failure(err error) error {
	if errors.Is(err, executor.ErrTargetGone) && d.frame != "" && !d.top() {
		s := d.tree.Lock()
		defer s.Unlock()
		if s.Unusable() == nil {
			return fmt.Errorf("%w: %w", errDocumentDetached, err)
		}
	}
	return documentError(err)
}

// documentError adds errDocumentDetached to errors by which the browser reports that an execution
// context no longer exists.
func documentError(err error) error {
	if ce, ok := errors.AsType[*cdpconn.Error](err); ok {
		for _, s := range []string{
			"uniqueContextId not found", "Cannot find context", "context was destroyed", "Promise was collected",
			"Inspected target navigated or closed", "Session with given id not found", "Cannot find execution context",
		} {
			if strings.Contains(ce.Message, s) {
				return fmt.Errorf("%w: %w", errDocumentDetached, err)
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
func (d *document) scriptError(details *runtime.ExceptionDetails) error {
	text := details.Text
	if details.Exception != nil && details.Exception.Description != "" {
		text = details.Exception.Description
	}
	d.tree.log.Warn("a page script failed", "error", text[:min(len(text), maxLoggedError)])
	return executor.Errorf(executor.ErrInternal, "Take a new snapshot and try again.", "a page script failed: %s", pagetext.Text(text))
}

func (d *document) title(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, d.tree.timing.Title)
	defer cancel()
	var s string
	err := d.call(ctx, &s, "title")
	if err == nil && d.top() {
		d.tree.noteTitle(d.world, s)
	}
	return s, err
}

// A notedTitle is the title of the document that has a world with the given id. The zero value is that of
// no document.
type notedTitle struct{ world, text string }

// noteTitle stores the title of the top document, which has the world with the given id.
func (t *frameTree) noteTitle(world, title string) {
	t.title.Store(&notedTitle{world, title})
}

// lastTitle returns the title of a top document that was last read.
func (t *frameTree) lastTitle() notedTitle {
	return *cmp.Or(t.title.Load(), new(notedTitle))
}

// awaitReplaced waits until another document has replaced d in its frame.
func (d *document) awaitReplaced(ctx context.Context) error {
	return d.tree.await(ctx, func(s *State) (bool, error) { return !s.shows(d), nil })
}

// timeoutAs returns an ErrTimeout that names what was waited for if err is an exceeded deadline. It
// returns other errors unchanged.
func timeoutAs(err error, what string) error {
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
