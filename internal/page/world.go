package page

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// worldName is the isolated world that every document has for our scripts:
// they share the document with the page and nothing else.
const worldName = "chrome-mcp"

// bindingName is the function that page scripts report through. It exists in
// our world only, and its calls arrive even when a dialog or a navigation
// swallows the answer to the call that caused them.
const bindingName = "__cmReport"

//go:generate go test -run ^TestEarlyDigests$ -count=1 . -update

//go:embed js/*.js
var scriptFiles embed.FS

// bundle is every page script as one expression: core.js first, then the
// others by name, in one function scope.
var bundle = sync.OnceValue(func() string {
	names, err := fs.Glob(scriptFiles, "js/*.js")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	slices.SortFunc(names, func(a, b string) int {
		if a == "js/core.js" || b == "js/core.js" {
			if a == b {
				return 0
			}
			if a == "js/core.js" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	// A document that comes back from the back/forward cache has them still;
	// a second copy would number its elements anew. The property must be the
	// window's own: <div id="__cm"> gives it one by that name in every world.
	b.WriteString("(() => { 'use strict'; if (Object.hasOwn(globalThis, '__cm')) return;\n")
	for _, name := range names {
		data, err := scriptFiles.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	b.WriteString("Object.defineProperty(globalThis, '__cm', { value: api }); })()")
	return b.String()
})

// earlyScript returns the script that runs in our world before any script of a
// document. It listens on the window for the events that confirm input. A page
// that stops these events therefore cannot hide them, and a press that another
// element would receive can be blocked. Without a request from us, the script
// does nothing.
//
// With bundled, it contains our page scripts if the document is the top document
// of a tab, and reports that. They are needed there immediately, and the browser
// keeps the compiled code for the next document. It does not keep the compiled
// code of scripts that are sent to each document.
//
// It also runs in denied documents. The extension allows no other script there:
// it recognizes the scripts by their digests.
func earlyScript(bundled bool) string {
	script := listenScript
	if bundled {
		script += ";\nif (self === top) {\n" + bundle() + ";\n" + bindingName + "('" + installedReport + "');\n}"
	}
	return script
}

// installedReport is what a document reports in which our scripts are.
const installedReport = `{"installed":true}`

const listenScript = `(() => {
  if (Object.hasOwn(globalThis, '__cmEarly')) return;
  const asked = new Set();
  Object.defineProperty(globalThis, '__cmEarly', { value: asked });
  const tell = (e) => { if (asked.size) for (const hear of [...asked]) hear(e); };
  for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick', 'pointerover', 'mouseover', 'pointermove', 'mousemove', 'keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'compositionstart', 'compositionupdate', 'compositionend', 'paste', 'cut', 'copy', 'dragstart', 'drag', 'dragenter', 'dragover', 'dragleave', 'drop', 'dragend']) {
    addEventListener(type, tell, { capture: true, passive: false });
  }
  // A page that scrolls by touch need not wait for these.
  for (const type of ['touchstart', 'touchmove', 'touchend']) addEventListener(type, tell, { capture: true, passive: true });
})()`

// errDocumentGone is returned by calls on a document that is no longer there.
var errDocumentGone = errors.New("the document is gone")

// A document is one document of a frame, as it was when it was looked up.
// Calls on it run in our world of that very document, or fail: a navigation
// in between cannot hand them another one.
type document struct {
	tab    *Tab
	sess   *cdpconn.Session
	frame  cdp.FrameID
	parent cdp.FrameID
	loader cdp.LoaderID
	world  string // the protocol's unique id of our world; identifies the document
	main   string // of the page's own world; may be empty
	url    string
	origin string
}

// top reports whether it is the tab's top document.
func (d *document) top() bool { return d.frame == d.tab.main }

// documentOf returns the document of f, nil while its world is not known.
// t.mu must be held.
func (t *Tab) documentOf(f *frame) *document {
	if f == nil || f.world == nil || f.sess == nil {
		return nil
	}
	return t.documentIn(f, f.world)
}

// documentIn is documentOf by the frame's world w.
func (t *Tab) documentIn(f *frame, w *world) *document {
	d := &document{
		tab: t, sess: f.sess, frame: f.id, parent: f.parent, loader: f.loader,
		world: w.id, url: f.url, origin: w.origin,
	}
	if f.mainWorld != nil {
		d.main = f.mainWorld.id
	}
	if f.id == t.main && d.origin == executor.OriginOpaque {
		blank := t.blankIsOurs() && isBlank(f.url)
		if blank || strings.HasPrefix(f.url, "chrome-error:") {
			d.origin = executor.OriginOurs
		}
	}
	if f.unreachable != "" {
		d.url = f.unreachable
	}
	return d
}

func isBlank(url string) bool { return url == "about:blank" || url == "" }

// document returns the tab's top document, waiting for its world if the
// browser has not announced it yet.
func (t *Tab) document(ctx context.Context) (*document, error) {
	return t.frameDocument(ctx, t.main)
}

func (t *Tab) frameDocument(ctx context.Context, id cdp.FrameID) (*document, error) {
	var d *document
	err := t.await(ctx, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		f := t.frames[id]
		if f == nil {
			return false, errDocumentGone
		}
		d = t.documentOf(f)
		return d != nil, nil
	})
	if err != nil {
		return nil, timeoutAs(err, "the document to begin")
	}
	return d, nil
}

// documents returns the documents of all frames whose world is known, parents
// first.
func (t *Tab) documents() []*document {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*document
	for _, f := range t.inOrder() {
		if d := t.documentOf(f); d != nil {
			list = append(list, d)
		}
	}
	return list
}

// current reports whether d is still its frame's document.
func (d *document) current() bool {
	d.tab.mu.Lock()
	defer d.tab.mu.Unlock()
	f := d.tab.frames[d.frame]
	return f != nil && f.world != nil && f.world.id == d.world
}

// call runs api.<name>(args…) of our scripts in the document and decodes what
// it returns, a promise's value included, into result. It returns
// errDocumentGone when the document went away and ErrDialogOpen when a dialog
// opened meanwhile.
func (d *document) call(ctx context.Context, result any, name string, args ...any) error {
	p, err := d.start(ctx, name, args...)
	if err != nil {
		return err
	}
	return d.finish(ctx, p, result)
}

// start is the first half of call: it sends the command. Commands that are
// started one after another run in that order.
func (d *document) start(ctx context.Context, name string, args ...any) (*cdpconn.Pending, error) {
	if err := d.install(ctx); err != nil {
		return nil, err
	}
	params := functionCall{
		Function: "function(name, args) { return globalThis.__cm[name](...JSON.parse(args)) }",
		World:    d.world, ByValue: true, Await: true, Silent: true,
	}
	if args == nil {
		args = []any{}
	}
	// As text: chrome.debugger leaves null out of objects, and so of arguments.
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encoding the arguments of %s: %w", name, err)
	}
	for _, arg := range []string{name, string(text)} {
		value, err := json.Marshal(arg)
		if err != nil {
			return nil, err
		}
		params.Arguments = append(params.Arguments, argument{value})
	}
	p, err := d.sess.Start(ctx, runtime.CommandCallFunctionOn, params)
	return p, d.failure(err)
}

// A functionCall is the parameters of Runtime.callFunctionOn. cdproto's own
// leave out arguments that are empty strings.
type functionCall struct {
	Function  string     `json:"functionDeclaration"`
	World     string     `json:"uniqueContextId,omitempty"`
	Object    string     `json:"objectId,omitempty"`
	Arguments []argument `json:"arguments,omitempty"`
	ByValue   bool       `json:"returnByValue"`
	Await     bool       `json:"awaitPromise"`
	Silent    bool       `json:"silent"`
}

type argument struct {
	Value jsonv2.Value `json:"value"`
}

// yes is what cdproto's optional flags point to.
var yes = func() *bool { b := true; return &b }()

// install puts our scripts into the document's world, unless they came with
// the document, without waiting: what is sent next finds them there.
func (d *document) install(ctx context.Context) error {
	d.tab.mu.Lock() // until they are sent: another call must not overtake them
	if d.tab.scripts[d.world] {
		d.tab.mu.Unlock()
		return nil
	}
	_, err := d.sess.Start(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: bundle(), UniqueContextID: d.world, Silent: yes,
	})
	if err == nil {
		d.tab.scripts[d.world] = true
	}
	d.tab.mu.Unlock()
	return d.failure(err)
}

// finish is the second half of call.
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
		return fmt.Errorf("decoding what a page script returned: %w", err)
	}
	return nil
}

