package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	walls "github.com/chrome-mcp/chrome-mcp/internal/obstacle"
)

// titleTimeout bounds the reading of a title: a page that is busy right after
// it loaded must not hold up the answer.
const titleTimeout = 2 * time.Second

// title returns the document's title.
func (d *document) title(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, titleTimeout)
	defer cancel()
	var s string
	err := d.call(ctx, &s, "title")
	if err == nil && d.top() {
		d.tab.noteTitle(d.world, s)
	}
	return s, err
}

// noteTitle stores the title of the top document in a world.
func (t *Tab) noteTitle(world, title string) {
	t.mu.Lock()
	t.title.world, t.title.text = world, title
	t.mu.Unlock()
}

// Navigate loads url and waits for opts.Until.
func (v *View) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	ctx, cancel := navigateContext(ctx, opts)
	defer cancel()
	if err := checkURL(url); err != nil {
		return nil, err
	}
	if err := v.leaving(ctx, url); err != nil {
		return nil, err
	}
	return v.goTo(ctx, opts, hostOf(url), func(ctx context.Context) (*navigated, error) {
		before := v.committed()
		var res cdppage.NavigateResult
		if err := v.command(ctx, "Page.navigate", cdppage.NavigateParams{URL: url}, &res); err != nil {
			if strings.Contains(err.Error(), "invalid URL") {
				err = executor.Errorf(executor.ErrBadArgs, "Give an absolute URL, such as https://example.com/.", "the browser does not take the URL")
			}
			return nil, err
		}
		n := &navigated{loader: res.LoaderID, failure: res.ErrorText, download: res.IsDownload, url: url}
		if n.loader == "" && n.failure == "" && !n.download {
			return v.nextDocument(ctx, before) // a part of the same document
		}
		return n, nil
	})
}

// checkURL refuses what is no absolute URL. Where it may lead is the gate's
// business; javascript: is not a place, and would run in the page that is
// being left.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "" || err != nil || u.Scheme == "" || (u.Host == "" && (u.Scheme == "http" || u.Scheme == "https")):
		return executor.Errorf(executor.ErrBadArgs, "Give an absolute URL, such as https://example.com/.", "the url is not an absolute URL")
	case strings.EqualFold(u.Scheme, "javascript"):
		return executor.Errorf(executor.ErrBadArgs, "Use eval to run JavaScript.", "a javascript: URL leads nowhere")
	}
	return nil
}

// Reload loads the document again.
func (v *View) Reload(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	ctx, cancel := navigateContext(ctx, opts)
	defer cancel()
	if err := v.leaving(ctx, v.itself()); err != nil {
		return nil, err
	}
	return v.goTo(ctx, opts, "the page", func(ctx context.Context) (*navigated, error) {
		before := v.committed()
		if err := v.command(ctx, "Page.reload", nil, nil); err != nil {
			return nil, err
		}
		return v.nextDocument(ctx, before)
	})
}

// itself returns the URL that the tab loads when it reloads.
func (v *View) itself() string {
	t := v.tab
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.frames[t.main]; f.unreachable != "" {
		return f.unreachable
	}
	if t.asleep {
		return t.noted.url
	}
	return t.frames[t.main].url
}

// A navigated is how far the command that navigates has come.
type navigated struct {
	loader   cdp.LoaderID // of the new document; empty when the document stayed
	failure  string       // the network's error
	download bool
	url      string
}

// A position is where a tab was before it was told to go elsewhere.
type position struct {
	loader cdp.LoaderID
	moves  int
}

func (v *View) committed() position {
	t := v.tab
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.frames[t.main]
	return position{loader: f.loader, moves: f.moves}
}

// nextDocument waits until the top frame has moved on from before.
func (v *View) nextDocument(ctx context.Context, before position) (*navigated, error) {
	t := v.tab
	var n navigated
	err := t.await(ctx, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		f := t.frames[t.main]
		if f.loader != before.loader && f.unreachable != "" {
			n.loader, n.url, n.failure = f.loader, f.unreachable, t.failed
			return true, nil
		}
		switch {
		case f.loader != before.loader:
			n.loader = f.loader
			return true, nil
		case f.moves != before.moves:
			return true, nil
		}
		return false, nil
	})
	return &n, err
}

