package page

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/input"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/reading"
)

// A changeTracker records the state of a page before an action, to report what the action changed.
type changeTracker struct {
	v       *View
	token   string
	start   time.Time
	effects input.Effects

	// The state before the action.
	doc                 *frames.Document  // the top document; nil if there was none
	title               *cdpconn.Pending  // query for the title of doc; nil if it was not queried
	lastTitle           frames.NotedTitle // the title that was last read
	loader              cdp.LoaderID
	url                 string
	seq                 int // sequence number of the newest request
	errCount            int
	popups              popupCounts // popup windows that the page had requested
	navigations         int         // navigations of the top frame that had started
	externalNavigations int         // navigations to other programs
	downloads           int         // downloads that had started
	autoClosed          int         // dialogs that had been closed automatically

	// The state when the page was quiet.
	pendingQuiet   *cdpconn.Pending       // query that begin sent to doc; nil if it sent none
	quietContextID string                 // isolated world of the top document
	newTitle       string                 // title of that document
	prefetched     reading.PrefetchedWalk // outline of that document
	mutated        bool                   // the DOM of a document has changed since start
	ended          int                    // number of requests that had ended when the page was last queried
	targetChange   *elements.Change       // how the element of effects.Target has changed since start
	targetCompared bool                   // targetChange is known
}

// Effects implements input.ChangeTracker.
func (w *changeTracker) Effects() *input.Effects { return &w.effects }

// DetachedByExternalNavigation implements input.ChangeTracker.
func (w *changeTracker) DetachedByExternalNavigation(err error) bool {
	return w.v.tab.externalNavigations.detached(err, w.externalNavigations)
}

// trackChanges starts to track changes. It does not wait.
func (v *View) trackChanges() *changeTracker {
	t := v.tab
	w := &changeTracker{v: v, token: rand.Text(), start: time.Now()}
	w.effects.Handled = w.queryQuietEarly
	s := t.tree.Lock()
	f := s.Top()
	w.doc = s.Document(f)
	w.loader, w.url = f.Loader(), f.URL()
	w.navigations = s.NavigationsStarted()
	w.seq, _ = t.inflight.Counts()
	w.errCount, w.autoClosed, w.externalNavigations = t.errors.Count(), t.dialogs.autoClosed.Count(), t.externalNavigations.Count()
	w.popups, w.effects.Choosers = t.Popups.counts(), t.fileChoosers.Count()
	dialog := t.dialogs.Open() != nil
	s.Unlock()
	w.lastTitle = t.tree.Title.Last()
	if v.opts.Downloads != nil {
		w.downloads = v.opts.Downloads.Started()
	}
	t.choosers.begin(t.tree)
	if w.doc != nil && !dialog {
		w.title, _ = w.doc.Start(context.Background(), "startTracking", w.token)
	}
	return w
}

// End removes what trackChanges installed in the page.
func (w *changeTracker) End() {
	w.v.tab.choosers.end(w.v.tab.tree)
	if w.doc != nil && w.title != nil && w.doc.IsCurrent() {
		w.doc.Start(context.Background(), "stopTracking", w.token)
	}
}

// Finish ends the input of the call, and then calls settle. It returns ErrPolicyDenied if a denied
// document would have received input.
func (w *changeTracker) Finish(ctx context.Context) (executor.Changes, error) {
	if err := w.v.tab.shield.Unblock(ctx, &w.v.client); err != nil && !w.v.tab.externalNavigations.detached(err, w.externalNavigations) {
		return executor.Changes{}, err
	}
	return w.settle(ctx)
}

