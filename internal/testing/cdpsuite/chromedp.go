package cdpsuite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A chromedpCase is a case of a stock chromedp client. ctx is that of a new page in a new browser
// context.
type chromedpCase struct {
	name string
	run  func(ctx context.Context, run *Run) (any, error)
}

var chromedpCases = []chromedpCase{
	{"page that was open before the connection", chromedpOpenPage},
	{"navigate, back, evaluate", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/one.html"), chromedp.Navigate(run.Site+"/two.html"), chromedp.NavigateBack()); err != nil {
			return nil, err
		}
		title, err := chromedp.Run(ctx, chromedp.Title())
		if err != nil {
			return nil, err
		}
		sum, err := chromedp.Run(ctx, chromedp.Evaluate[int]("Promise.resolve(1 + 2)", chromedp.EvalAwaitPromise))
		return []any{title, sum}, err
	}},
	{"missing page", func(ctx context.Context, run *Run) (any, error) {
		response, err := chromedp.Run(ctx, chromedp.NavigateResponse(run.Site+"/missing.html"))
		if err != nil {
			return nil, err
		}
		return response.Status, nil
	}},
	{"form", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/form.html"), chromedp.SendKeys(chromedp.ID("name"), "Ada"), chromedp.Click(chromedp.ID("click")),
			chromedp.DoubleClick(chromedp.ID("click")), chromedp.SetValue(chromedp.ID("color"), "blue")); err != nil {
			return nil, err
		}
		said, err := chromedp.Run(ctx, chromedp.Evaluate[[]string]("said"))
		if err != nil {
			return nil, err
		}
		response, err := chromedp.RunResponse(ctx, chromedp.Submit(chromedp.ID("form")))
		if err != nil {
			return nil, err
		}
		text, err := chromedp.Run(ctx, chromedp.TextContent(chromedp.CSS("body")))
		if err != nil {
			return nil, err
		}
		var sent struct{ Method, Body string }
		err = json.Unmarshal([]byte(text), &sent)
		return []any{said, response.Status, sent}, err
	}},
	{"upload", func(ctx context.Context, run *Run) (any, error) {
		file := filepath.Join(run.Uploads, "chromedp.txt")
		if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
			return nil, err
		}
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/form.html"), chromedp.SetUploadFiles(chromedp.ID("file"), []string{file})); err != nil {
			return nil, err
		}
		return chromedp.Run(ctx, chromedp.Evaluate[[]string]("files()", chromedp.EvalAwaitPromise))
	}},
	{"screenshots", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(400, 300), chromedp.Navigate(run.Site+"/form.html")); err != nil {
			return nil, err
		}
		var sizes [][]any
		for _, shot := range []chromedp.Action[[]byte]{chromedp.CaptureScreenshot(), chromedp.FullScreenshot(100), chromedp.Screenshot(chromedp.ID("from"))} {
			data, err := chromedp.Run(ctx, shot)
			if err != nil {
				return nil, err
			}
			config, format, err := image.DecodeConfig(bytes.NewReader(data))
			if err != nil {
				return nil, err
			}
			sizes = append(sizes, []any{format, config.Width, config.Height})
		}
		return sizes, nil
	}},
	{"PDF", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/one.html")); err != nil {
			return nil, err
		}
		pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
		return string(pdf[:min(5, len(pdf))]), err
	}},
	{"order of events", func(ctx context.Context, run *Run) (any, error) {
		var mu sync.Mutex
		var events []string
		if err := chromedp.Listen(ctx, func(ev any) {
			mu.Lock()
			defer mu.Unlock()
			switch ev := ev.(type) {
			case *network.EventRequestWillBeSent:
				events = append(events, "request "+ev.Request.URL)
			case *network.EventResponseReceived:
				events = append(events, "response "+ev.Response.URL)
			case *page.EventFrameNavigated:
				events = append(events, "navigated "+ev.Frame.URL)
			case *page.EventLoadEventFired:
				events = append(events, "load")
			}
		}); err != nil {
			return nil, err
		}
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/one.html")); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		events = slices.DeleteFunc(events, func(event string) bool { return strings.HasSuffix(event, "/favicon.ico") })
		return slices.Clone(events), nil
	}},
	{"Fetch", chromedpFetch},
	{"ExposeFunc", func(ctx context.Context, run *Run) (any, error) {
		square := func(_ context.Context, n float64) (float64, error) { return n * n, nil }
		if err := chromedp.Do(ctx, chromedp.ExposeFunc("square", square), chromedp.Navigate(run.Site+"/one.html")); err != nil {
			return nil, err
		}
		return chromedp.Run(ctx, chromedp.Evaluate[float64]("square(7)", chromedp.EvalAwaitPromise))
	}},
	{"console", func(ctx context.Context, run *Run) (any, error) {
		messages := chromedp.Console(ctx)
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/console.html")); err != nil {
			return nil, err
		}
		var texts []string
		for m, err := range messages {
			if err != nil {
				return nil, err
			}
			if texts = append(texts, string(m.Type)+" "+m.Text); strings.Contains(m.Text, "thrown") {
				break
			}
		}
		return texts, nil
	}},
	{"dialog", func(ctx context.Context, run *Run) (any, error) {
		dialogs := chromedp.Events(ctx, page.JavascriptDialogOpening)
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/dialogs.html"), chromedp.Evaluate[chromedp.Void]("setTimeout(() => document.querySelector('#prompt').click()), undefined")); err != nil {
			return nil, err
		}
		for dialog, err := range dialogs {
			if err != nil {
				return nil, err
			}
			if _, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true, PromptText: "Grace"}); err != nil {
				return nil, err
			}
			said, err := chromedp.Run(ctx, chromedp.Poll[string]("document.querySelector('#said').textContent"))
			return []any{dialog.Type, dialog.Message, dialog.DefaultPrompt, said}, err
		}
		return nil, errors.New("no dialog")
	}},
	{"download", chromedpDownload},
	{"new tab", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/popup.html")); err != nil {
			return nil, err
		}
		opened := chromedp.WaitNewTarget(ctx, func(info *target.Info) bool { return strings.HasSuffix(info.URL, "/two.html") })
		if err := chromedp.Do(ctx, chromedp.Click(chromedp.ID("open"))); err != nil {
			return nil, err
		}
		var id target.ID
		select {
		case id = <-opened:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		tab, cancel := chromedp.NewContext(ctx, chromedp.WithTargetID(id))
		defer cancel()
		if err := chromedp.Do(tab, chromedp.WaitReady(chromedp.CSS("h1"))); err != nil {
			return nil, err
		}
		return chromedp.Run(tab, chromedp.Title())
	}},
	{"emulation", func(ctx context.Context, run *Run) (any, error) {
		if _, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}); err != nil {
			return nil, err
		}
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(320, 480, chromedp.EmulateMobile, chromedp.EmulateScale(2)), chromedp.Navigate(run.Site+"/one.html")); err != nil {
			return nil, err
		}
		return chromedp.Run(ctx, chromedp.Evaluate[[]any]("[innerWidth, devicePixelRatio, Intl.DateTimeFormat().resolvedOptions().timeZone]"))
	}},
	{"cookies", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/cookies")); err != nil {
			return nil, err
		}
		if _, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{Name: "set", Value: "3", URL: run.Site}); err != nil {
			return nil, err
		}
		got, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{})
		var cookies []string
		for _, c := range got.Cookies {
			cookies = append(cookies, c.Name+" "+c.Value+" "+c.Domain)
		}
		slices.Sort(cookies)
		return cookies, err
	}},
	{"document", func(ctx context.Context, run *Run) (any, error) {
		if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/frames.html")); err != nil {
			return nil, err
		}
		nodes, err := chromedp.Run(ctx, chromedp.Nodes(chromedp.CSSAll("iframe")))
		if err != nil {
			return nil, err
		}
		var names []string
		for _, n := range nodes {
			names = append(names, n.AttributeValue("name"))
		}
		return names, nil
	}},
}

