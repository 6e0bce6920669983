package shield

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// maxCaptures is how often a screenshot is taken at most while denied frames enter the viewport.
const maxCaptures = 10

// A FrameHider hides the content of the denied frames of a tab. The page can move a frame at any
// time, so its position does not matter: the frame draws no content. The browser shows the old
// content of a frame until the frame is drawn again, and does not draw frames outside the viewport.
// So if a frame was in view before it was drawn again, the screenshot is repeated.
type FrameHider struct {
	frames   []*hiddenFrame
	parents  map[*frames.Document][]int // the elements in each document on the paths of frames
	restored bool
	limit    time.Duration // Timing.Hide
}

// A hiddenFrame is a denied frame in an allowed document. Its child frames are hidden with it.
type hiddenFrame struct {
	doc     *frames.Document
	parent  *frames.Document
	path    []frames.Node    // its frame elements, outward; nil if one is unknown
	pending *cdpconn.Pending // of WaitHidden
	drawn   bool             // since it was hidden
}

// ErrFramesChanged means that a frame navigated during a screenshot.
var ErrFramesChanged = &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: frames.ErrDocumentGone, Hint: "Take the screenshot again. The page was navigating."}

// cannotHideError returns the error of a screenshot that may show content of a denied frame.
func cannotHideError(why string) error {
	return &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true,
		Err:  errors.New("the content of a denied frame cannot be hidden: " + why),
		Hint: "Take a snapshot instead, or take the screenshot again later."}
}

// errFrameUnknown is the error of a screenshot with a frame whose document is not known yet.
var errFrameUnknown = &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true,
	Err:  frames.UnknownError("a frame", "denies"),
	Hint: "Take the screenshot again when the frame has loaded, or take a snapshot instead."}

// HideFrames hides the content of the frames that c may not read, until [FrameHider.Capture] succeeds or
// [FrameHider.Release] is called. The caller must call Release in any case. HideFrames returns nil if the
// tab has no such frames.
func HideFrames(ctx context.Context, c *frames.Client) (*FrameHider, error) {
	allowed := make(map[string]*frames.Document)
	for _, d := range c.Allowed(ctx, executor.OpRead) {
		allowed[string(d.Frame)] = d
	}
	h := &FrameHider{parents: make(map[*frames.Document][]int), limit: c.Tree.Timing().Hide}
	for _, d := range c.Tree.AllDocuments() {
		if allowed[string(d.Frame)] != nil || allowed[string(d.Parent)] == nil {
			continue // allowed, or inside a hidden frame
		}
		if d.World == "" {
			return nil, errFrameUnknown
		}
		h.frames = append(h.frames, &hiddenFrame{doc: d, parent: allowed[string(d.Parent)]})
	}
	if len(h.frames) == 0 {
		return nil, nil
	}
	err := h.hide(ctx)
	if err == nil {
		err = h.watch(ctx, allowed)
	}
	if err != nil {
		h.Release(ctx)
		return nil, err
	}
	return h, nil
}

// hide hides the content of all of the frames.
func (h *FrameHider) hide(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	pending := make([]*cdpconn.Pending, len(h.frames))
	var err error
	for i, f := range h.frames {
		if pending[i], err = f.doc.StartFunction(limit, frames.FunctionCall{Function: deniedscripts.HideContent, ByValue: true, Await: true}); err != nil {
			return h.failure(ctx, f.doc.AsGone(err))
		}
		if f.pending, err = f.doc.StartFunction(limit, frames.FunctionCall{Function: deniedscripts.WaitHidden, ByValue: true, Await: true}); err != nil {
			return h.failure(ctx, f.doc.AsGone(err))
		}
	}
	for i, f := range h.frames {
		var hidden bool
		if err := f.doc.Finish(limit, pending[i], &hidden); err != nil {
			return h.failure(ctx, err)
		}
		if !hidden {
			return executor.Errorf(executor.ErrPolicyDenied, "Take a snapshot instead.", "the content of a denied frame cannot be hidden: its styles prevent it")
		}
	}
	return nil
}

// failure returns the error of a screenshot after a command in a frame failed with err.
func (h *FrameHider) failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, frames.ErrDocumentGone):
		return ErrFramesChanged
	case errors.Is(err, executor.ErrDialogOpen), ctx.Err() != nil:
		return err
	}
	return cannotHideError("its document did not respond in time")
}