// wait waits for a command that runs script in the document. A dialog ends
// the wait: nothing would be answered before it is.
func (d *document) wait(ctx context.Context, p *cdpconn.Pending, result any) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	var grace <-chan time.Time
	for {
		d.tab.mu.Lock()
		dialog, gone, changed := d.tab.dialog, d.tab.goneError(), d.tab.changed
		d.tab.mu.Unlock()
		if dialog != nil || gone != nil {
			select {
			case <-p.Done(): // answered before
			default:
				if gone != nil {
					return gone // a crashed page answers nothing
				}
				return dialog.error()
			}
		}
		if grace == nil && d.tab.elsewhere() != nil {
			grace = time.After(familyGrace)
		}
		select {
		case <-p.Done():
			return d.failure(p.Wait(ctx, result))
		case <-grace:
			if err := d.tab.blockedElsewhere(ctx); err != nil {
				return err
			}
		case <-changed:
		case <-ctx.Done():
			return d.failure(p.Wait(ctx, result))
		}
	}
}

// failure is documentError, and knows that the session of a frame with a
// process of its own goes with its document.
func (d *document) failure(err error) error {
	if errors.Is(err, executor.ErrTargetGone) && d.frame != "" && !d.top() {
		d.tab.mu.Lock()
		defer d.tab.mu.Unlock()
		if d.tab.goneError() == nil {
			return fmt.Errorf("%w: %w", errDocumentGone, err)
		}
	}
	return documentError(err)
}

