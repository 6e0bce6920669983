package hitcheck

import (
	"context"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// OtherDocuments are the documents of a tab that the client may act on and for which an input is not
// meant. A page may move them under the pointer or focus them before the input arrives. They block it
// and report it with the token of the input's check. The shield blocks input in denied documents, and
// in those that load during the call.
type OtherDocuments struct {
	timing  *timing.Timing
	token   string
	docs    []*frames.Document
	pending []*cdpconn.Pending
	Late    bool // one of them did not respond in time, so that it possibly does not block the input
}

// BlockElsewhere starts to block input in all documents that the client may act on, except for those in
// path and, if frame is not nil, those in that frame. want specifies which input.
func BlockElsewhere(ctx context.Context, client *frames.Client, token string, path []*frames.Document, frame *frames.Document, want Options) *OtherDocuments {
	o := &OtherDocuments{timing: client.Tree.Timing(), token: token}
	all := client.Tree.Documents()
	if len(all) == 1 {
		return o
	}
	want.Below = true
	parents := make(map[cdp.FrameID]cdp.FrameID, len(all))
	for _, d := range all {
		parents[d.Frame] = d.Parent
	}
	inFrame := func(at cdp.FrameID) bool {
		for ; frame != nil && at != ""; at = parents[at] {
			if at == frame.Frame {
				return true
			}
		}
		return false
	}
	for _, d := range all {
		inPath := slices.ContainsFunc(path, func(p *frames.Document) bool { return p.World == d.World })
		if inPath || inFrame(d.Frame) || !shield.MayReach(ctx, client, d) {
			continue
		}
		if p, err := d.Start(ctx, "startCheck", token, 0, want); err == nil {
			o.docs, o.pending = append(o.docs, d), append(o.pending, p)
		}
	}
	return o
}

// Await waits until the documents block input, for at most Timing.OtherDocuments: one that is busy or
// loading must not prevent input for others.
func (o *OtherDocuments) Await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.timing.OtherDocuments)
	defer cancel()
	for i, p := range o.pending {
		if o.docs[i].AwaitResponse(ctx, p) != nil {
			o.Late = true
		}
	}
	o.pending = nil
}

// Finish returns the events that were blocked. It stops blocking unless more is set. It waits for each
// document for at most Timing.OtherDocuments.
func (o *OtherDocuments) Finish(ctx context.Context, more bool) (seen []Event) {
	if o == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.timing.OtherDocuments)
	defer cancel()
	events := make([][]Event, len(o.docs))
	var wg sync.WaitGroup
	for i, d := range o.docs {
		p, err := d.Start(ctx, "finishCheck", o.token, more)
		if err != nil {
			continue
		}
		wg.Go(func() {
			var got Result
			if d.Finish(ctx, p, &got) == nil {
				events[i] = got.Seen
			}
		})
	}
	wg.Wait()
	for i, list := range events {
		for _, e := range list {
			e.OK, e.Doc = false, o.docs[i]
			seen = append(seen, e)
		}
	}
	return seen
}

// All returns the documents.
func (o *OtherDocuments) All() []*frames.Document {
	if o == nil {
		return nil
	}
	return o.docs
}

// Has reports whether d is one of the documents.
func (o *OtherDocuments) Has(d *frames.Document) bool { return d != nil && slices.Contains(o.All(), d) }
