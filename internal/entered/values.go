// Package entered knows what the user entered in the pages of a tab while the tab was handed over,
// and masks it.
package entered

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// The page scripts mask the fields in which the user entered something (js/entered_fields.js). A
// page may also show a value elsewhere or pass it to a script of the client. Therefore the values
// are also masked in the results of calls, for as long as their document exists.

const (
	// minEntered is the minimum length of a value that is masked outside of its field. Shorter
	// values occur in every text.
	minEntered = 4
	// maxDocuments limits the documents whose values are stored.
	maxDocuments = 64
)

// documentValues are the values that the user entered in a document.
type documentValues struct {
	reported map[int]string // reported during the handover, by their numbers
	final    []string       // of the fields at the end of the handover
}

// An Arrival says how a frame got its document.
type Arrival int

const (
	ArrivalNew      Arrival = iota
	ArrivalAgain            // by a step in the history or a reload, for which the browser fills fields again, or unknown
	ArrivalRestored         // from the back/forward cache, or while the tab was not attached
)

// Values are the values that the user entered in the documents of a tab. The zero value is empty.
// It is safe for concurrent use.
type Values struct {
	mu     sync.Mutex // guards the fields below
	values map[string]*documentValues
	order  []string // the keys of values: the worlds of documents, the oldest first
	// unmasked are the worlds of documents that were handed over, or returned, and have not masked
	// their fields yet. They cannot be read.
	unmasked map[string]bool
	// handed are the worlds of the documents that were handed over.
	handed map[string]bool
	// arrival is ArrivalNew if no document of the tab can have values of an earlier one. Otherwise
	// the values of all documents are masked.
	arrival Arrival
	// returned are the worlds of documents that came back after a handover, or that became known
	// after it. They are unmasked at first.
	returned map[string]bool
	// late are the frames whose document was not known at the end of a handover, or has not masked
	// its fields, and the frames in them. They may have had a document during the handover that
	// becomes known later.
	late map[cdp.FrameID]bool
	// unknown means that the documents could not be listed at the end of a handover, so all are
	// unmasked.
	unknown bool
}

// Add stores the values that a document's world had at the end of a handover, except short ones.
func (v *Values) Add(world string, values []string) {
	values = slices.DeleteFunc(values, isTooShort)
	if len(values) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	d := v.document(world)
	d.final = append(d.final, values...)
	slices.Sort(d.final)
	d.final = slices.Compact(d.final)
}

// Report stores a value that the user is entering in a document's world, unless it is short. It
// replaces the value that was reported with the same number.
func (v *Values) Report(world string, number int, value string) {
	if isTooShort(value) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.document(world).reported[number] = value
}

// isTooShort reports whether a value is not masked outside of its field.
func isTooShort(value string) bool { return utf8.RuneCountInString(value) < minEntered }

// document returns the values of a document's world. It creates them if necessary. v.mu must be
// held.
func (v *Values) document(world string) *documentValues {
	d := v.values[world]
	if d != nil {
		return d
	}
	if v.values == nil {
		v.values = make(map[string]*documentValues)
	}
	if v.order = append(v.order, world); len(v.order) > maxDocuments {
		delete(v.values, v.order[0])
		v.order = v.order[1:]
	}
	d = &documentValues{reported: make(map[int]string)}
	v.values[world] = d
	return d
}

// Watched records that a document was handed over.
func (v *Values) Watched(d *frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.handed == nil {
		v.handed, v.returned = make(map[string]bool), make(map[string]bool)
	}
	v.handed[d.World] = true
}

// Arrived records how the document of a frame came there. docs are the documents that came with it
// and whose worlds are known. Without a handover before, it does nothing.
func (v *Values) Arrived(how Arrival, top bool, docs []*frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.handed) == 0 {
		return
	}
	if top || how != ArrivalNew {
		v.arrival = how
	}
	if top {
		for world := range v.returned {
			delete(v.unmasked, world)
		}
		clear(v.returned)
	}
	for _, d := range docs {
		v.setReturned(d)
	}
}

