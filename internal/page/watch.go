package page

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

const (
	// settleLimit bounds the wait for requests that an action started.
	settleLimit = 500 * time.Millisecond
	// commitLimit bounds the wait for a navigation that an action started to
	// replace the document, and then to have its content.
	commitLimit = 10 * time.Second
	// contentLimit bounds the wait for the content of a document that an
	// action led to.
	contentLimit = 2 * time.Second
	// downloadLimit bounds the wait for a download to start that a navigation
	// became, linkLimit for that of a download link.
	downloadLimit = 400 * time.Millisecond
	linkLimit     = time.Second
	// quiet is how long a document must not have changed to count as settled,
	// once it has changed at all.
	quiet = 20 * time.Millisecond
)

// A watch notes what a page is like before an action, to tell afterwards what
// the action changed.
type watch struct {
	v        *View
	token    string
	doc      *document        // the top document before; nil if there was none
	title    *cdpconn.Pending // title of doc before; nil if it was not queried
	loader   cdp.LoaderID
	url      string
	moves    int
	seq      int // of the newest request before
	errCount int
	windows  windows          // windows that the page had requested
	choosers int              // of files, that the page had wanted to open
	departs  int              // navigations of the top frame that had begun
	handed   int              // navigations to other programs
	begun    int              // downloads that had started
	passed   int              // dialogs that were closed because the page was leaving
	file     bool             // the click was on a download link, which starts no navigation
	changed  bool             // earlier input of the action may have changed the page
	invalid  bool             // the click sent no form, because fields are invalid
	brief    bool             // do not wait for a frame when the tree has not changed
	plain    bool             // nor when the page did nothing at all
	hung     bool             // the page has not answered for long: do not wait for it again
	rested   string           // the world of the top document that came to rest
	newTitle string           // its title then
	stirred  bool             // the tree of a document changed meanwhile
	seen     early            // its outline then
	resting  *cdpconn.Pending // begin's question to doc; nil when it was not asked
	ended    int              // how many requests had ended when the page was asked last
}

// watch begins to watch. It waits for nothing.
func (v *View) watch() *watch {
	t := v.tab
	w := &watch{v: v, token: rand.Text()}
	t.mu.Lock()
	f := t.frames[t.main]
	w.doc = t.documentOf(f)
	w.loader, w.url, w.moves = f.loader, f.url, f.moves
	w.seq, w.errCount, w.windows, w.choosers = t.traffic.seq, t.errCount, t.windows, t.choosers
	w.departs, w.passed, w.handed = t.departs, t.passedCount, t.handoverCount
	dialog := t.dialog != nil
	t.mu.Unlock()
	if v.opts.Downloads != nil {
		w.begun = v.opts.Downloads.Begun()
	}
	t.catchChoosers(true)
	if w.doc != nil && !dialog {
		w.title, _ = w.doc.start(context.Background(), "mark", w.token)
	}
	return w
}

// end takes away what watch left in the page.
func (w *watch) end() {
	w.v.tab.catchChoosers(false)
	if w.doc != nil && w.title != nil && w.doc.current() {
		w.doc.start(context.Background(), "unmark", w.token)
	}
}

// finish is like settle, after input. It ends the input of the call, and returns
// ErrPolicyDenied if a denied document would have received input.
func (w *watch) finish(ctx context.Context) (executor.Changes, error) {
	if err := w.v.unblock(ctx); err != nil && !w.v.tab.detachedByHandover(err, w.handed) {
		return executor.Changes{}, err
	}
	return w.settle(ctx)
}