// documentError recognises the browser's ways of saying that an execution
// context is gone.
func documentError(err error) error {
	var ce *cdpconn.Error
	if errors.As(err, &ce) {
		for _, s := range []string{
			"uniqueContextId not found", "Cannot find context", "context was destroyed", "Promise was collected",
			"Inspected target navigated or closed", "Session with given id not found", "Cannot find execution context",
		} {
			if strings.Contains(ce.Message, s) {
				return fmt.Errorf("%w: %w", errDocumentGone, err)
			}
		}
	}
	return err
}

// maxLoggedError limits how many bytes of an exception are logged. A page may
// have thrown it.
const maxLoggedError = 2 << 10

// scriptError makes an error of an exception in one of our own scripts: a bug
// of ours, or a page that broke what they stand on. Where it happened is for
// the log.
func (d *document) scriptError(details *runtime.ExceptionDetails) error {
	text := details.Text
	if details.Exception != nil && details.Exception.Description != "" {
		text = details.Exception.Description
	}
	d.tab.log.Warn("a page script failed", "error", text[:min(len(text), maxLoggedError)])
	return executor.Errorf(executor.ErrInternal, "Take a new snapshot and try again.", "a page script failed: %s", pagetext.Text(text))
}

// firstLine returns the first line of s, cut to a sensible length.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}

// timeoutAs says what was waited for when err is the end of a deadline.
func timeoutAs(err error, what string) error {
	if errors.Is(err, cdpconn.ErrNoAnswer) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: fmt.Errorf("timed out waiting for %s: %w", what, cdpconn.ErrNoAnswer),
			Hint: cdpconn.HungHint}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: fmt.Errorf("timed out waiting for %s", what),
			Hint: executor.HintMoreTime + " Take a snapshot to see where the page is."}
	}
	return err
}
