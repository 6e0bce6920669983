package page

import (
	"context"
	"net/http"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/capture"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/emulate"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/input"
	"github.com/chrome-mcp/chrome-mcp/internal/reading"
	"github.com/chrome-mcp/chrome-mcp/internal/sitedata"
)

// A View is one client's view of a [Tab]. internal/session implements executor.Page with it. Its
// methods must be called between Tab.Acquire and the call of the function that it returns, apart
// from HandleDialog, Watch, Info, DialogNote, DescribePointed, Release, and those that only check
// an access or convert an error.
type View struct {
	*emulate.Controls
	*sitedata.Store
	*reading.Reader
	*capture.Capturer
	*input.Actor
	*recordedActivity

	Entered entryMasker

	tab      *Tab
	client   frames.Client
	elements *elements.Finder
	opts     ViewOptions
}

// Downloads reports the downloads that the page of a tab starts.
type Downloads interface {
	// Started returns the number of downloads that have started.
	Started() int
	// News returns the changes of the downloads since the last call. It waits until want downloads
	// have started after the first startedBefore downloads, or ctx is done.
	News(ctx context.Context, startedBefore, want int) DownloadNews
}

// DownloadNews lists downloads that have started or ended.
type DownloadNews struct {
	Started []executor.Download // started after the first startedBefore downloads
	Earlier []executor.Download // among the first startedBefore downloads
	More    int                 // number of downloads in neither list
}

// ViewOptions are the options of [Tab.NewView].
type ViewOptions struct {
	ID          executor.TabID
	Gate        executor.Gate // must not be nil
	AfterAction executor.AfterAction
	// NewTabs returns the tabs that this tab's page has opened since the last call. It waits until
	// want of them were opened after start or ctx is done. Tabs that were opened before start have
	// a note about that. A tab that is closed again has no ID.
	NewTabs   func(ctx context.Context, start time.Time, want int) []executor.Tab
	Downloads Downloads // may be nil
	// Consent asks the user, after the gate, whether scripts of the client may run in a document
	// with an origin. nil means that the user is not asked.
	Consent func(ctx context.Context, origin string) error
	// Secrets are what Type and FillForm may type without the client seeing it. nil means nothing.
	Secrets executor.Secrets
}

// NewView returns a client's view of the tab.
func (t *Tab) NewView(opts ViewOptions) *View {
	v := &View{tab: t, opts: opts}
	v.client = frames.Client{Tree: t.tree, Tab: opts.ID, Gate: opts.Gate, OpenedBySession: t.own.Load, CheckMasked: v.Entered.checkMasked}
	v.Entered = entryMasker{tab: t, client: &v.client, secrets: opts.Secrets}
	v.recordedActivity = &recordedActivity{tab: t, client: &v.client}
	v.elements = elements.New(&v.client, t.openerGroup.checkSelector)
	v.Reader = reading.New(&v.client, v.elements, reading.Options{
		AfterAction: opts.AfterAction, Obstacle: t.obstacles.detect, WholeSpans: v.Entered.wholeSpans,
	})
	masked := maskedFields{&v.client, t.openerGroup, t.entered}
	v.Capturer = capture.New(&v.client, v.elements, v.Reader, capture.Options{
		Masked: masked.all, CheckPrint: masked.checkPrint, NotRendered: t.rendering.notRendered,
	})
	v.Actor = input.New(&v.client, v.elements, input.Options{
		Reader: v.Reader, Shield: t.shield, Buttons: &t.buttons, Dialogs: &t.dialogs.State, Emulation: t.emulation, Inflight: &t.inflight, FileChoosers: &t.fileChoosers,
		Sent:         func() { t.acted.Store(true) },
		TrackChanges: func() input.ChangeTracker { return v.trackChanges() },
		Secrets:      opts.Secrets, BeginSecret: t.openerGroup.beginSecret,
		SharedBrowser: t.opts.SharedBrowser, UserClipboard: t.opts.UserClipboard,
	})
	v.Controls = t.emulation.For(&v.client)
	v.Store = sitedata.New(&v.client, sitedata.Options{Mask: v.Entered.maskTruncated, Navigate: func(ctx context.Context, url string) error {
		_, err := v.Navigate(ctx, url, nil)
		return err
	}})
	return v
}

// Tab returns the tab of the view.
func (v *View) Tab() *Tab { return v.tab }

// documentForEval is [frames.Client.Document] for calls that run the client's own script. It also
// asks the user for consent.
func (v *View) documentForEval(ctx context.Context, op executor.Operation) (*frames.Document, error) {
	d, err := v.client.Document(ctx, op)
	if err == nil {
		err = v.beginClientScript(ctx, d)
	}
	return d, err
}