// settle waits until the page has settled and returns what changed. If a change cannot be read, the
// result has a note. settle returns an error only if the caller canceled the call.
func (w *changeTracker) settle(ctx context.Context) (c executor.Changes, err error) {
	// The page may be busy for a long time. Report what is known by then.
	limit, cancel := context.WithTimeout(ctx, w.v.tab.timing.Commit)
	defer cancel()
	err = w.waitForQuiet(limit)
	if errors.Is(ctx.Err(), context.Canceled) {
		return c, context.Cause(ctx) // the caller canceled the call
	}
	rewritten := ""
	if err == nil {
		var read bool
		if rewritten, read = w.v.RewrittenFields(limit, w.effects.Entered); read {
			w.mutated, w.prefetched = true, reading.PrefetchedWalk{} // the values in it are older
		}
	}
	t := w.v.tab
	s := t.tree.Lock()
	gone := s.Unusable()
	dialog := t.dialogs.Open()
	c.Pending = t.inflight.Since(w.seq)
	chooser := ""
	if t.fileChoosers.Count() != w.effects.Choosers {
		chooser = chooserNote
	}
	wantDownloads, downloadLimit := 0, t.timing.Download
	if (s.NavigationsStarted() != w.navigations || w.effects.File) && s.Top().Loader() == w.loader && dialog == nil {
		wantDownloads = 1 // a navigation that did not commit, or a download link
	}
	if w.effects.File {
		downloadLimit = t.timing.LinkDownload
	}
	s.Unlock()
	if dialog != nil {
		redacted := w.v.redactedDialog(ctx, dialog)
		c.Dialog = &redacted
	}
	for _, e := range t.errors.Since(w.errCount) {
		if w.v.client.CanRead(ctx, e.Frame) {
			c.Errors = append(c.Errors, e.Text(w.v.visibility(ctx).URL))
		}
	}
	blocked := ""
	defer func() {
		c.Note = phrase.Notes(rewritten, chooser, blocked, w.v.externalNavigationsNote(ctx, w.externalNavigations), w.v.autoClosedNote(ctx, w.autoClosed), c.Note)
	}()
	if w.v.opts.NewTabs != nil {
		c.NewTabs, blocked = w.newTabs(ctx)
	}
	if w.v.opts.Downloads != nil {
		limit, cancel := context.WithTimeout(ctx, downloadLimit)
		d := w.v.opts.Downloads.News(limit, w.downloads, wantDownloads)
		c.Downloads, c.EarlierDownloads, c.MoreDownloads = d.Started, d.Earlier, d.More
		cancel()
	}
	switch {
	case t.externalNavigations.detached(gone, w.externalNavigations):
		return c, nil // the note on the navigation says why
	case gone != nil && t.tree.Gone() != nil:
		c.Note = "the tab is gone: " + gone.Error()
		return c, nil
	case gone != nil: // until the next call attaches, or the page is reloaded
		c.Note = unreadNote(gone)
		return c, nil
	case c.Dialog != nil:
		_, _ = w.titleBefore(ctx) // store it for the changeTracker of the answer
		return c, nil             // no command is answered before the dialog is
	case errors.Is(err, executor.ErrDialogOpen):
		if e, ok := errors.AsType[*executor.Error](err); ok {
			c.Note = e.Message() + "; answer it first"
		}
		return c, nil
	case errors.Is(err, cdpconn.ErrCallTimeout):
		c.Note = "the page is busy; changes were not read"
		return c, nil
	case err == nil || errors.Is(err, executor.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, frames.ErrDocumentGone):
		limit, cancel := context.WithTimeout(ctx, t.timing.Read)
		defer cancel()
		err = w.fillChanges(limit, &c)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return c, context.Cause(ctx)
	}
	c.Note = phrase.Notes(c.Note, unreadNote(err))
	return c, nil
}

// unreadNote returns the note on a page that could not be read after an action. That is not an
// error, because the action is done.
func unreadNote(err error) string {
	if err == nil {
		return ""
	}
	err = frames.TimeoutAs(err, "its response")
	text := err.Error()
	if e, ok := errors.AsType[*executor.Error](err); ok {
		text = e.Message()
	}
	return "the page could not be read: " + pagetext.FirstLine(text)
}

// queryQuietEarly queries the page for its quiet state as soon as the input is handled: the next animation
// frame then shows the result of the input.
func (w *changeTracker) queryQuietEarly(ctx context.Context) {
	if w.doc != nil && w.doc.IsCurrent() {
		w.pendingQuiet, _ = w.queryQuiet(ctx, w.doc, w.v.tab.timing.Settle)
	}
}