// Created records a document whose world was created.
func (v *Values) Created(d *frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.setReturned(d)
}

// setReturned makes d unmasked if it can have what the user entered: it is loaded again, it was
// handed over and is restored, or it becomes known only after the handover. v.mu must be held.
func (v *Values) setReturned(d *frames.Document) {
	again := v.arrival == ArrivalAgain || v.arrival == ArrivalRestored && v.handed[d.World]
	if !again && !v.late[d.Frame] {
		return
	}
	v.setUnmasked(d)
	if v.returned == nil {
		v.returned = make(map[string]bool)
	}
	v.returned[d.World] = true
}

// setUnmasked makes d unmasked. v.mu must be held.
func (v *Values) setUnmasked(d *frames.Document) {
	if v.unmasked == nil {
		v.unmasked = make(map[string]bool)
	}
	v.unmasked[d.World] = true
}

// setLate records a frame whose document is not known at the end of a handover, or has not masked
// its fields. v.mu must be held.
func (v *Values) setLate(frame cdp.FrameID) {
	if v.late == nil {
		v.late = make(map[cdp.FrameID]bool)
	}
	v.late[frame] = true
}

// FrameAttached records a frame.
func (v *Values) FrameAttached(frame, parent cdp.FrameID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.late[parent] {
		v.setLate(frame)
	}
}

// FrameDetached records that a frame was removed.
func (v *Values) FrameDetached(frame cdp.FrameID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.late, frame)
}

// HasReturned reports whether d came back after a handover.
func (v *Values) HasReturned(d *frames.Document) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.returned[d.World]
}

// Of returns the values of documents, and of all documents if one can have those of an earlier one.
func (v *Values) Of(docs []*frames.Document) (list []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	worlds := v.order
	if v.arrival == ArrivalNew {
		worlds = nil
		for _, d := range docs {
			worlds = append(worlds, d.World)
		}
	}
	for _, world := range worlds {
		if values := v.values[world]; values != nil {
			list = slices.AppendSeq(append(list, values.final...), maps.Values(values.reported))
		}
	}
	return list
}

// MustMask records documents of the tab that have not masked their fields yet.
func (v *Values) MustMask(docs []*frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range docs {
		v.setUnmasked(d)
		v.setLate(d.Frame)
	}
	v.unknown = v.unknown && len(docs) == 0
}

// HandoverEnded records the frames of the tab whose document was not masked when a handover ended,
// because it is not known, or was not when the documents that were masked were listed.
func (v *Values) HandoverEnded(s *frames.State, masked []*frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for f := range s.Frames() {
		if d := s.Document(f); d == nil {
			v.setLate(f.ID())
		} else if !slices.ContainsFunc(masked, func(m *frames.Document) bool { return m.World == d.World }) {
			v.setUnmasked(d)
			v.setLate(f.ID())
		}
	}
}

// SetUnknown records that the documents of the tab are not known and count as unmasked.
func (v *Values) SetUnknown() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.unknown = true
}

// Masked records that a document has masked its fields.
func (v *Values) Masked(d *frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.unmasked, d.World)
	delete(v.late, d.Frame)
}

// Pending returns those of docs that have not masked their fields yet.
func (v *Values) Pending(docs ...*frames.Document) (list []*frames.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range docs {
		if v.unknown || v.unmasked[d.World] {
			list = append(list, d)
		}
	}
	return list
}

// CheckMasked returns the error for an operation that depends on the content of d if d has not
// masked the fields in which the user entered something.
func (v *Values) CheckMasked(d *frames.Document, op executor.Operation) error {
	switch op {
	case executor.OpList, executor.OpNavigate, executor.OpDismiss:
		return nil // so that the client can leave the page
	}
	if len(v.Pending(d)) == 0 {
		return nil
	}
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Hint: "Try again, or load another page in the tab.",
		Err: errors.New("the page has not masked yet what the user entered during the handover")}
}
