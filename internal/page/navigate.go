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
	n := newNavigation(v, opts, hostOf(url))
	return n.run(ctx, func(ctx context.Context) error { return n.load(ctx, url) })
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
	if err := v.Check(ctx, executor.OpNavigate, v.tab.reloadURL()); err != nil {
		return nil, err
	}
	n := newNavigation(v, opts, "the page")
	return n.run(ctx, func(ctx context.Context) error {
		return n.loadAgain(ctx, opts != nil && opts.Resubmit, cdppage.CommandReload, nil)
	})
}

// reloadURL returns the URL that the tab loads when it reloads.
func (t *Tab) reloadURL() string {
	s := t.tree.Lock()
	unreachable := s.Top().UnreachableURL()
	s.Unlock()
	return cmp.Or(unreachable, t.URL())
}

// A navigation is one call of Navigate, Reload, Back or Forward.
type navigation struct {
	v     *View
	tab   *Tab // of v
	until executor.WaitUntil
	what  string // names the destination in messages

	before              navigationState // when the navigation started
	autoClosed          int             // dialogs that had been closed automatically
	externalNavigations int             // navigations to other programs before
	downloads           int             // downloads that had started

	// What its command, or the commit, reported.
	loader   cdp.LoaderID // of the new document; empty if the document did not change
	failure  string       // the network error
	download bool
	url      string // that was requested; empty if it is not known
}

// newNavigation returns a navigation that waits for opts.Until. what names the destination in
// messages.
func newNavigation(v *View, opts *executor.NavigateOptions, what string) *navigation {
	o := cmp.Or(opts, new(executor.NavigateOptions))
	return &navigation{v: v, tab: v.tab, until: cmp.Or(o.Until, executor.UntilLoad), what: what}
}

// A navigationState identifies the document of a tab before a navigation.
type navigationState struct {
	loader       cdp.LoaderID
	sameDocument int // same-document navigations
}

// navigationStateOf returns the current state of the top frame of a tree.
func navigationStateOf(tree *frames.Tree) navigationState {
	s := tree.Lock()
	defer s.Unlock()
	f := s.Top()
	return navigationState{loader: f.Loader(), sameDocument: f.SameDocumentNavigations()}
}

// load navigates to url.
func (n *navigation) load(ctx context.Context, url string) error {
	var res cdppage.NavigateResult
	if err := n.tab.tree.Command(ctx, "Page.navigate", cdppage.NavigateParams{URL: url}, &res); err != nil {
		if strings.Contains(err.Error(), "invalid URL") {
			err = executor.Errorf(executor.ErrBadArgs, "Give an absolute URL, such as https://example.com/.", "the browser rejects the URL")
		}
		return err
	}
	if res.LoaderID == "" && res.ErrorText == "" && !res.IsDownload {
		return n.waitForCommit(ctx) // a same-document navigation
	}
	n.loader, n.failure, n.download, n.url = res.LoaderID, res.ErrorText, res.IsDownload, url
	return nil
}

// waitForCommit waits until a navigation of the top frame has committed since n.before. It returns
// ErrNavigationFailed if the guard of its requests has failed it.
func (n *navigation) waitForCommit(ctx context.Context) error {
	t := n.tab
	return t.tree.AwaitUnlessDialog(ctx, func(s *frames.State) (bool, error) {
		if err := t.Interception.ResubmissionError(); err != nil {
			return false, err
		}
		f := s.Top()
		if f.Loader() == n.before.loader {
			return f.SameDocumentNavigations() != n.before.sameDocument, nil
		}
		n.loader = f.Loader()
		if f.UnreachableURL() != "" {
			n.url, n.failure = f.UnreachableURL(), t.responses.LastError()
		}
		return true, nil
	})
}

// navigateContext returns ctx with the timeout of opts.
func navigateContext(ctx context.Context, opts *executor.NavigateOptions) (context.Context, context.CancelFunc) {
	timeout := executor.DefaultNavigateTimeout
	if opts != nil && opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	return context.WithTimeout(ctx, timeout)
}

// waitForErrorPage waits for the error page of a document that failed to load. The browser reports
// the failure first, and accepts no commands until the error page has committed.
func (n *navigation) waitForErrorPage(ctx context.Context) {
	if n.loader == "" {
		return
	}
	limit, cancel := context.WithTimeout(ctx, n.tab.timing.ErrorPage)
	defer cancel()
	n.waitForLifecycle(limit, executor.UntilCommit)
}

// downloadNote describes the downloads that the navigation started, and earlier ones that have
// ended. If no download started, it says how to start one.
func (n *navigation) downloadNote(ctx context.Context) string {
	const instead = "the browser started no download. Download the URL with Page.Download"
	if n.v.opts.Downloads == nil {
		return instead
	}
	ctx, cancel := context.WithTimeout(ctx, n.tab.timing.Download)
	defer cancel()
	d := n.v.opts.Downloads.News(ctx, n.downloads, 1)
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

// netErrAborted is the network error of a navigation that ended without a new document: the server
// sent no document, or something else ended the navigation.
const netErrAborted = "net::ERR_ABORTED"

// hasNoContent reports whether an HTTP status means that the response has no document.
func hasNoContent(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent
}

// truncatedNote returns the note on a top document whose response ended early, or "".
func truncatedNote(tree *frames.Tree) string {
	s := tree.Lock()
	defer s.Unlock()
	if why := s.Top().CutReason(); why != "" {
		return "the response ended early (" + why + "), so the page may be incomplete"
	}
	return ""
}

// stop stops loading the page after a call has timed out or was canceled.
func (n *navigation) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), n.tab.timing.StopLoading)
	defer cancel()
	n.tab.sess.Start(ctx, "Page.stopLoading", nil)
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

// waitForLifecycle waits until the document of n.loader, or a later one that a script navigated to,
// has reached until.
func (n *navigation) waitForLifecycle(ctx context.Context, until executor.WaitUntil) error {
	event := lifecycleEvents[until]
	t := n.tab
	committed := false
	for {
		err := t.tree.AwaitUnlessDialog(ctx, func(s *frames.State) (bool, error) {
			f := s.Top()
			committed = committed || f.HadLoader(n.loader)
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

// fill sets the URL and title of nav from the top document, if the gate allows reading it.
func (n *navigation) fill(ctx context.Context, nav *executor.Navigation) error {
	late := time.After(n.tab.timing.World)
	for {
		changed := n.tab.tree.Changes.Changed()
		d, err := n.v.client.Document(ctx, executor.OpRead)
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
