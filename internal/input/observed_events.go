package input

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// An observedEvent is the record of one event in js/hit_target_check.js.
type observedEvent struct {
	Type      string                     `json:"type"`
	OK        bool                       `json:"ok"`
	By        *elements.DescribedElement `json:"by"`
	Prevented bool                       `json:"prevented"` // the event was blocked, so it had no effect
	Late      bool                       `json:"late"`      // it was blocked because it arrived too late
	Change    *elements.Change           `json:"change"`    // it was blocked because the element of a ref is in another item now
	doc       *frames.Document
}

// observedEvents collects the events that page scripts report with a token as they happen.
type observedEvents struct {
	tree  *frames.Tree
	token string

	mu   sync.Mutex // guards seen
	seen []observedEvent
}

// observeEvents starts to collect the events of a new token. The caller must call stop.
func observeEvents(tree *frames.Tree) *observedEvents {
	o := &observedEvents{tree: tree, token: rand.Text()}
	tree.Reports().Subscribe(o.token, func(payload []byte) {
		var e observedEvent
		if json.Unmarshal(payload, &e) == nil {
			o.mu.Lock()
			o.seen = append(o.seen, e)
			o.mu.Unlock()
		}
	})
	return o
}

// reported returns the events that were reported.
func (o *observedEvents) reported() []observedEvent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// stop stops collecting. If docs still observe events, it stops that without waiting.
func (o *observedEvents) stop(docs ...*frames.Document) {
	for _, d := range docs {
		if d != nil && d.IsCurrent() {
			d.Start(context.Background(), "finishCheck", o.token, false)
		}
	}
	o.tree.Reports().Unsubscribe(o.token)
}
