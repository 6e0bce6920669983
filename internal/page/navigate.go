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
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// Navigate loads url and waits until opts.Until is reached.
func (v *View) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	ctx, cancel := navigateContext(ctx, opts)
	defer cancel()
	if err := checkURL(url); err != nil {
		return nil, err
	}
	if err := v.Check(ctx, executor.OpNavigate, url); err != nil {
		return nil, err
	}
	return v.navigateWith(ctx, opts, hostOf(url), func(ctx context.Context) (*navigationResult, error) {
		before := v.navigationState()
		var res cdppage.NavigateResult
		if err := v.tab.tree.Command(ctx, "Page.navigate", cdppage.NavigateParams{URL: url}, &res); err != nil {
			if strings.Contains(err.Error(), "invalid URL") {
				err = executor.Errorf(executor.ErrBadArgs, "Give an absolute URL, such as https://example.com/.", "the browser rejects the URL")
			}
			return nil, err
		}
		n := &navigationResult{loader: res.LoaderID, failure: res.ErrorText, download: res.IsDownload, url: url}
		if n.loader == "" && n.failure == "" && !n.download {
			return v.waitForCommit(ctx, before) // a same-document navigation
		}
		return n, nil
	})
}

// checkURL returns ErrBadArgs unless raw is an absolute URL. It also rejects javascript: URLs,
// which would run a script in the current page. Whether a URL is allowed is decided by the gate.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "" || err != nil || u.Scheme == "" || (u.Host == "" && (u.Scheme == "http" || u.Scheme == "https")):
		return executor.Errorf(executor.ErrBadArgs, "Give an absolute URL, such as https://example.com/.", "the url is not an absolute URL")
	case strings.EqualFold(u.Scheme, "javascript"):
		return executor.Errorf(executor.ErrBadArgs, "Use Page.Eval to run JavaScript.", "javascript: URLs cannot be navigated to")
	}
	return nil
}

// Reload loads the document again. It does not send a form again, unless opts.Resubmit is set.
func (v *View) Reload(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	ctx, cancel := navigateContext(ctx, opts)
	defer cancel()
	if err := v.Check(ctx, executor.OpNavigate, v.reloadURL()); err != nil {
		return nil, err
	}
	return v.navigateWith(ctx, opts, "the page", func(ctx context.Context) (*navigationResult, error) {
		return v.loadAgain(ctx, opts != nil && opts.Resubmit, cdppage.CommandReload, nil)
	})
}

// reloadURL returns the URL that the tab loads when it reloads.
func (v *View) reloadURL() string {
	s := v.tab.tree.Lock()
	unreachable := s.Top().Unreachable()
	s.Unlock()
	return cmp.Or(unreachable, v.tab.URL())
}

// A navigationResult is the state of a navigation after its command.
type navigationResult struct {
	loader   cdp.LoaderID // of the new document; empty if the document did not change
	failure  string       // the network error
	download bool
	url      string
}

// A navigationState identifies the document of a tab before a navigation.
type navigationState struct {
	loader       cdp.LoaderID
	sameDocument int // same-document navigations
}

// navigationState returns the current state of the top frame.
func (v *View) navigationState() navigationState {
	s := v.tab.tree.Lock()
	defer s.Unlock()
	f := s.Top()
	return navigationState{loader: f.Loader(), sameDocument: f.SameDocumentNavigations()}
}

// waitForCommit waits until a navigation of the top frame has committed since before. It returns
// ErrNavigationFailed if the guard of its requests has failed it.
func (v *View) waitForCommit(ctx context.Context, before navigationState) (*navigationResult, error) {
	t := v.tab
	var n navigationResult
	err := t.tree.AwaitUnblocked(ctx, func(s *frames.State) (bool, error) {
		if err := t.Interception.Failed(); err != nil {
			return false, err
		}
		f := s.Top()
		if f.Loader() != before.loader && f.Unreachable() != "" {
			n.loader, n.url, n.failure = f.Loader(), f.Unreachable(), t.responses.LastError()
			return true, nil
		}
		switch {
		case f.Loader() != before.loader:
			n.loader = f.Loader()
			return true, nil
		case f.SameDocumentNavigations() != before.sameDocument:
			return true, nil
		}
		return false, nil
	})
	return &n, err
}