// beginClientScript asks the user for script consent to the origin of d, and records that a script of a
// client runs in the tab's opener group: from then on, no secret is typed there. It returns
// ErrPolicyDenied if a secret was typed there before.
func (v *View) beginClientScript(ctx context.Context, d *frames.Document) error {
	if err := v.consent(ctx, d); err != nil {
		return err
	}
	return v.tab.openerGroup.beginScript()
}

// consent asks the user for script consent to the origin of d.
func (v *View) consent(ctx context.Context, d *frames.Document) error {
	if v.opts.Consent == nil || d.Origin == executor.OriginInternal {
		return nil
	}
	return v.opts.Consent(ctx, d.Origin)
}

// Info returns the URL, title and origin of the top document if the gate allows it. title is empty
// while a dialog blocks the page.
func (v *View) Info(ctx context.Context) (url, title, origin string, err error) {
	t := v.tab
	limit, cancel := context.WithTimeout(ctx, t.timing.World)
	t.tree.Await(limit, func(s *frames.State) (bool, error) {
		f := s.Top()
		return s.Detached() || t.dialogs.Open() != nil || f.World() != "" || f.Loader() == "", nil
	})
	cancel()
	s := t.tree.Lock()
	d, dialog := s.Document(s.Top()), t.dialogs.Open() != nil
	detached := s.Detached()
	lastKnown := s.LastKnownPage()
	_, navigating := s.TopNavigation()
	if detached || d == nil && dialog {
		d = s.BestKnownDocument()
	}
	s.Unlock()
	if d == nil { // only report that the tab exists
		origin := executor.OriginOpaque
		if detached || t.own.Load() {
			origin = executor.OriginInternal
		}
		d = t.tree.UnknownDocument(t.main)
		d.URL, d.Origin = "about:blank", origin
	}
	if err := v.client.Check(ctx, d, executor.OpList, ""); err != nil {
		return "", "", "", err
	}
	if t.HandedOver() {
		url, title = publicPage(d, t.beforeHandover.Load())
		return url, title, d.Origin, nil
	}
	if detached {
		return d.URL, lastKnown.Title, d.Origin, nil
	}
	// While Page.navigate waits for a server, the page responds to no other command of this session
	// (Chromium 156).
	switch noted := t.tree.Title.Last(); {
	case dialog, d.URL == "about:blank":
	case navigating && noted.World == d.World:
		title = noted.Text
	default:
		title, _ = d.Title(ctx)
	}
	if d.URL == "" { // a popup window before its first document
		return "about:blank", title, d.Origin, nil
	}
	return d.URL, title, d.Origin, nil
}

// DialogNote returns a note on the dialog that blocks the page, or "" if there is none.
func (v *View) DialogNote() string {
	if err := v.tab.dialogs.Err(); err != nil {
		return err.(*executor.Error).Message()
	}
	return ""
}

// CanRead reports whether the gate allows reading the document of a frame and of all frames around
// it. It returns false for an unknown frame.
func (v *View) CanRead(ctx context.Context, frame string) bool {
	return v.client.CanRead(ctx, cdp.FrameID(frame))
}

// CheckDownload checks with the gate whether a frame of the tab may download url.
func (v *View) CheckDownload(ctx context.Context, frame, url string) error {
	return v.client.CheckFrame(ctx, cdp.FrameID(frame), executor.OpDownload, url)
}

// Check checks with the gate whether op is allowed on the top document.
func (v *View) Check(ctx context.Context, op executor.Operation, destination string) error {
	return v.client.CheckTop(ctx, op, destination)
}

// DownloadCookies returns the cookies that the browser would send to url, for a download that the
// gate allows.
func (v *View) DownloadCookies(ctx context.Context, url string) ([]*http.Cookie, error) {
	if err := v.Check(ctx, executor.OpDownload, url); err != nil {
		return nil, err
	}
	if err := v.tab.EnsureAttached(ctx); err != nil {
		return nil, err
	}
	return v.RequestCookies(ctx, url)
}

// Release releases the buttons that Mouse left pressed, resets emulation, and ends the handover of
// the client. It is called when a session ends.
func (v *View) Release() {
	if v.tab.openerGroup.handoverView() == v {
		v.endHandover()
	}
	v.ReleaseButtons(context.Background())
	_ = v.tab.shield.Unblock(context.Background(), &v.client)
	v.Controls.Reset()
}
