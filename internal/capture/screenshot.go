// Package capture takes screenshots of the pages of a tab, and prints them.
package capture

import (
	"cmp"
	"context"
	"errors"
	"slices"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
	"github.com/chrome-mcp/chrome-mcp/internal/reading"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// defaultQuality is the default quality of JPEG and WebP.
const defaultQuality = 80

// A box is a rectangle in CSS pixels.
type box struct{ x, y, w, h float64 }

// Options are the options of [New].
type Options struct {
	// Masked returns the fields whose content the client must not see.
	Masked func(ctx context.Context) ([]*elements.Element, error)
	// CheckPrint returns why the page may not be printed, apart from denied documents.
	CheckPrint func(ctx context.Context) error
	// NotRendered reports whether the browser does not render the tab now, because another tab of
	// its window is in front.
	NotRendered func() bool
}

// A Capturer takes the screenshots of a tab for one client. Its methods must be called one at a
// time, as the calls on a tab are.
type Capturer struct {
	client *frames.Client
	finder *elements.Finder
	reader *reading.Reader
	opts   Options
}

// New returns the Capturer of a client.
func New(client *frames.Client, finder *elements.Finder, reader *reading.Reader, opts Options) *Capturer {
	return &Capturer{client, finder, reader, opts}
}

// Screenshot takes a screenshot of the viewport, the complete page, one element or a part of the
// page.
func (c *Capturer) Screenshot(ctx context.Context, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	o := *cmp.Or(opts, new(executor.ScreenshotOptions))
	if err := checkScreenshot(o); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.client.Tree.Timing().Read)
	defer cancel()
	top, err := c.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	var el *elements.Element
	changed := func() string { return "" }
	if !o.Target.IsZero() {
		if el, err = c.finder.Resolve(ctx, o.Target, executor.OpRead); err != nil {
			return nil, err
		}
		changed = c.finder.StartComparing(ctx, el)
		if err := c.scrollIntoView(ctx, el); err != nil {
			return nil, err
		}
	}
	for tries := 1; ; tries++ {
		shot, err := c.shoot(ctx, top, o, el)
		if errors.Is(err, shield.ErrFramesChanged) && top.IsCurrent() && tries < maxShots {
			continue
		}
		if err == nil {
			shot.Note = changed()
		}
		return shot, err
	}
}

// checkScreenshot returns an error for options that are invalid or contradict each other.
func checkScreenshot(o executor.ScreenshotOptions) error {
	formats := []executor.ImageFormat{"", executor.FormatPNG, executor.FormatJPEG, executor.FormatWebP}
	switch {
	case o.FullPage && !o.Target.IsZero():
		return executor.Errorf(executor.ErrBadArgs, "Give only one of them.", "Target and FullPage are both set")
	case o.Clip != nil && !o.Target.IsZero():
		return executor.Errorf(executor.ErrBadArgs, "Give only one of them.", "Target and Clip are both set")
	case !slices.Contains(formats, o.Format):
		return executor.Errorf(executor.ErrBadArgs, "Use png, jpeg or webp.", "format %q is unknown", string(o.Format))
	case o.Labels && o.Format == executor.FormatWebP:
		return unpaintedWebP("labels cannot be drawn on a WebP image")
	case o.Quality < 0 || o.Quality > 100:
		return executor.Errorf(executor.ErrBadArgs, "Use 1 to 100.", "quality %d is out of range", o.Quality)
	case o.MaxWidth < 0:
		return executor.Errorf(executor.ErrBadArgs, "Use a positive number of pixels.", "maximum width %d is negative", o.MaxWidth)
	case o.MaxHeight < 0:
		return executor.Errorf(executor.ErrBadArgs, "Use a positive number of pixels.", "maximum height %d is negative", o.MaxHeight)
	}
	return nil
}

// maxWebPSide is the maximum width and height of a WebP image, in pixels:
// https://www.rfc-editor.org/rfc/rfc9649#section-2.5.
const maxWebPSide = 16_383

// unpaintedWebP returns the ErrBadArgs for a WebP image on which something would have to be drawn:
// only the browser encodes WebP.
func unpaintedWebP(why string) error {
	return executor.Errorf(executor.ErrBadArgs, "Use png or jpeg.", "%s", why)
}

// maxShots is the maximum number of attempts to take a screenshot while frames navigate.
const maxShots = 3

