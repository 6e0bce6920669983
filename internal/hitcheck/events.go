// Package hitcheck observes which document and element of a tab receives input, and blocks it elsewhere.
// The page scripts that its comments name are in internal/page/js.
package hitcheck

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// An Event is the record of one event in js/hit_target_check.js.
type Event struct {
	Type      string                     `json:"type"`
	OK        bool                       `json:"ok"`
	By        *elements.DescribedElement `json:"by"`
	Prevented bool                       `json:"prevented"` // the event was blocked, so it had no effect
	Late      bool                       `json:"late"`      // it was blocked because it arrived too late
	Change    *elements.Change           `json:"change"`    // it was blocked because the element of a ref is in another item now
	Doc       *frames.Document           `json:"-"`         // the document that received it, if it is known
}

// Events collects the events that page scripts report with a token as they happen.
type Events struct {
	tree  *frames.Tree
	Token string

	mu   sync.Mutex // guards seen
	seen []Event
}

// Observe starts to collect the events of a new token. The caller must call Stop.
func Observe(tree *frames.Tree) *Events {
	o := &Events{tree: tree, Token: rand.Text()}
	tree.Reports().Subscribe(o.Token, func(payload []byte) {
		var e Event
		if json.Unmarshal(payload, &e) == nil {
			o.mu.Lock()
			o.seen = append(o.seen, e)
			o.mu.Unlock()
		}
	})
	return o
}

// Reported returns the events that were reported.
func (o *Events) Reported() []Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// Stop stops collecting. If docs still observe events, it stops that without waiting.
func (o *Events) Stop(docs ...*frames.Document) {
	for _, d := range docs {
		if d != nil && d.IsCurrent() {
			d.Start(context.Background(), "finishCheck", o.Token, false)
		}
	}
	o.tree.Reports().Unsubscribe(o.Token)
}

// Options are the Expected of js/hit_target_check.js. Durations are in milliseconds.
type Options struct {
	Types   []string            `json:"types"`
	At      *[2]float64         `json:"at,omitempty"`
	Presses int                 `json:"presses,omitempty"`
	Within  int64               `json:"within,omitempty"`
	Late    int64               `json:"late,omitempty"`
	Busy    int64               `json:"busy,omitempty"`
	Submits bool                `json:"submits,omitempty"`
	Text    int64               `json:"text,omitempty"`
	Below   bool                `json:"below,omitempty"`
	Shown   *elements.Reference `json:"shown,omitempty"`
	Record  bool                `json:"record,omitempty"`
}

// A Result is the result of finishCheck in js/hit_target_check.js.
type Result struct {
	Seen     []Event `json:"seen"`
	Left     string  `json:"left"`     // the Departure of the element in js/hit_target_check.js, a key of pressNotes
	Disabled bool    `json:"disabled"` // whether the element is disabled now
	File     bool    `json:"file"`     // whether the element is in a download link
	TapEnded bool    `json:"tapEnded"` // no click of the tap reaches the element
	// Invalid are the fields that prevented a form from being submitted.
	Invalid []InvalidField `json:"invalid"`
	// Interrupted means that a dialog opened while the page handled the input.
	Interrupted bool `json:"-"`
}

// An InvalidField is a field whose value the browser does not submit.
type InvalidField struct {
	elements.Description
	Message pagetext.Text `json:"message"`
}