// watch makes the documents around the frames record which frames enter the viewport.
func (h *FrameHider) watch(ctx context.Context, allowed map[string]*frames.Document) error {
	ids := make(map[string][]int)
	for _, f := range h.frames {
		for d := f.doc; !d.IsTop(); {
			parent := allowed[string(d.Parent)]
			if parent == nil {
				return ErrFramesChanged
			}
			owner, err := d.Owner(ctx, parent)
			if err != nil {
				f.path = nil // position unknown: it must always be drawn
				break
			}
			f.path = append(f.path, parent.Node(owner))
			d = parent
		}
		for _, e := range f.path {
			if !slices.Contains(ids[e.World], e.ID) {
				ids[e.World] = append(ids[e.World], e.ID)
			}
		}
	}
	for _, d := range allowed {
		if len(ids[d.World]) == 0 {
			continue
		}
		h.parents[d] = ids[d.World]
		if _, err := d.Start(ctx, "watchFrames", ids[d.World]); err != nil {
			return h.failure(ctx, err)
		}
	}
	return nil
}

// inView returns the frames that are in view, or were since the last call.
func (h *FrameHider) inView(ctx context.Context) ([]*hiddenFrame, error) {
	pending := make(map[*frames.Document]*cdpconn.Pending)
	var err error
	for d, ids := range h.parents {
		if pending[d], err = d.Start(ctx, "framesInView", ids); err != nil {
			return nil, h.failure(ctx, err)
		}
	}
	seen := make(map[frames.Node]bool)
	for d, p := range pending {
		var ids []int
		if err := d.Finish(ctx, p, &ids); err != nil {
			return nil, h.failure(ctx, err)
		}
		for _, id := range ids {
			seen[d.Node(id)] = true
		}
	}
	var list []*hiddenFrame
	for _, f := range h.frames {
		// A frame is in view only if all frames around it are.
		if !slices.ContainsFunc(f.path, func(e frames.Node) bool { return !seen[e] }) {
			list = append(list, f)
		}
	}
	return list, nil
}

// await waits until the frames in view have been drawn hidden.
func (h *FrameHider) await(ctx context.Context) error {
	list, err := h.inView(ctx)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	for _, f := range list {
		if f.drawn {
			continue
		}
		if err := f.doc.Finish(limit, f.pending, &f.drawn); err != nil {
			return h.failure(ctx, err)
		}
		if !f.drawn {
			return cannotHideError("it became visible again")
		}
	}
	return nil
}

// missed reports whether the last screenshot may show a frame that had not been drawn hidden.
func (h *FrameHider) missed(ctx context.Context) (bool, error) {
	list, err := h.inView(ctx)
	if err != nil {
		return false, err
	}
	for _, f := range h.frames {
		// A frame that has been drawn by now was in view.
		if !f.drawn && (slices.Contains(list, f) || notify.IsClosed(f.pending.Done())) {
			return true, nil
		}
	}
	return false, nil
}

// A FrameElement is the element of a hidden frame in the document around it.
type FrameElement struct {
	Doc *frames.Document
	ID  int
}

// Elements returns the elements of the hidden frames, except those that are not known. h may be
// nil.
func (h *FrameHider) Elements() (list []FrameElement) {
	if h == nil {
		return nil
	}
	for _, f := range h.frames {
		if len(f.path) > 0 {
			list = append(list, FrameElement{f.parent, f.path[0].ID})
		}
	}
	return list
}

// show shows the content again. It returns an error if a document was visible or removed before.
func (h *FrameHider) show(ctx context.Context) error {
	h.restored = true
	pending := h.startShow(ctx)
	for i, f := range h.frames {
		if pending[i] == nil {
			return ErrFramesChanged
		}
		var hidden bool
		if err := f.doc.Finish(ctx, pending[i], &hidden); err != nil {
			return h.failure(ctx, err)
		}
		if !hidden {
			return cannotHideError("it became visible during the screenshot")
		}
	}
	return nil
}

// Release shows the content again if Capture has not. h may be nil.
func (h *FrameHider) Release(ctx context.Context) {
	if h == nil || h.restored {
		return
	}
	h.restored = true
	h.startShow(context.WithoutCancel(ctx))
}

// startShow starts to show the content again, and returns the pending commands of h.frames.
func (h *FrameHider) startShow(ctx context.Context) []*cdpconn.Pending {
	pending := make([]*cdpconn.Pending, len(h.frames))
	for i, f := range h.frames {
		pending[i], _ = f.doc.StartFunction(ctx, frames.FunctionCall{Function: deniedscripts.ShowContent, ByValue: true, Await: true}) // nil if the document is gone
	}
	for d := range h.parents {
		_, _ = d.Start(ctx, "watchFrames", []int{})
	}
	return pending
}

// Capture calls take until no frame with old content was in view, and shows the content again. If h
// is nil, it only calls take.
func (h *FrameHider) Capture(ctx context.Context, take func() error) error {
	if h == nil {
		return take()
	}
	for range maxCaptures {
		if err := h.await(ctx); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
		switch missed, err := h.missed(ctx); {
		case err != nil:
			return err
		case !missed:
			return h.show(ctx)
		}
	}
	return cannotHideError("it enters the viewport repeatedly")
}