// shoot takes the screenshot after the page was scrolled.
func (c *Capturer) shoot(ctx context.Context, top *frames.Document, o executor.ScreenshotOptions, el *elements.Element) (*executor.Screenshot, error) {
	before, loaded := c.client.Tree.Loaders(), c.client.Tree.DocumentsLoaded()
	var m cdppage.GetLayoutMetricsResult
	if err := c.client.Tree.Command(ctx, "Page.getLayoutMetrics", nil, &m); err != nil {
		return nil, frames.TimeoutAs(err, "the page's size")
	}
	if m.CSSVisualViewport == nil || m.CSSContentSize == nil {
		return nil, executor.Errorf(executor.ErrInternal, "Take the screenshot again.", "the browser did not return the size of the page")
	}
	full, err := c.clip(ctx, o, el, m)
	if err != nil {
		return nil, err
	}
	clip := full
	if el != nil || o.FullPage || o.Clip != nil {
		clip = full.bounded()
	}
	if o.Format == executor.FormatWebP {
		clip.w, clip.h = min(clip.w, maxWebPSide), min(clip.h, maxWebPSide)
	}
	scale := clip.scaleFor(o.MaxWidth)
	clip = clip.cutAt(o.MaxHeight, scale)
	shot, err := c.capture(ctx, top, o, clip, m.CSSVisualViewport)
	if err != nil {
		return nil, err
	}
	// A screenshot cannot be bound to the checked documents, so compare: a frame may have
	// navigated, or been added and removed, during the screenshot.
	if !c.client.Tree.NoNewDocuments(before) || c.client.Tree.DocumentsLoaded() != loaded {
		return nil, shield.ErrFramesChanged
	}
	if clip != full {
		shot.Truncated, shot.FullHeight = true, int(full.h*scale)
	}
	if clip.h < full.h {
		next := box{clip.x, clip.y + clip.h, full.w, full.h - clip.h}.roundedOut()
		shot.NextClip = &executor.Clip{X: next.x, Y: next.y, Width: next.w, Height: next.h}
	}
	if scale != 1 {
		shot.Scale = scale
	}
	return shot, nil
}

// clip returns the requested part of the page, in page coordinates.
func (c *Capturer) clip(ctx context.Context, o executor.ScreenshotOptions, el *elements.Element, m cdppage.GetLayoutMetricsResult) (box, error) {
	view, content := m.CSSVisualViewport, m.CSSContentSize
	switch {
	case el != nil:
		b, err := c.boxOf(ctx, el)
		if err != nil {
			return box{}, err
		}
		b = b.roundedOut()
		// The user cannot scroll to areas to the left of or above the page, and the browser takes
		// no screenshot that starts there.
		if out := min(0, content.X, view.PageX) - b.x; out > 0 {
			b.x, b.w = b.x+out, b.w-out
		}
		if b.y < 0 {
			b.y, b.h = 0, b.h+b.y
		}
		if b.w < 1 || b.h < 1 {
			return box{}, executor.Errorf(executor.ErrNotActionable, "Take a screenshot of its container.", "%s is outside the page", c.finder.Describe(ctx, el))
		}
		return b, nil
	case o.Clip != nil:
		page := box{content.X, content.Y, content.Width, content.Height}
		b := box{o.Clip.X, o.Clip.Y, o.Clip.Width, o.Clip.Height}.roundedOut().within(page)
		if !(b.w >= 1 && b.h >= 1) { // or not a number
			return box{}, executor.Errorf(executor.ErrBadArgs, "Choose a part of the page, or take a screenshot of the full page.",
				"clip is outside the page, which is %v x %v CSS pixels", page.w, page.h)
		}
		return b, nil
	case o.FullPage:
		return box{0, 0, content.Width, content.Height}, nil
	}
	return box{view.PageX, view.PageY, view.ClientWidth, view.ClientHeight}, nil
}

// boxOf returns the box of an element in page coordinates. Viewport coordinates would not work,
// because the page may scroll between two commands.
func (c *Capturer) boxOf(ctx context.Context, el *elements.Element) (box, error) {
	var b []float64
	if err := el.Doc.Call(ctx, &b, "box", el.ID); err != nil {
		return box{}, c.finder.Removed(ctx, el, err)
	}
	if len(b) != 4 {
		return box{}, c.finder.RemovedError(ctx, el)
	}
	if b[2] < 1 || b[3] < 1 {
		return box{}, &executor.Error{Code: executor.ErrNotActionable, Retryable: true, Hint: "Take a screenshot of its container.",
			Err: executor.Errorf(executor.ErrNotActionable, "", "%s has no size", c.finder.Describe(ctx, el)).Err}
	}
	if el.Doc.IsTop() {
		return box{b[0], b[1], b[2], b[3]}, nil
	}
	// In a rotated frame, two corners do not define the box.
	var xs, ys [4]float64
	for i, corner := range [4][2]float64{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		var err error
		if xs[i], ys[i], err = c.toPageCoordinates(ctx, el.Doc, b[0]+corner[0]*b[2], b[1]+corner[1]*b[3]); err != nil {
			return box{}, err
		}
	}
	x, y := slices.Min(xs[:]), slices.Min(ys[:])
	return box{x, y, slices.Max(xs[:]) - x, slices.Max(ys[:]) - y}, nil
}