// settle waits until the page has come to rest and tells what changed. What
// cannot be found out is a note, and no error unless the caller has gone.
func (w *watch) settle(ctx context.Context) (c executor.Changes, err error) {
	// The page may be busy for long; what is known by then is told.
	limit, cancel := context.WithTimeout(ctx, commitLimit)
	defer cancel()
	err = w.rest(limit)
	if errors.Is(ctx.Err(), context.Canceled) {
		return c, context.Cause(ctx) // nobody listens any more
	}
	t := w.v.tab
	t.mu.Lock()
	gone := t.goneError()
	dialog := t.dialog
	c.Pending = t.traffic.since(w.seq)
	chooser := ""
	if t.choosers != w.choosers {
		chooser = chooserNote
	}
	files, filesLimit := 0, downloadLimit
	if (t.departs != w.departs || w.file) && t.frames[t.main].loader == w.loader && t.dialog == nil {
		files = 1 // a navigation that did not commit, or a download link
	}
	if w.file {
		filesLimit = linkLimit
	}
	errs := slices.Clone(t.errors[max(0, len(t.errors)-(t.errCount-w.errCount)):])
	t.mu.Unlock()
	if dialog != nil {
		told := w.v.told(ctx, dialog)
		c.Dialog = &told
	}
	for _, e := range errs {
		if w.v.Reads(ctx, string(e.frame)) {
			c.Errors = append(c.Errors, e.text)
		}
	}
	blocked := ""
	defer func() {
		c.Note = joinNotes(chooser, blocked, w.v.handoversSince(ctx, w.handed), w.v.passedSince(ctx, w.passed), c.Note)
	}()
	if w.v.opts.NewTabs != nil {
		c.NewTabs, blocked = w.newTabs(ctx)
	}
	if w.v.opts.Downloads != nil {
		limit, cancel := context.WithTimeout(ctx, filesLimit)
		d := w.v.opts.Downloads.News(limit, w.begun, files)
		c.Downloads, c.EarlierDownloads, c.MoreDownloads = d.Began, d.Earlier, d.More
		cancel()
	}
	switch {
	case t.detachedByHandover(gone, w.handed):
		return c, nil // its note says why
	case gone != nil:
		c.Note = "the tab is gone: " + gone.Error()
		return c, nil
	case c.Dialog != nil:
		w.titleBefore(ctx) // for the watch of the changes after the answer
		return c, nil      // nothing can be read before it is answered
	case errors.Is(err, executor.ErrDialogOpen):
		var e *executor.Error
		if errors.As(err, &e) {
			c.Note = e.Message() + "; " + strings.ToLower(e.Hint[:1]) + strings.TrimSuffix(e.Hint[1:], ".")
		}
		return c, nil
	case errors.Is(err, cdpconn.ErrNoAnswer):
		c.Note = "the page is busy, so what it shows was not read"
		return c, nil
	case err == nil || errors.Is(err, executor.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errDocumentGone):
		limit, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		err = w.compare(limit, &c)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return c, context.Cause(ctx)
	}
	c.Note = joinNotes(c.Note, unread(err))
	return c, nil
}

// unread is the note on a page that could not be read after an action: what
// was done is done, so that is no error.
func unread(err error) string {
	if err == nil {
		return ""
	}
	err = timeoutAs(err, "its answer")
	text := err.Error()
	var e *executor.Error
	if errors.As(err, &e) {
		text = e.Message()
	}
	return "the page could not be read: " + firstLine(text)
}

// begin asks the page to tell when it has come to rest, as soon as the input
// is handled: the frame that shows it is the next one then.
func (w *watch) begin(ctx context.Context) {
	if w.doc != nil && w.doc.current() {
		w.resting, _ = w.ask(ctx, w.doc, settleLimit)
	}
}

// restOptions are js/settle.js's RestOptions.
type restOptions struct {
	Quiet   int64 `json:"quiet"`
	Max     int64 `json:"max"`
	Brief   bool  `json:"brief,omitempty"`
	Plain   bool  `json:"plain,omitempty"`
	Unseen  bool  `json:"unseen,omitempty"`
	Outline bool  `json:"outline,omitempty"`
}

func (w *watch) ask(ctx context.Context, d *document, limit time.Duration) (*cdpconn.Pending, error) {
	w.v.tab.mu.Lock()
	w.ended = w.v.tab.traffic.ended
	w.v.tab.mu.Unlock()
	return d.start(ctx, "rest", w.token, restOptions{
		Quiet: quiet.Milliseconds(), Max: limit.Milliseconds(), Brief: w.brief, Plain: w.plain, Unseen: w.v.after(ctx) == executor.AfterNone, Outline: w.v.tellsOutline(ctx),
	})
}

