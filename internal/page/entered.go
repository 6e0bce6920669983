package page

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// The page scripts mask the fields in which the user entered something (js/entered_fields.js). A
// page may also show a value elsewhere or pass it to a script of the client. Therefore the values
// are also masked in the results of calls, for as long as their document exists.

const (
	// minEntered is the minimum length of a value that is masked outside of its field. Shorter
	// values occur in every text.
	minEntered = 4
	// maxEnteredDocuments limits the documents whose values are stored.
	maxEnteredDocuments = 64
)

// enteredValues are the values that the user entered in a document.
type enteredValues struct {
	reported map[int]string // reported during the handover, by their numbers
	final    []string       // of the fields at the end of the handover
}

// An arrival is how a document of a frame came there.
type arrival int

const (
	arrivalNew      arrival = iota
	arrivalAgain            // by a step in the history or a reload, for which the browser fills fields again, or unknown
	arrivalRestored         // from the back/forward cache, or while the tab was not attached
)

// entered are the values that the user entered in the documents of a tab. The zero value is empty.
// It is safe for concurrent use.
type entered struct {
	mu     sync.Mutex // guards the fields below
	values map[string]*enteredValues
	order  []string // the keys of values: the worlds of documents, the oldest first
	// unmasked are the worlds of documents that were handed over, or returned, and have not masked
	// their fields yet. They cannot be read.
	unmasked map[string]bool
	// handed are the worlds of the documents that were handed over.
	handed map[string]bool
	// arrival is arrivalNew if no document of the tab can have values of an earlier one. Otherwise the
	// values of all documents are masked.
	arrival arrival
	// returned are the worlds of documents that came back after a handover, or that became known after
	// it. They are unmasked at first.
	returned map[string]bool
	// late are the frames whose document was not known at the end of a handover, or has not masked its
	// fields, and the frames in them. They may have had a document during the handover that becomes
	// known later.
	late map[cdp.FrameID]bool
	// unknown means that the documents could not be listed at the end of a handover, so all are
	// unmasked.
	unknown bool
}

// add stores the values that a document's world had at the end of a handover, except short ones.
func (e *entered) add(world string, values []string) {
	values = slices.DeleteFunc(values, isTooShort)
	if len(values) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.document(world)
	d.final = append(d.final, values...)
	slices.Sort(d.final)
	d.final = slices.Compact(d.final)
}

// report stores a value that the user is entering in a document's world, unless it is short. It
// replaces the value that was reported with the same number.
func (e *entered) report(world string, number int, value string) {
	if isTooShort(value) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.document(world).reported[number] = value
}

// promptAnswered stores what the user entered in the open prompt dialog if the tab is handed over.
func (t *Tab) promptAnswered(s *frames.State, text string) {
	d := t.dialogs.open.Load()
	if d == nil || !t.HandedOver() {
		return
	}
	if doc := s.Document(s.Frame(d.frameOr(t.main))); doc != nil {
		t.entered.add(doc.World, []string{text})
	}
}

// isTooShort reports whether a value is not masked outside of its field.
func isTooShort(value string) bool { return utf8.RuneCountInString(value) < minEntered }

// document returns the values of a document's world. It creates them if necessary. e.mu must be
// held.
func (e *entered) document(world string) *enteredValues {
	d := e.values[world]
	if d != nil {
		return d
	}
	if e.values == nil {
		e.values = make(map[string]*enteredValues)
	}
	if e.order = append(e.order, world); len(e.order) > maxEnteredDocuments {
		delete(e.values, e.order[0])
		e.order = e.order[1:]
	}
	d = &enteredValues{reported: make(map[int]string)}
	e.values[world] = d
	return d
}

// watched records that a document was handed over.
func (e *entered) watched(d *frames.Document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handed == nil {
		e.handed, e.returned = make(map[string]bool), make(map[string]bool)
	}
	e.handed[d.World] = true
}

// arrived records how the document of a frame came there. docs are the documents that came with it
// and whose worlds are known. Without a handover before, it does nothing.
func (e *entered) arrived(how arrival, top bool, docs []*frames.Document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.handed) == 0 {
		return
	}
	if top || how != arrivalNew {
		e.arrival = how
	}
	if top {
		for world := range e.returned {
			delete(e.unmasked, world)
		}
		clear(e.returned)
	}
	for _, d := range docs {
		e.setReturned(d)
	}
}

// created records a document whose world was created.
func (e *entered) created(d *frames.Document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setReturned(d)
}

// setReturned makes d unmasked if it can have what the user entered: it is loaded again, it was
// handed over and is restored, or it becomes known only after the handover. e.mu must be held.
func (e *entered) setReturned(d *frames.Document) {
	again := e.arrival == arrivalAgain || e.arrival == arrivalRestored && e.handed[d.World]
	if !again && !e.late[d.Frame] {
		return
	}
	e.setUnmasked(d)
	if e.returned == nil {
		e.returned = make(map[string]bool)
	}
	e.returned[d.World] = true
}

// setUnmasked makes d unmasked. e.mu must be held.
func (e *entered) setUnmasked(d *frames.Document) {
	if e.unmasked == nil {
		e.unmasked = make(map[string]bool)
	}
	e.unmasked[d.World] = true
}

// setLate records a frame whose document is not known at the end of a handover, or has not masked its
// fields. e.mu must be held.
func (e *entered) setLate(frame cdp.FrameID) {
	if e.late == nil {
		e.late = make(map[cdp.FrameID]bool)
	}
	e.late[frame] = true
}

// frameAttached records a frame.
func (e *entered) frameAttached(frame, parent cdp.FrameID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.late[parent] {
		e.setLate(frame)
	}
}