// navigateContext returns ctx with the timeout of opts.
func navigateContext(ctx context.Context, opts *executor.NavigateOptions) (context.Context, context.CancelFunc) {
	timeout := executor.DefaultNavigateTimeout
	if opts != nil && opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	return context.WithTimeout(ctx, timeout)
}

// untilOf returns what a navigation waits for.
func untilOf(opts *executor.NavigateOptions) executor.WaitUntil {
	return cmp.Or(cmp.Or(opts, new(executor.NavigateOptions)).Until, executor.UntilLoad)
}

// waitForErrorPage waits for the error page of a document that failed to load. The browser reports
// the failure first, and accepts no commands until the error page has committed.
func (v *View) waitForErrorPage(ctx context.Context, loader cdp.LoaderID) {
	if loader == "" {
		return
	}
	limit, cancel := context.WithTimeout(ctx, v.tab.timing.ErrorPage)
	defer cancel()
	v.waitForLifecycle(limit, loader, executor.UntilCommit)
}

// downloadNote describes the downloads that started after the first startedBefore downloads, and
// earlier ones that have ended. If no download started, it says how to start one.
func (v *View) downloadNote(ctx context.Context, startedBefore int) string {
	const instead = "the browser started no download: download the URL instead of navigating to it"
	if v.opts.Downloads == nil {
		return instead
	}
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Download)
	defer cancel()
	d := v.opts.Downloads.News(ctx, startedBefore, 1)
	var notes []string
	for _, x := range d.Started {
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
	return phrase.Notes(notes...)
}

func describeDownload(d executor.Download) string {
	note := fmt.Sprintf("download %s %q", d.State, cmp.Or(d.Path, d.SuggestedName))
	if d.Reason != "" {
		note += ": " + d.Reason
	}
	return note
}

// navigateAttached is navigateWith without attaching to the tab again if the debugger is detached
// during the navigation.
func (v *View) navigateAttached(ctx context.Context, opts *executor.NavigateOptions, what string, start func(context.Context) (*navigationResult, error)) (*executor.Navigation, error) {
	v.ReleaseButtons(ctx)
	until := untilOf(opts)
	if _, ok := lifecycleEvents[until]; !ok {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use load, domcontentloaded, networkidle or commit.", "waitUntil %q is unknown", string(until))
	}
	if err := v.tab.unblock(ctx); err != nil {
		return nil, err
	}
	passed, handovers := v.tab.dialogs.autoClosed.Count(), v.tab.handovers.Count()
	startedBefore := 0
	if v.opts.Downloads != nil {
		startedBefore = v.opts.Downloads.Started()
	}
	n, err := start(ctx)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout) {
			v.stop()
			return nil, frames.TimeoutAs(context.DeadlineExceeded, what+" to respond")
		}
		if ctx.Err() != nil {
			v.stop()
		}
		return nil, err
	}
	nav := &executor.Navigation{TabID: v.opts.ID}
	switch {
	case n.download:
		nav.Note = "the URL is a download; the page did not change; " + v.downloadNote(ctx, startedBefore)
	case n.failure == netErrAborted && v.tab.handovers.Count() > handovers:
		nav.Note = v.handoversSince(ctx, handovers)
	case n.failure == netErrAborted && v.emptyResponse(n.loader):
		nav.Note = "the server returned no content; the page did not change"
		nav.HTTPStatus = v.tab.responses.Of(n.loader).Status
	case n.failure == netErrInvalidAuth:
		v.waitForErrorPage(ctx, n.loader)
		if err := v.policyError(ctx, n); err != nil {
			return nil, v.redirected(n, err)
		}
		nav.URL, nav.HTTPStatus, nav.Note = v.failedURL(n), http.StatusUnauthorized, noteAuth
		nav.Obstacle = v.tab.obstacles.ofResponse(nav.URL, "", nav.HTTPStatus)
		return nav, nil
	case n.failure == netErrAborted: // it has no error page
		return nil, v.redirected(n, v.navigationError(ctx, n))
	case n.failure != "":
		v.waitForErrorPage(ctx, n.loader)
		return nil, v.redirected(n, v.navigationError(ctx, n))
	case n.loader != "":
		if err := v.waitForLifecycle(ctx, n.loader, until); err != nil {
			return nil, frames.TimeoutAs(err, fmt.Sprintf("%s of %s", until, what))
		}
		if err := v.proxyFailure(); err != nil {
			return nil, v.redirected(n, err)
		}
	}
	if err := v.fillNavigation(ctx, nav); err != nil {
		return nil, v.redirected(n, err)
	}
	if n.loader != "" && nav.Note == "" {
		res := v.tab.responses.Of(v.navigationState().loader)
		nav.HTTPStatus = res.Status
		if res.PDF {
			nav.Note = notePDF
		}
		nav.Note = phrase.Notes(nav.Note, truncatedNote(v.tab.tree))
		nav.Obstacle = v.tab.obstacles.ofResponse(nav.URL, nav.Title, nav.HTTPStatus)
	}
	nav.Note = phrase.Notes(nav.Note, v.autoClosedNote(ctx, passed))
	return nav, nil
}