// rest waits for what the action set off.
func (w *watch) rest(ctx context.Context) error {
	start := time.Now()
	for {
		if err := w.committed(ctx); err != nil {
			return err
		}
		d, err := w.v.tab.document(ctx)
		if err != nil {
			return err
		}
		left := settleLimit - time.Since(start)
		if left < quiet {
			left = quiet
		}
		grace := answerGrace
		if w.hung {
			grace = 0
		}
		limit, cancel := context.WithTimeout(ctx, left+grace)
		var at struct {
			Title   string       `json:"title"`
			Changed bool         `json:"changed"`
			Outline jsonv2.Value `json:"outline"`
		}
		p := w.resting
		if w.resting = nil; p == nil || d.world != w.doc.world {
			p, err = w.ask(ctx, d, left)
		}
		if err == nil {
			err = d.finish(limit, p, &at)
		}
		cancel()
		if errors.Is(err, errDocumentGone) {
			continue // it went on to another document
		}
		if err != nil {
			return err
		}
		w.rested, w.newTitle, w.stirred = d.world, at.Title, w.stirred || at.Changed
		w.seen = early{world: d.world, surveyed: at.Changed, raw: at.Outline}
		busy, err := w.requests(ctx, settleLimit-time.Since(start))
		if err != nil {
			return err
		}
		if !busy {
			return nil
		}
	}
}

// committed waits while a navigation of the top frame is under way, until the
// new document is there and has its content.
func (w *watch) committed(ctx context.Context) error {
	t := w.v.tab
	err := t.await(ctx, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		n, under := t.started[t.main]
		return !under || n.same, nil
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	moved := t.frames[t.main].loader != w.loader
	t.mu.Unlock()
	if !moved {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, contentLimit)
	defer cancel()
	err = t.await(limit, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		f := t.frames[t.main]
		return f.world != nil && f.reached["DOMContentLoaded"], nil
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// requests waits for the requests that began after the watch did. It reports
// whether any has ended since the page was asked: it may have changed by that.
func (w *watch) requests(ctx context.Context, left time.Duration) (busy bool, err error) {
	t := w.v.tab
	t.mu.Lock()
	n, ended := t.traffic.since(w.seq), t.traffic.ended != w.ended
	_, under := t.started[t.main]
	t.mu.Unlock()
	if under {
		return true, nil
	}
	if n == 0 || left <= 0 {
		return ended && left > 0, nil
	}
	limit, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err = t.await(limit, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		_, under := t.started[t.main]
		return under || t.traffic.since(w.seq) == 0, nil
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return true, err
}

// refused is the note on an action that led to where the gate denies: the page
// is there, or was kept out by the network's wall.
func refused(err error) string {
	note := "the page that it led to is refused. " + string(executor.ErrPolicyDenied)
	var e *executor.Error
	if !errors.As(err, &e) {
		return note + "."
	}
	return strings.TrimSpace(note + ": " + e.Message() + ". " + e.Hint)
}

// titleBefore returns the title of the document before the action. If a dialog
// blocked the document, that is the title that was last read.
func (w *watch) titleBefore(ctx context.Context) (title string, known bool) {
	t := w.v.tab
	if w.doc == nil {
		return "", false
	}
	if w.title == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.title.text, t.title.world == w.doc.world
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if w.doc.finish(ctx, w.title, &title) != nil {
		return "", false
	}
	t.noteTitle(w.doc.world, title)
	return title, true
}

// compare fills in where the page is now, and how it differs from what this
// client saw last.
func (w *watch) compare(ctx context.Context, c *executor.Changes) error {
	d, err := w.v.document(ctx, executor.OpRead)
	if err != nil {
		if errors.Is(err, executor.ErrPolicyDenied) {
			c.Note = refused(err)
			return nil
		}
		return err
	}
	c.Origin = d.origin
	if err := w.v.loadFailure(ctx); err != nil {
		c.Note = "the page that it led to did not load: " + err.Error()
		return nil
	}
	moved := d.loader != w.loader || d.url != w.url
	if moved {
		c.URL = d.url
	}
	title := w.newTitle
	if d.world != w.rested {
		title, _ = d.title(ctx)
	}
	before, known := w.titleBefore(ctx)
	if known && title != before || d.loader != w.loader {
		c.Title = title
	}
	w.v.tab.noteTitle(d.world, title)
	return w.v.changes(ctx, d, c, w.stirred || moved || d.world != w.rested, w.seen)
}