// toPageCoordinates maps a point of a frame's viewport to page coordinates of the top document.
func (c *Capturer) toPageCoordinates(ctx context.Context, d *frames.Document, x, y float64) (float64, float64, error) {
	for !d.IsTop() {
		parent, owner, err := d.FrameElement(ctx)
		if err != nil {
			return 0, 0, err
		}
		var p []float64
		if err := parent.Call(ctx, &p, "outward", owner, x, y); err != nil {
			return 0, 0, err
		}
		if len(p) != 2 {
			return 0, 0, frames.ErrDocumentGone
		}
		x, y, d = p[0], p[1], parent
	}
	return x, y, nil
}

// scrollIntoView scrolls an element, and the frames that contain it, into view.
func (c *Capturer) scrollIntoView(ctx context.Context, el *elements.Element) error {
	var ok bool
	if err := el.Doc.Call(ctx, &ok, "scrollIntoViewIfNeeded", el.ID); err != nil {
		return c.finder.Removed(ctx, el, err)
	}
	if !ok {
		return c.finder.RemovedError(ctx, el)
	}
	el.Doc.ScrollIntoView(ctx)
	return nil
}

// capture takes the screenshot of clip, without the content of denied frames, and draws labels if o
// requests them.
func (c *Capturer) capture(ctx context.Context, top *frames.Document, o executor.ScreenshotOptions, clip box, view *cdppage.VisualViewport) (*executor.Screenshot, error) {
	o.Format, o.Quality = cmp.Or(o.Format, executor.FormatPNG), cmp.Or(o.Quality, defaultQuality)
	if c.opts.NotRendered() {
		// A background tab is rendered only during a screencast.
		if err := c.client.Tree.Command(ctx, "Page.startScreencast", map[string]any{"format": "jpeg", "quality": 1, "maxWidth": 16, "maxHeight": 16}, nil); err != nil {
			return nil, frames.TimeoutAs(err, "the screenshot")
		}
		defer c.client.Tree.Session().Start(context.WithoutCancel(ctx), "Page.stopScreencast", nil)
	}
	hidden, err := shield.HideFrames(ctx, c.client)
	if err != nil {
		return nil, err
	}
	defer hidden.Release(ctx)
	masks, err := c.masks(ctx, hidden)
	if err != nil {
		return nil, err
	}
	var labels []refLabel
	if o.Labels {
		if labels, err = c.labelsInView(ctx, top); err != nil {
			return nil, err
		}
	}
	zoom := cmp.Or(view.Zoom, 1) // the user's zoom: device-independent pixels per CSS pixel
	paint := len(masks) > 0 || len(labels) > 0 || zoom != 1
	if paint && o.Format == executor.FormatWebP {
		if zoom != 1 {
			return nil, unpaintedWebP("the user has zoomed the page, and a WebP image cannot be cut to complete pixels")
		}
		return nil, unpaintedWebP("parts of the page must be hidden, which is not possible in a WebP image")
	}
	viewTransitions, err := shield.QueryViewTransitions(ctx, c.client)
	if err != nil {
		return nil, err
	}
	var pixelRatio float64
	if err := top.Call(ctx, &pixelRatio, "pixelRatio"); err != nil {
		return nil, frames.TimeoutAs(err, "the page's scale")
	}
	if err := viewTransitions.Check(ctx, hidden != nil); err != nil {
		return nil, frames.TimeoutAs(err, "the screenshot")
	}
	params := map[string]any{"format": o.Format, "optimizeForSpeed": true, "fromSurface": true}
	scale := clip.scaleFor(o.MaxWidth)
	inView := clip == box{view.PageX, view.PageY, view.ClientWidth, view.ClientHeight}
	if !inView || pixelRatio != 1 || scale != 1 {
		// The browser expects device-independent pixels here, of which a zoomed page has more than
		// CSS pixels.
		params["clip"] = cdppage.Viewport{X: clip.x * zoom, Y: clip.y * zoom, Width: clip.w * zoom, Height: clip.h * zoom, Scale: scale / pixelRatio}
	}
	beyond := clip.x < view.PageX || clip.y < view.PageY ||
		clip.x+clip.w > view.PageX+view.ClientWidth || clip.y+clip.h > view.PageY+view.ClientHeight
	if beyond {
		params["captureBeyondViewport"] = true
	}
	switch {
	case paint: // paintOn decodes it and encodes it again
		params["format"] = executor.FormatPNG
	case o.Format != executor.FormatPNG:
		params["quality"] = o.Quality
	}
	var res cdppage.CaptureScreenshotResult
	if err := c.awaitPaint(ctx); err != nil {
		return nil, frames.TimeoutAs(err, "the frames of the page")
	}
	take := func(ctx context.Context) error {
		return hidden.Capture(ctx, func() error { return c.client.Tree.Command(ctx, "Page.captureScreenshot", params, &res) })
	}
	if beyond {
		err = c.captureLarge(ctx, top, take)
	} else {
		err = take(ctx)
	}
	if err != nil {
		return nil, frames.TimeoutAs(err, "the screenshot")
	}
	if c.client.Tree.HasPastFrameDocuments() {
		if viewTransitions, err = shield.QueryViewTransitions(ctx, c.client); err != nil {
			return nil, err
		}
		if err := viewTransitions.Check(ctx, hidden != nil); err != nil {
			return nil, frames.TimeoutAs(err, "the screenshot")
		}
	}
	shot := &executor.Screenshot{Data: res.Data, MIMEType: "image/" + string(o.Format)}
	if paint {
		return shot, paintOn(shot, o, clip, scale, masks, labels)
	}
	if shot.Width, shot.Height, err = imageSize(res.Data); err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "Take the screenshot again.", "reading the size of the screenshot: %w", err)
	}
	return shot, nil
}