// netErrAborted is the network error of a navigation that ended without a new document: the server
// sent no document, or something else ended the navigation.
const netErrAborted = "net::ERR_ABORTED"

// emptyResponse reports whether the HTTP status of a navigation's response means that the response
// has no document.
func (v *View) emptyResponse(loader cdp.LoaderID) bool {
	status := v.tab.responses.Of(loader).Status
	return status == http.StatusNoContent || status == http.StatusResetContent
}

// truncatedNote returns the note on a top document whose response ended early, or "".
func truncatedNote(tree *frames.Tree) string {
	s := tree.Lock()
	defer s.Unlock()
	if why := s.Top().Cut(); why != "" {
		return "the response ended early (" + why + "), so the page may be incomplete"
	}
	return ""
}

// stop stops loading the page after a call has timed out or was canceled.
func (v *View) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), v.tab.timing.StopLoading)
	defer cancel()
	v.tab.sess.Start(ctx, "Page.stopLoading", nil)
}

// lifecycleEvents maps each WaitUntil to the name of its Page.lifecycleEvent. UntilCommit has none.
// UntilNetworkIdle has that of UntilLoad: networkIdle does not occur while an EventSource is open,
// and only [record.Inflight] shows whether the network is idle now.
var lifecycleEvents = map[executor.WaitUntil]string{
	executor.UntilLoad:             "load",
	executor.UntilDOMContentLoaded: "DOMContentLoaded",
	executor.UntilNetworkIdle:      "load",
	executor.UntilCommit:           "",
}

// waitForLifecycle waits until the document of loader, or a later one that a script navigated to,
// has reached until.
func (v *View) waitForLifecycle(ctx context.Context, loader cdp.LoaderID, until executor.WaitUntil) error {
	event := lifecycleEvents[until]
	t := v.tab
	committed := false
	for {
		err := t.tree.AwaitUnblocked(ctx, func(s *frames.State) (bool, error) {
			f := s.Top()
			committed = committed || f.HadLoader(loader)
			if !committed || f.World() == "" {
				return false, nil
			}
			return event == "" || f.Reached(event), nil
		})
		if err != nil || until != executor.UntilNetworkIdle {
			return err
		}
		left, ok := t.inflight.IdleIn()
		if ok && left <= 0 {
			return nil
		}
		if !ok {
			left = frames.PollInterval
		}
		if err := t.tree.Sleep(ctx, left); err != nil {
			return err
		}
	}
}

// fillNavigation sets the URL and title of nav from the top document, if the gate allows reading
// it.
func (v *View) fillNavigation(ctx context.Context, nav *executor.Navigation) error {
	late := time.After(v.tab.timing.World)
	for {
		changed := v.tab.tree.Changes.Changed()
		d, err := v.client.Document(ctx, executor.OpRead)
		if err != nil {
			return err
		}
		nav.URL = d.URL
		nav.Title, err = d.Title(ctx)
		if !errors.Is(err, frames.ErrDocumentGone) {
			return nil
		}
		select {
		case <-changed: // by another document, which is reported
		case <-late: // in the user's Chrome, a document with an opaque origin is gone while it is shown
			return nil
		}
	}
}