// leaving asks the gate whether the top document may be left for url.
func (v *View) leaving(ctx context.Context, url string) error {
	t := v.tab
	t.mu.Lock()
	d := t.known()
	t.mu.Unlock()
	return v.check(ctx, d, executor.OpNavigate, url)
}

func navigateContext(ctx context.Context, opts *executor.NavigateOptions) (context.Context, context.CancelFunc) {
	timeout := executor.DefaultNavigateTimeout
	if opts != nil && opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	return context.WithTimeout(ctx, timeout)
}

// errorPageLimit bounds the wait for the browser's error page.
const errorPageLimit = 2 * time.Second

// errorPage waits for the error page of a document that could not be loaded.
// The browser tells of the failure first, and takes no commands in between.
func (v *View) errorPage(ctx context.Context, loader cdp.LoaderID) {
	if loader == "" {
		return
	}
	limit, cancel := context.WithTimeout(ctx, errorPageLimit)
	defer cancel()
	v.reach(limit, loader, executor.UntilCommit)
}

// command sends a command to the page and waits, but not beyond a dialog that
// opens meanwhile: the browser would not answer before it is handled.
func (v *View) command(ctx context.Context, method string, params, result any) error {
	limit, cancel := context.WithTimeout(ctx, errorPageLimit)
	defer cancel()
	for {
		err := v.commandOnce(ctx, method, params, result)
		var ce *cdpconn.Error
		if !errors.As(err, &ce) || !strings.Contains(ce.Message, "Not attached to an active page") {
			return err
		}
		// The next document is on its way in, and the browser takes commands for
		// neither; it does not tell either when that is over.
		t := v.tab
		if t.await(ctx, func() (bool, error) {
			_, under := t.started[t.main]
			return !under, nil
		}) != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit.Done():
			return err
		}
	}
}

func (v *View) commandOnce(ctx context.Context, method string, params, result any) error {
	p, err := v.tab.sess.Start(ctx, method, params)
	if err != nil {
		return err
	}
	d := &document{tab: v.tab}
	return d.wait(ctx, p, result)
}

// downloadNote describes the downloads that started after the first begun
// downloads, and earlier ones that have ended. If no download started, it says
// what to do instead.
func (v *View) downloadNote(ctx context.Context, begun int) string {
	const instead = "the browser started no download: download the URL instead of navigating to it"
	if v.opts.Downloads == nil {
		return instead
	}
	ctx, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	d := v.opts.Downloads.News(ctx, begun, 1)
	var notes []string
	for _, x := range d.Began {
		notes = append(notes, describeDownload(x))
	}
	if len(notes) == 0 {
		notes = append(notes, instead)
	}
	for _, x := range d.Earlier {
		notes = append(notes, "an earlier "+describeDownload(x))
	}
	if d.More > 0 {
		notes = append(notes, fmt.Sprintf("and %d more", d.More))
	}
	return joinNotes(notes...)
}

func describeDownload(d executor.Download) string {
	note := fmt.Sprintf("download %s %q", d.State, cmp.Or(d.Path, d.SuggestedName))
	if d.Reason != "" {
		note += ": " + d.Reason
	}
	return note
}