// frameDetached records that a frame was removed.
func (e *entered) frameDetached(frame cdp.FrameID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.late, frame)
}

// hasReturned reports whether d came back after a handover.
func (e *entered) hasReturned(d *frames.Document) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.returned[d.World]
}

// of returns the values of documents, and of all documents if one can have those of an earlier one.
func (e *entered) of(docs []*frames.Document) (list []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	worlds := e.order
	if e.arrival == arrivalNew {
		worlds = nil
		for _, d := range docs {
			worlds = append(worlds, d.World)
		}
	}
	for _, world := range worlds {
		if values := e.values[world]; values != nil {
			list = slices.AppendSeq(append(list, values.final...), maps.Values(values.reported))
		}
	}
	return list
}

// mustMask records documents of the tab that have not masked their fields yet.
func (e *entered) mustMask(docs []*frames.Document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range docs {
		e.setUnmasked(d)
		e.setLate(d.Frame)
	}
	e.unknown = e.unknown && len(docs) == 0
}

// handoverEnded records the frames of the tab whose document was not masked when a handover ended,
// because it is not known, or was not when the documents that were masked were listed.
func (t *Tab) handoverEnded(masked []*frames.Document) {
	s := t.tree.Lock()
	defer s.Unlock()
	t.entered.mu.Lock()
	defer t.entered.mu.Unlock()
	for f := range s.Frames() {
		if d := s.Document(f); d == nil {
			t.entered.setLate(f.ID())
		} else if !slices.ContainsFunc(masked, func(m *frames.Document) bool { return m.World == d.World }) {
			t.entered.setUnmasked(d)
			t.entered.setLate(f.ID())
		}
	}
}

// setUnknown records that the documents of the tab are not known and count as unmasked.
func (e *entered) setUnknown() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unknown = true
}

// masked records that a document has masked its fields.
func (e *entered) masked(d *frames.Document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.unmasked, d.World)
	delete(e.late, d.Frame)
}

// pending returns those of docs that have not masked their fields yet.
func (e *entered) pending(docs ...*frames.Document) (list []*frames.Document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range docs {
		if e.unknown || e.unmasked[d.World] {
			list = append(list, d)
		}
	}
	return list
}

// watchFields makes d, a document of t, record in which fields the user enters something.
// duringHandover means that the user may already have done so: d has become known during the handover.
func (v *View) watchFields(ctx context.Context, t *Tab, d *frames.Document, duringHandover bool) {
	if v.checkQuietly(ctx, d) != nil {
		return
	}
	t.entered.watched(d)
	limit, cancel := context.WithTimeout(ctx, t.timing.WatchFields)
	defer cancel()
	elements.FindClosedRoots(limit, d)
	sending, cancel := context.WithTimeout(ctx, t.timing.WatchFields)
	defer cancel()
	p, err := d.Start(sending, "watchFields")
	if err == nil && (duringHandover || d.Finish(limit, p, nil) != nil) {
		// If the page is hung, the user may have entered something when it responds.
		_, _ = d.Start(sending, "distrustContents")
	}
}

// maskEntered makes documents of a tab mask the fields that the user has changed, and stores their
// values. Until a document has done that, check denies reading it. A document that does not respond
// does not delay the others.
func (v *View) maskEntered(ctx context.Context, t *Tab, docs []*frames.Document) {
	t.entered.mustMask(docs)
	ctx, cancel := context.WithTimeout(ctx, t.timing.Mask)
	defer cancel()
	var wg sync.WaitGroup
	for _, d := range docs {
		wg.Go(func() {
			if v.checkQuietly(ctx, d) != nil {
				return // it stays unmasked until a client whose gate allows it masks it
			}
			elements.FindClosedRoots(ctx, d)
			var got struct {
				Values []string `json:"values"`
				Parsed bool     `json:"parsed"`
			}
			if d.Call(ctx, &got, "maskEntered") == nil {
				t.entered.add(d.World, got.Values)
				// The browser fills the fields of a document that returns while it parses it.
				if got.Parsed || !t.entered.hasReturned(d) {
					t.entered.masked(d)
				}
			}
		})
	}
	wg.Wait()
}

// MaskPending masks the documents that could not mask their fields at the end of a handover. It
// must be called before each call on the tab.
func (v *View) MaskPending(ctx context.Context) {
	if docs := v.tab.entered.pending(v.tab.tree.Documents()...); len(docs) > 0 {
		v.maskEntered(ctx, v.tab, docs)
	}
}

// unmaskedError returns the error for an operation that depends on the content of d if d has not
// masked the fields in which the user entered something.
func (t *Tab) unmaskedError(d *frames.Document, op executor.Operation) error {
	switch op {
	case executor.OpList, executor.OpNavigate, executor.OpDismiss:
		return nil // so that the client can leave the page
	}
	if len(t.entered.pending(d)) == 0 {
		return nil
	}
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Hint: "Try again, or load another page in the tab.",
		Err: errors.New("the page has not masked yet what the user entered during the handover")}
}

// checkQuietly checks whether the gate allows reading d, without reporting the decision.
func (v *View) checkQuietly(ctx context.Context, d *frames.Document) error {
	return v.client.CheckGate(executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(executor.Decision) {}}), d, executor.OpRead, "")
}

// entered returns the values that the user entered in the documents of the group: a page can show
// what was entered in another page of the group.
func (g *openerGroup) entered() (values []string) {
	if !g.wasHandedOver() {
		return nil
	}
	for _, m := range g.members() {
		values = append(values, m.entered.of(m.tree.Documents())...)
	}
	slices.Sort(values)
	return slices.Compact(values)
}
