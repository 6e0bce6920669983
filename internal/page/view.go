package page

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// A View is one client's look at a [Tab]. Its methods are those of
// executor.Executor without the tab argument. Apart from HandleDialog, they
// must be called between Tab.Enter and its leave.
type View struct {
	tab  *Tab
	opts ViewOptions

	mu     sync.Mutex // guards what follows
	refs   map[executor.Ref]node
	names  map[node]executor.Ref
	labels map[executor.Ref]label     // label that was shown for a ref; kept when its document is gone
	next   int                        // number of the last ref
	last   *shown                     // what this client last received; nil before
	parts  map[node]*outline.Document // what it last received of some elements
	heard  int                        // number of the last console message that it requested not to receive again
}

// Downloads are the downloads that the page of a tab starts.
type Downloads interface {
	// Begun returns the number of downloads that have started.
	Begun() int
	// News returns the changes of the downloads since the last call. It waits
	// until want downloads have started after the first begun downloads, or ctx
	// is done.
	News(ctx context.Context, begun, want int) DownloadNews
}

// DownloadNews lists downloads that started or ended.
type DownloadNews struct {
	Began   []executor.Download // after the first begun downloads
	Earlier []executor.Download // among the first begun downloads
	More    int                 // number of downloads in neither list
}

// ViewOptions are the options of [Tab.NewView].
type ViewOptions struct {
	ID          executor.TabID
	Gate        executor.Gate // nil denies everything
	AfterAction executor.AfterAction
	// NewTabs returns the tabs that this tab's page opened since the last
	// call. It waits, while ctx lets it, until there are want of them.
	NewTabs   func(ctx context.Context, want int) []executor.Tab
	Downloads Downloads // may be nil
	// Consent asks the user, after the gate, whether scripts of the client may
	// run in a document with an origin. nil asks nobody.
	Consent func(ctx context.Context, origin string) error
}

// A node is one element: a number that our scripts gave it in one document.
type node struct {
	world string
	id    int
}

// NewView returns a client's view of the tab.
func (t *Tab) NewView(opts ViewOptions) *View {
	if opts.Gate == nil {
		opts.Gate = executor.GateFunc(func(context.Context, executor.Access) error {
			return executor.Errorf(executor.ErrPolicyDenied, "Give the session a Gate.", "the session has no policy, so everything is denied")
		})
	}
	return &View{tab: t, opts: opts, refs: make(map[executor.Ref]node), names: make(map[node]executor.Ref), labels: make(map[executor.Ref]label), parts: make(map[node]*outline.Document)}
}

// Tab returns the tab that v looks at.
func (v *View) Tab() *Tab { return v.tab }

// check asks the gate whether op may be done to d.
func (v *View) check(ctx context.Context, d *document, op executor.Operation, destination string) error {
	access := executor.Access{
		Tab: v.opts.ID, Document: string(d.loader), URL: d.url, Origin: d.origin,
		Op: op, Destination: destination, OwnTab: v.tab.isOwn(),
	}
	if !d.top() {
		access.Frame = string(d.frame)
	}
	err := v.opts.Gate.Check(ctx, access)
	if err != nil && !errors.Is(err, executor.ErrPolicyDenied) && !errors.Is(err, executor.ErrConsentRequired) {
		// Whatever a gate says that is not nil denies.
		return &executor.Error{Code: executor.ErrPolicyDenied, Err: err}
	}
	return err
}

// document returns the top document after asking the gate for op.
func (v *View) document(ctx context.Context, op executor.Operation) (*document, error) {
	d, err := v.tab.document(ctx)
	if err != nil {
		return nil, err
	}
	return d, v.check(ctx, d, op, "")
}

// scriptable is document for what runs the client's own script.
func (v *View) scriptable(ctx context.Context, op executor.Operation) (*document, error) {
	d, err := v.document(ctx, op)
	if err != nil {
		return nil, err
	}
	return d, v.consent(ctx, d)
}

func (v *View) consent(ctx context.Context, d *document) error {
	if v.opts.Consent == nil || d.origin == executor.OriginOurs {
		return nil
	}
	return v.opts.Consent(ctx, d.origin)
}

// allowed returns the documents of the tab, parents first, that the gate
// allows op on. A document below a denied one is judged by itself, but is
// left out: nothing of what surrounds it may be told.
func (v *View) allowed(ctx context.Context, op executor.Operation) []*document {
	v.tab.awaitFrames(ctx)
	denied := make(map[string]bool)
	var list []*document
	for _, d := range v.tab.documents() {
		if denied[string(d.parent)] || v.check(ctx, d, op, "") != nil {
			denied[string(d.frame)] = true
			continue
		}
		list = append(list, d)
	}
	return list
}