// quietOptions is QuietOptions of js/settle.js. Durations are in milliseconds.
type quietOptions struct {
	Quiet      int64               `json:"quiet"`
	Max        int64               `json:"max"`
	Timers     int64               `json:"timers,omitempty"`
	Brief      bool                `json:"brief,omitempty"`
	NoScroll   bool                `json:"noScroll,omitempty"`
	Unreported bool                `json:"unreported,omitempty"`
	Outline    bool                `json:"outline,omitempty"`
	Since      int                 `json:"since,omitempty"`
	Target     *elements.Reference `json:"target,omitempty"`
}

// queryQuiet sends the query that the page answers when it is quiet, after limit at the latest.
func (w *changeTracker) queryQuiet(ctx context.Context, d *frames.Document, limit time.Duration) (*cdpconn.Pending, error) {
	_, w.ended = w.v.tab.inflight.Counts()
	o := quietOptions{
		Quiet: w.v.tab.timing.Quiet.Milliseconds(), Max: limit.Milliseconds(), Brief: w.effects.Brief, NoScroll: w.effects.NoScroll, Unreported: w.v.After(ctx) == executor.AfterNone,
		Outline: w.v.ReportsOutline(ctx), Since: w.v.elements.Refs().Since(d.World),
	}
	if !o.Brief && !o.Unreported {
		o.Timers = w.v.tab.timing.TimedChange.Milliseconds()
	}
	if s := w.effects.Target; s != nil && s.Doc.World == d.World && !o.Outline {
		o.Target = s.Reference()
	}
	return d.Start(ctx, "waitForQuiet", w.token, o)
}

// waitForQuiet waits for the navigations, requests and DOM mutations that the action caused.
func (w *changeTracker) waitForQuiet(ctx context.Context) error {
	start, limits := time.Now(), &w.v.tab.timing
	for {
		if err := w.waitForNavigation(ctx); err != nil {
			return err
		}
		d, err := w.v.tab.tree.TopDocument(ctx)
		if err != nil {
			return err
		}
		left := max(limits.Settle-time.Since(start), limits.Quiet)
		grace := limits.Script
		if w.effects.Hung {
			grace = 0
		}
		limit, cancel := context.WithTimeout(ctx, left+grace)
		var at struct {
			Title   string           `json:"title"`
			Changed bool             `json:"changed"`
			Outline jsonv2.Value     `json:"outline"`
			Target  *elements.Change `json:"target"`
		}
		p := w.pendingQuiet
		if w.pendingQuiet = nil; p == nil || d.World != w.doc.World {
			p, err = w.queryQuiet(ctx, d, left)
		}
		if err == nil {
			err = d.Finish(limit, p, &at)
		}
		cancel()
		if errors.Is(err, frames.ErrDocumentGone) {
			continue // another document has committed
		}
		if err != nil {
			return err
		}
		w.quietContextID, w.newTitle, w.mutated = d.World, at.Title, w.mutated || at.Changed
		if s := w.effects.Target; s != nil && s.Doc.World == d.World && !w.v.ReportsOutline(ctx) {
			w.targetChange, w.targetCompared = at.Target, true
		}
		w.prefetched = reading.PrefetchedWalk{World: d.World, Surveyed: at.Changed, Raw: at.Outline}
		busy, err := w.waitForRequests(ctx, limits.Settle-time.Since(start))
		if err != nil {
			return err
		}
		if !busy {
			return nil
		}
	}
}