// goAttached is goTo while the debugger stays where it is.
func (v *View) goAttached(ctx context.Context, opts *executor.NavigateOptions, what string, start func(context.Context) (*navigated, error)) (*executor.Navigation, error) {
	v.letGo(ctx)
	until := executor.UntilLoad
	if opts != nil && opts.Until != "" {
		until = opts.Until
	}
	if _, ok := lifecycleEvents[until]; !ok {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use load, domcontentloaded, networkidle or commit.", "waitUntil %q is unknown", string(until))
	}
	if err := v.tab.free(ctx); err != nil {
		return nil, err
	}
	v.tab.mu.Lock()
	passed, handovers := v.tab.passedCount, v.tab.handoverCount
	v.tab.mu.Unlock()
	begun := 0
	if v.opts.Downloads != nil {
		begun = v.opts.Downloads.Begun()
	}
	n, err := start(ctx)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout) {
			v.stop()
			return nil, timeoutAs(context.DeadlineExceeded, what+" to answer")
		}
		if ctx.Err() != nil {
			v.stop()
		}
		return nil, err
	}
	nav := &executor.Navigation{TabID: v.opts.ID}
	switch {
	case n.download:
		nav.Note = "the URL is a download, so the page stayed; " + v.downloadNote(ctx, begun)
	case n.failure == aborted && v.tab.handedOver(handovers):
		nav.Note = v.handoversSince(ctx, handovers)
	case n.failure == aborted && v.emptyResponse(n.loader):
		nav.Note = "the server sent nothing to show, so the page stayed"
		nav.HTTPStatus = v.responseOf(n.loader).status
	case n.failure == authRefused:
		v.errorPage(ctx, n.loader)
		if err := v.withheld(ctx, n); err != nil {
			return nil, v.redirected(n, err)
		}
		nav.URL, nav.HTTPStatus, nav.Note = v.asked(n), http.StatusUnauthorized, noteAuth
		nav.Obstacle = walls.FromResponse(nav.URL, "", nav.HTTPStatus)
		return nav, nil
	case n.failure != "":
		v.errorPage(ctx, n.loader)
		return nil, v.redirected(n, v.navigationError(ctx, n))
	case n.loader != "":
		if err := v.reach(ctx, n.loader, until); err != nil {
			return nil, timeoutAs(err, fmt.Sprintf("%s of %s", until, what))
		}
		if err := v.proxyFailure(); err != nil {
			return nil, v.redirected(n, err)
		}
	}
	if err := v.arrive(ctx, nav); err != nil {
		return nil, v.redirected(n, err)
	}
	if n.loader != "" && nav.Note == "" {
		came := v.responseOf(v.committed().loader)
		nav.HTTPStatus = came.status
		if came.pdf {
			nav.Note = notePDF
		}
		nav.Note = joinNotes(nav.Note, v.tab.cutNote())
		nav.Obstacle = walls.FromResponse(nav.URL, nav.Title, nav.HTTPStatus)
	}
	nav.Note = joinNotes(nav.Note, v.passedSince(ctx, passed))
	return nav, nil
}

// aborted is the network's error for a navigation that ended without a new
// document: the server sent no document, or something else ended the navigation.
const aborted = "net::ERR_ABORTED"

// emptyResponse reports whether the status of the response to a navigation means
// that the response has no document.
func (v *View) emptyResponse(loader cdp.LoaderID) bool {
	status := v.responseOf(loader).status
	return status == http.StatusNoContent || status == http.StatusResetContent
}

// answered returns the HTTP status of the newest answer to a request for a
// top document, one that did not become the document included.
func (v *View) answered() int {
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	return v.tab.answered
}

// responseOf returns what a document came with, nothing when there was none.
func (v *View) responseOf(loader cdp.LoaderID) response {
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	return v.tab.status[loader]
}

// cutNote is the note on a top document whose response ended early.
func (t *Tab) cutNote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if why := t.frames[t.main].cut; why != "" {
		return "the response ended early (" + why + "), so the page may be incomplete"
	}
	return ""
}

// stop ends a load that nobody waits for any more.
func (v *View) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	v.tab.sess.Start(ctx, "Page.stopLoading", nil)
}

// lifecycleEvents are the events of Page.lifecycleEvent to wait for.
var lifecycleEvents = map[executor.WaitUntil]string{
	executor.UntilLoad:             "load",
	executor.UntilDOMContentLoaded: "DOMContentLoaded",
	executor.UntilNetworkIdle:      "networkIdle",
	executor.UntilCommit:           "",
}

// reach waits until the document of loader, or one that a script sent the tab
// to meanwhile, has come as far as until.
func (v *View) reach(ctx context.Context, loader cdp.LoaderID, until executor.WaitUntil) error {
	event := lifecycleEvents[until]
	t := v.tab
	committed := false
	return t.await(ctx, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		f := t.frames[t.main]
		if f.loader == loader {
			committed = true
		}
		if !committed || f.world == nil {
			return false, nil
		}
		return event == "" || f.reached[event], nil
	})
}

// arrive fills in where the tab is, if the gate lets it be told.
func (v *View) arrive(ctx context.Context, nav *executor.Navigation) error {
	d, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return err
	}
	nav.URL = d.url
	if nav.Title, err = d.title(ctx); errors.Is(err, errDocumentGone) {
		return v.arrive(ctx, nav) // the page moved on: tell where to
	}
	return nil
}