func chromedpOpenPage(ctx context.Context, run *Run) (any, error) {
	infos, err := chromedp.Targets(ctx)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.Type == "page" && strings.HasSuffix(info.URL, "/frames.html") {
			tab, cancel := chromedp.NewContext(ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithDetachOnCancel())
			defer cancel()
			return chromedp.Run(tab, chromedp.Title())
		}
	}
	return nil, errors.New("the page is not there")
}

// chromedpFetch intercepts a document, and a request of its script.
func chromedpFetch(ctx context.Context, run *Run) (any, error) {
	paused := chromedp.Events(ctx, fetch.RequestPaused)
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/one.html"}, {URLPattern: "*/echo"}}}); err != nil {
		return nil, err
	}
	answered := make(chan error, 1)
	go func() {
		for ev, err := range paused {
			if err == nil && strings.HasSuffix(ev.Request.URL, "/echo") {
				_, err = chromedp.Call(ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonAccessDenied})
				answered <- err
				return
			}
			if err == nil {
				_, err = chromedp.Call(ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{RequestID: ev.RequestID, ResponseCode: 200, Body: []byte("<title>Made up</title>"),
					ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}}})
			}
			if err != nil {
				answered <- err
				return
			}
		}
		answered <- errors.New("no request")
	}()
	if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/one.html")); err != nil {
		return nil, err
	}
	title, err := chromedp.Run(ctx, chromedp.Title())
	if err != nil {
		return nil, err
	}
	fetched, err := chromedp.Run(ctx, chromedp.Evaluate[string]("fetch('/echo').then(() => 'fetched', () => 'failed')", chromedp.EvalAwaitPromise))
	return []string{title, fetched}, errors.Join(err, <-answered)
}