// waitForNavigation waits while a navigation of the top frame is pending, until the new document
// has its content.
func (w *changeTracker) waitForNavigation(ctx context.Context) error {
	t := w.v.tab
	err := t.tree.AwaitUnlessDialog(ctx, func(s *frames.State) (bool, error) {
		n, navigating := s.TopNavigation()
		return !navigating || n.SameDocument, nil
	})
	if err != nil {
		return err
	}
	if navigationStateOf(t.tree).loader == w.loader {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, t.timing.Content)
	defer cancel()
	err = t.tree.AwaitUnlessDialog(limit, func(s *frames.State) (bool, error) {
		f := s.Top()
		return f.World() != "" && f.Reached("DOMContentLoaded"), nil
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// waitForRequests waits for the requests that started after trackChanges was called. It reports
// whether any request has ended since the page was last queried: the page may have changed because
// of it.
func (w *changeTracker) waitForRequests(ctx context.Context, left time.Duration) (busy bool, err error) {
	t := w.v.tab
	s := t.tree.Lock()
	n := t.inflight.Since(w.seq)
	_, ended := t.inflight.Counts()
	_, navigating := s.TopNavigation()
	s.Unlock()
	if navigating {
		return true, nil
	}
	if n == 0 || left <= 0 {
		return ended != w.ended && left > 0, nil
	}
	limit, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err = t.tree.AwaitUnlessDialog(limit, func(s *frames.State) (bool, error) {
		_, navigating := s.TopNavigation()
		return navigating || t.inflight.Since(w.seq) == 0, nil
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return true, err
}

// deniedNote returns the note on an action that navigated to a document that the gate denies,
// whether the document has loaded or was blocked by network enforcement. A document that is not
// known yet is not denied.
func deniedNote(err error) string {
	note := "navigation denied by policy. " + string(executor.ErrPolicyDenied)
	e, ok := errors.AsType[*executor.Error](err)
	switch {
	case !ok:
		return note + "."
	case e.Retryable:
		return unreadNote(err)
	}
	return strings.TrimSpace(note + ": " + e.Message() + ". " + e.Hint)
}

// titleBefore returns the title of the document before the action, and stores it in the tree. If a
// dialog blocked the document, it returns the title that was last stored.
func (w *changeTracker) titleBefore(ctx context.Context) (title string, known bool) {
	t := w.v.tab
	if w.doc == nil {
		return "", false
	}
	if w.title == nil {
		if w.lastTitle.World != w.doc.World {
			return "", false
		}
		return w.lastTitle.Text, true
	}
	ctx, cancel := context.WithTimeout(ctx, t.timing.EarlierTitle)
	defer cancel()
	if w.doc.Finish(ctx, w.title, &title) != nil {
		return "", false
	}
	t.tree.Title.Note(w.doc.World, title)
	return title, true
}

// fillChanges sets the current URL and title of the page, and how the page differs from what this
// client last received.
func (w *changeTracker) fillChanges(ctx context.Context, c *executor.Changes) error {
	d, err := w.v.client.Document(ctx, executor.OpRead)
	if err != nil {
		if errors.Is(err, executor.ErrPolicyDenied) {
			c.Note = deniedNote(err)
			return nil
		}
		return err
	}
	c.Origin = d.Origin
	if err := w.v.LoadFailure(ctx); errors.Is(err, executor.ErrPolicyDenied) {
		c.Note = deniedNote(err)
		return nil
	} else if err != nil {
		c.Note = "the page that it navigated to did not load: " + err.Error()
		return nil
	}
	moved := d.Loader != w.loader || d.URL != w.url
	if moved {
		c.URL = d.URL
	}
	title := w.newTitle
	if d.World != w.quietContextID {
		title, _ = d.Title(ctx)
	}
	before, known := w.titleBefore(ctx)
	if known && title != before || d.Loader != w.loader {
		c.Title = title
	}
	w.v.tab.tree.Title.Note(d.World, title)
	err = w.v.Changes(ctx, d, c, w.mutated || moved || d.World != w.quietContextID, w.prefetched)
	c.Note = phrase.Notes(c.Note, w.targetNote(ctx))
	return err
}

// targetNote returns a note with the new name of the element that an action was on, if the rest of
// the result does not show it.
func (w *changeTracker) targetNote(ctx context.Context) string {
	s, v := w.effects.Target, w.v
	if s == nil || !s.Doc.IsCurrent() || s.Ref == "" && !v.client.CanRead(ctx, s.Doc.Frame) {
		return ""
	}
	if s.Ref != "" && v.ReportsOutline(ctx) {
		known := v.elements.Refs().KnownAt(s.Ref)
		if known == 0 || known >= v.elements.Refs().Since(s.Doc.World) {
			return "" // it has a new ref, or the result shows it
		}
	}
	c := w.targetChange
	if !w.targetCompared && s.Doc.Call(ctx, &c, "changeOf", s.ID, s.At) != nil || c == nil {
		return ""
	}
	return v.elements.ReceiveChange(s, c)
}