// awaitPaint waits until the out-of-process iframes have rendered once. The browser renders the
// page again for a screenshot, but not these frames: a frame that has just loaded would be blank.
func (c *Capturer) awaitPaint(ctx context.Context) error {
	if !c.client.Tree.HasOutOfProcessFrames() {
		return nil
	}
	pending := make(map[*frames.Document]*cdpconn.Pending)
	for _, d := range c.client.Allowed(ctx, executor.OpRead) {
		if d.Session == c.client.Tree.Session() {
			continue
		}
		p, err := d.Start(ctx, "painted")
		if errors.Is(err, frames.ErrDocumentGone) {
			continue
		}
		if err != nil {
			return err
		}
		pending[d] = p
	}
	for d, p := range pending {
		if err := d.Finish(ctx, p, nil); err != nil && !errors.Is(err, frames.ErrDocumentGone) {
			return err
		}
	}
	return nil
}

// masks returns the boxes of hidden frames, and of fields in which a secret was entered, or a text
// of the user, in page coordinates. The masks of frames are only a second protection: a frame may
// be rendered at another position.
func (c *Capturer) masks(ctx context.Context, h *shield.FrameHider) ([]box, error) {
	var masked []*elements.Element
	for _, f := range h.Elements() {
		masked = append(masked, &elements.Element{Doc: f.Doc, ID: f.ID})
	}
	fields, err := c.opts.Masked(ctx)
	if err != nil {
		return nil, err
	}
	var boxes []box
	for _, el := range append(masked, fields...) {
		b, err := c.boxOf(ctx, el)
		if executor.CodeOf(err) == executor.ErrNotActionable {
			continue // the element has no size
		}
		if err != nil {
			return nil, err
		}
		boxes = append(boxes, b)
	}
	return boxes, nil
}

// labelsInView returns the labels of the interactive elements in the viewport.
func (c *Capturer) labelsInView(ctx context.Context, top *frames.Document) ([]refLabel, error) {
	tree, err := c.reader.Outline(ctx, top)
	if err != nil {
		return nil, err
	}
	byDoc := make(map[string]*frames.Document)
	for _, d := range c.client.Tree.Documents() {
		byDoc[d.World] = d
	}
	var labels []refLabel
	tree.Nodes(func(n *outline.Node) {
		d := byDoc[n.Doc.Key]
		if d == nil || n.ID == 0 || !n.Has(outline.InViewport) || !(n.Has(outline.Interactive) || n.Has(outline.Clickable)) {
			return
		}
		if b, err := c.boxOf(ctx, &elements.Element{Doc: d, ID: n.ID}); err == nil {
			labels = append(labels, refLabel{text: c.reader.RefOf(n), box: b})
		}
	})
	return labels, nil
}