// chromedpDownload downloads a file, and returns what the events say about it.
func chromedpDownload(ctx context.Context, run *Run) (any, error) {
	begin := chromedp.BrowserEvents(ctx, browser.DownloadWillBegin)
	progress := chromedp.BrowserEvents(ctx, browser.DownloadProgress)
	if _, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName,
		BrowserContextID: chromedp.FromContext(ctx).BrowserContextID, DownloadPath: run.Uploads, EventsEnabled: new(true)}); err != nil {
		return nil, err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(run.Site+"/downloads.html"), chromedp.Click(chromedp.ID("file"))); err != nil {
		return nil, err
	}
	var got []any
	for ev, err := range begin {
		if err != nil {
			return nil, err
		}
		got = append(got, ev.SuggestedFilename, ev.URL)
		break
	}
	for ev, err := range progress {
		if err != nil {
			return nil, err
		}
		if ev.State != browser.DownloadProgressStateInProgress {
			got = append(got, ev.State, ev.ReceivedBytes)
			break
		}
	}
	return got, nil
}

// Chromedp runs the cases of chromedp, each as a subtest. It returns the numbers of those that have
// to have the same result in both browsers, and of the exceptions.
func (r *Run) Chromedp(t *testing.T) (equal, excepted int) {
	only, err := regexp.Compile(r.Only)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("chromedp", func(t *testing.T) {
		plain, ours := connectChromedp(t, r.Plain), connectChromedp(t, r.Ours)
		for _, c := range chromedpCases {
			if !only.MatchString(c.name) {
				continue
			}
			line := Case{Name: c.name}
			if r.UserChrome {
				line.Differs = userChromedp[c.name]
			}
			if line.Differs == nil {
				equal++
			} else {
				excepted++
			}
			t.Run(c.name, func(t *testing.T) {
				var both sync.WaitGroup
				both.Go(func() { line.Plain = r.chromedpCase(plain, c) })
				both.Go(func() { line.Ours = r.chromedpCase(ours, c) })
				both.Wait()
				t.Logf("plain Chromium %d ms, chrome-mcp %d ms", line.Plain.MS, line.Ours.MS)
				line.Check(t)
			})
		}
	})
	return equal, excepted
}

// userChromedp are the exceptions of the user's Chrome.
var userChromedp = map[string]*Difference{
	"navigate, back, evaluate": {Reason: "Chrome keeps pages of the history alive, and the client does not notice when it goes back to one.", Fails: context.DeadlineExceeded.Error()},
	"upload":                   {Reason: "A client cannot give pages files of this machine by their names.", Fails: "'DOM.setFileInputFiles' is not available"},
	"emulation":                {Reason: "Emulation of the time zone would affect other tabs of the user.", Fails: "'Emulation.setTimezoneOverride' is not available"},
}

// connectChromedp connects to an endpoint until the test ends.
func connectChromedp(t *testing.T, e Endpoint) context.Context {
	t.Helper()
	ctx, cancel := remote.NewAllocator(context.Background(), e.WebSocket)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// chromedpCase runs a case in a new page, which is in a new browser context except in the user's
// Chrome.
func (r *Run) chromedpCase(connection context.Context, c chromedpCase) (o Outcome) {
	begin := time.Now()
	defer func() { o.MS = int(time.Since(begin).Milliseconds()) }()
	var opts []chromedp.ContextOption
	if !r.UserChrome {
		opts = append(opts, chromedp.WithNewBrowserContext())
	}
	tab, cancel := chromedp.NewContext(connection, opts...)
	defer cancel()
	if err := chromedp.Do(tab); err != nil {
		return Outcome{Error: err.Error()}
	}
	limit := await.HangLimit
	if d := userChromedp[c.name]; r.UserChrome && d != nil && d.Fails == context.DeadlineExceeded.Error() {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(tab, limit)
	defer cancel()
	result, err := c.run(ctx, r)
	if err != nil {
		return Outcome{Error: err.Error()}
	}
	if err := json.Unmarshal([]byte(asJSON(result)), &o.Result); err != nil {
		o.Error = err.Error()
	}
	if err := chromedp.Cancel(tab); err != nil {
		o.Error = err.Error()
	}
	return o
}