// mint returns the ref of an element, a new one when it has none.
func (v *View) mint(world string, id int, l label) executor.Ref {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := node{world: world, id: id}
	r, ok := v.names[n]
	if !ok {
		v.next++
		r = executor.Ref(fmt.Sprintf("e%d", v.next))
		v.names[n], v.refs[r] = r, n
	}
	l.Name = cutText(l.Name, maxLabelName)
	v.labels[r] = l
	return r
}

// maxLabelName limits the stored length of an element's name.
const maxLabelName = 300

// maxLabels bounds what is remembered of refs whose documents are gone.
const maxLabels = 5000

// forget drops the refs of documents that are gone, so that a client that
// stays for long does not keep every element it ever saw.
func (v *View) forget() {
	alive := make(map[string]bool)
	for _, d := range v.tab.documents() {
		alive[d.world] = true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.parts, func(n node, _ *outline.Document) bool { return !alive[n.world] })
	for n, r := range v.names {
		if !alive[n.world] {
			delete(v.names, n)
			delete(v.refs, r)
			if len(v.labels) > maxLabels {
				delete(v.labels, r)
			}
		}
	}
}

// betweenDocuments is how long a tab that has left one document may take to
// tell of the next: it is there, and what is its origin follows at once.
const betweenDocuments = 250 * time.Millisecond

// Info tells the URL and title of the tab, as far as the gate allows. Title
// is empty while a dialog blocks the page.
func (v *View) Info(ctx context.Context) (url, title, origin string, err error) {
	t := v.tab
	limit, cancel := context.WithTimeout(ctx, betweenDocuments)
	t.await(limit, func() (bool, error) {
		f := t.frames[t.main]
		return t.asleep || t.dialog != nil || f.world != nil || f.loader == "", nil
	})
	cancel()
	t.mu.Lock()
	d, dialog := t.documentOf(t.frames[t.main]), t.dialog != nil
	asleep, noted := t.asleep, t.noted
	if asleep {
		d = t.known()
	}
	t.mu.Unlock()
	if d == nil && dialog {
		t.mu.Lock()
		d = t.known()
		t.mu.Unlock()
	}
	if d == nil { // nothing is told of it, but that it is there
		origin := executor.OriginOpaque
		if asleep || t.isOwn() {
			origin = executor.OriginOurs
		}
		d = &document{tab: t, frame: t.main, url: "about:blank", origin: origin}
	}
	if err := v.check(ctx, d, executor.OpList, ""); err != nil {
		return "", "", "", err
	}
	if asleep {
		return d.url, noted.title, d.origin, nil
	}
	if !dialog && d.url != "about:blank" {
		title, _ = d.title(ctx)
	}
	if d.url == "" { // a popup before its first document
		return "about:blank", title, d.origin, nil
	}
	return d.url, title, d.origin, nil
}

// DialogNote returns a note about the dialog that blocks the page, or "" if no
// dialog does.
func (v *View) DialogNote() string {
	if err := v.tab.dialogError(); err != nil {
		return err.(*executor.Error).Message()
	}
	return ""
}

// Reads reports whether the gate lets the document of a frame be read, and
// those that the frame is in. A frame that is not known is not read.
func (v *View) Reads(ctx context.Context, frame string) bool {
	return v.checkFrame(ctx, cdp.FrameID(frame), executor.OpRead, "") == nil
}

// checkFrame asks the gate for op on the document of a frame, and for leave to
// read those that it is in: what surrounds it would tell of it.
func (v *View) checkFrame(ctx context.Context, id cdp.FrameID, op executor.Operation, destination string) error {
	t := v.tab
	var path []*document
	t.mu.Lock()
	for f := t.frames[id]; f != nil; f = t.frames[f.parent] {
		d := t.documentOf(f)
		if d == nil && f.id == t.main {
			d = t.known()
		}
		if d == nil {
			d = &document{tab: t, frame: f.id, parent: f.parent, url: f.url, origin: executor.OriginOpaque}
		}
		path = append(path, d)
	}
	t.mu.Unlock()
	if len(path) == 0 || !path[len(path)-1].top() {
		return executor.Errorf(executor.ErrPolicyDenied, "Take a new snapshot.", "the frame is not known")
	}
	for i, d := range path {
		if i > 0 {
			op, destination = executor.OpRead, ""
		}
		if err := v.check(ctx, d, op, destination); err != nil {
			return err
		}
	}
	return nil
}

// MayDownload asks the gate whether a frame of the tab may download url.
func (v *View) MayDownload(ctx context.Context, frame, url string) error {
	return v.checkFrame(ctx, cdp.FrameID(frame), executor.OpDownload, url)
}

// Allows asks the gate whether op may be done to the top document.
func (v *View) Allows(ctx context.Context, op executor.Operation, destination string) error {
	t := v.tab
	t.mu.Lock()
	d := t.known()
	t.mu.Unlock()
	return v.check(ctx, d, op, destination)
}
