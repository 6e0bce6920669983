package page

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
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
// t.mu must be held.
func (t *Tab) promptAnswered(text string) {
	d := t.dialogs.open.Load()
	if d == nil || !t.HandedOver() {
		return
	}
	if doc := t.documentOf(t.frames[d.frameOr(t.main)]); doc != nil {
		t.entered.add(doc.world, []string{text})
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
func (e *entered) watched(d *document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handed == nil {
		e.handed, e.returned = make(map[string]bool), make(map[string]bool)
	}
	e.handed[d.world] = true
}

// arrived records how the document of a frame came there. docs are the documents that came with it
// and whose worlds are known. Without a handover before, it does nothing.
func (e *entered) arrived(how arrival, top bool, docs []*document) {
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
func (e *entered) created(d *document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setReturned(d)
}

// setReturned makes d unmasked if it can have what the user entered: it is loaded again, it was
// handed over and is restored, or it becomes known only after the handover. e.mu must be held.
func (e *entered) setReturned(d *document) {
	again := e.arrival == arrivalAgain || e.arrival == arrivalRestored && e.handed[d.world]
	if !again && !e.late[d.frame] {
		return
	}
	e.setUnmasked(d)
	if e.returned == nil {
		e.returned = make(map[string]bool)
	}
	e.returned[d.world] = true
}

// setUnmasked makes d unmasked. e.mu must be held.
func (e *entered) setUnmasked(d *document) {
	if e.unmasked == nil {
		e.unmasked = make(map[string]bool)
	}
	e.unmasked[d.world] = true
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
func (e *entered) hasReturned(d *document) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.returned[d.world]
}

// of returns the values of documents, and of all documents if one can have those of an earlier one.
func (e *entered) of(docs []*document) (list []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	worlds := e.order
	if e.arrival == arrivalNew {
		worlds = nil
		for _, d := range docs {
			worlds = append(worlds, d.world)
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
func (e *entered) mustMask(docs []*document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range docs {
		e.setUnmasked(d)
		e.setLate(d.frame)
	}
	e.unknown = e.unknown && len(docs) == 0
}

// handoverEnded records the frames of the tab whose document was not masked when a handover ended,
// because it is not known, or was not when the documents that were masked were listed. t.mu must not
// be held.
func (t *Tab) handoverEnded(masked []*document) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered.mu.Lock()
	defer t.entered.mu.Unlock()
	for id, f := range t.frames {
		if d := t.documentOf(f); d == nil {
			t.entered.setLate(id)
		} else if !slices.ContainsFunc(masked, func(m *document) bool { return m.world == d.world }) {
			t.entered.setUnmasked(d)
			t.entered.setLate(id)
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
func (e *entered) masked(d *document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.unmasked, d.world)
	delete(e.late, d.frame)
}

// pending returns those of docs that have not masked their fields yet.
func (e *entered) pending(docs ...*document) (list []*document) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range docs {
		if e.unknown || e.unmasked[d.world] {
			list = append(list, d)
		}
	}
	return list
}

// watchFields makes d, a document of t, record in which fields the user enters something. duringHandover means that the
// user may already have done so: d has become known during the handover.
func (v *View) watchFields(ctx context.Context, t *Tab, d *document, duringHandover bool) {
	if v.checkQuietly(ctx, d) != nil {
		return
	}
	t.entered.watched(d)
	limit, cancel := context.WithTimeout(ctx, t.timing.WatchFields)
	defer cancel()
	d.findClosedRoots(limit)
	sending, cancel := context.WithTimeout(ctx, t.timing.WatchFields)
	defer cancel()
	p, err := d.start(sending, "watchFields")
	if err == nil && (duringHandover || d.finish(limit, p, nil) != nil) {
		// If the page is hung, the user may have entered something when it responds.
		_, _ = d.start(sending, "distrustContents")
	}
}

// maskEntered makes documents of a tab mask the fields that the user has changed, and stores their
// values. Until a document has done that, check denies reading it. A document that does not respond
// does not delay the others.
func (v *View) maskEntered(ctx context.Context, t *Tab, docs []*document) {
	t.entered.mustMask(docs)
	ctx, cancel := context.WithTimeout(ctx, t.timing.Mask)
	defer cancel()
	var wg sync.WaitGroup
	for _, d := range docs {
		wg.Go(func() {
			if v.checkQuietly(ctx, d) != nil {
				return // it stays unmasked until a client whose gate allows it masks it
			}
			d.findClosedRoots(ctx)
			var got struct {
				Values []string `json:"values"`
				Parsed bool     `json:"parsed"`
			}
			if d.call(ctx, &got, "maskEntered") == nil {
				t.entered.add(d.world, got.Values)
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
	if docs := v.tab.entered.pending(v.tab.documents()...); len(docs) > 0 {
		v.maskEntered(ctx, v.tab, docs)
	}
}

// unmaskedError returns the error for an operation that depends on the content of d if d has not
// masked the fields in which the user entered something.
func (t *Tab) unmaskedError(d *document, op executor.Operation) error {
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
func (v *View) checkQuietly(ctx context.Context, d *document) error {
	return v.checkGate(executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(executor.Decision) {}}), d, executor.OpRead, "")
}

// entered returns the values that the user entered in the documents of the group: a page can show
// what was entered in another page of the group.
func (g *openerGroup) entered() (values []string) {
	if !g.wasHandedOver() {
		return nil
	}
	for _, m := range g.members() {
		values = append(values, m.entered.of(m.documents())...)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// maskTruncated masks the start of what the user entered at the ends of truncated values.
func (v *View) maskTruncated(items []executor.Item) {
	values := v.tab.openerGroup.entered()
	if len(values) == 0 {
		return
	}
	m := newEnteredMasker(values)
	for i := range items {
		if item := &items[i]; item.Truncated {
			if start := m.startOf(item.Value); start < len(item.Value) {
				item.Value = item.Value[:start] + fieldMask
			}
		}
	}
}

// MaskEntered masks the values that the user entered in the documents of the opener group of the tab
// in what a client receives, which it changes.
func (v *View) MaskEntered(value any) {
	if values := v.tab.openerGroup.entered(); len(values) > 0 {
		maskStrings(reflect.ValueOf(value), newEnteredMasker(values))
	}
}

// enteredTextFields returns the text fields of the tab in which the user entered something.
func (v *View) enteredTextFields(ctx context.Context) ([]*element, error) {
	if !v.tab.openerGroup.wasHandedOver() {
		return nil, nil
	}
	return v.fieldsOf(ctx, "enteredTextFields")
}

// HasEntered reports whether MaskEntered masks anything.
func (v *View) HasEntered() bool { return len(v.tab.openerGroup.entered()) > 0 }

// MaskEnteredError masks the values that the user entered in an error.
func (v *View) MaskEnteredError(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	values := v.tab.openerGroup.entered()
	if !ok || len(values) == 0 {
		return err
	}
	masked := *e
	masked.Candidates = slices.Clone(e.Candidates)
	r := newEnteredMasker(values)
	for i := range masked.Candidates {
		maskStrings(reflect.ValueOf(&masked.Candidates[i]), r)
	}
	masked.Hint = r.Replace(e.Hint)
	if text := r.Replace(e.Message()); text != e.Message() {
		masked.Err = errors.New(text)
	}
	return &masked
}

// An enteredMasker masks the values that the user entered.
type enteredMasker struct {
	*secrets.Masker
	starts map[string][]string // the values, as [secrets.Fold] returns them, by their first bytes
	most   int                 // bytes of a value
}

// minCut is the minimum length of the start of a value that is masked where a text is truncated, in
// bytes.
const minCut = 2

func newEnteredMasker(values []string) *enteredMasker {
	all := slices.Clone(values)
	for _, s := range values {
		// As the outline of a page shows it.
		if shown := pagetext.Clean(s); shown != s && !isTooShort(shown) {
			all = append(all, shown)
		}
	}
	m := &enteredMasker{Masker: secrets.NewMasker(all), starts: make(map[string][]string)}
	for _, s := range all {
		s = secrets.Fold(s)
		m.starts[s[:minCut]] = append(m.starts[s[:minCut]], s)
		m.most = max(m.most, len(s))
	}
	return m
}

// Replace masks the values in s, and the start of one where s is truncated.
func (m *enteredMasker) Replace(s string) string {
	s = m.Mask(s)
	for end := strings.LastIndex(s, "…"); end > 0; end = strings.LastIndex(s[:end], "…") {
		if start := m.startOf(s[:end]); start < end {
			s = s[:start] + fieldMask + s[end:]
			end = start
		}
	}
	return s
}

// startOf returns where the start of a value begins with which s ends; len(s) if there is none.
func (m *enteredMasker) startOf(s string) int {
	from := max(0, len(s)-m.most)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	tail := secrets.Fold(s[from:])
	if len(tail) != len(s)-from {
		tail = s[from:]
	}
	for i := 0; i+minCut <= len(tail); i++ {
		for _, v := range m.starts[tail[i:i+minCut]] {
			if strings.HasPrefix(v, tail[i:]) {
				return from + i
			}
		}
	}
	return len(s)
}

// textSpans are [secrets.Masker.Spans].
type textSpans interface {
	Spans(text string) [][2]int
}

// spanWindow is how far from the ends of a part of a text wholeSpans searches, in bytes.
const spanWindow = 64 << 10

// wholeSpans returns the part s[start:end], extended by the rest of what is masked at its ends: values
// of secrets, and what the user entered.
func (v *View) wholeSpans(s string, start, end int) (int, int) {
	var maskers []textSpans
	if m, ok := v.opts.Secrets.(textSpans); ok {
		maskers = append(maskers, m)
	}
	if values := v.tab.openerGroup.entered(); len(values) > 0 {
		maskers = append(maskers, newEnteredMasker(values))
	}
	for _, m := range maskers {
		for _, at := range []int{start, end} {
			from := max(0, at-spanWindow)
			for _, span := range m.Spans(s[from:min(len(s), at+spanWindow)]) {
				if a, b := from+span[0], from+span[1]; a < at && at < b {
					start, end = min(start, a), max(end, b)
				}
			}
		}
	}
	return start, end
}

// maskJSON masks the strings in raw, the names of members, and numbers, which become strings.
func maskJSON(raw executor.RawJSON, r *enteredMasker) executor.RawJSON {
	if r.Replace(string(raw)) == string(raw) {
		return raw
	}
	masked := pagetext.RewriteJSON(raw, func(v any) any { return pagetext.MapTexts(v, r.Replace) })
	if bytes.Equal(masked, raw) { // it is not JSON
		return executor.RawJSON(`"` + fieldMask + `"`)
	}
	return masked
}

// notText has the names of the fields of results that contain no text of a page.
var notText = map[string]bool{"Origin": true, "Tab": true, "TabID": true, "Ref": true}

// maskStrings applies r to all texts that v contains. Texts of other types than string, such as
// refs, are not from a page.
func maskStrings(v reflect.Value, r *enteredMasker) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			maskStrings(v.Elem(), r)
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		c := reflect.New(v.Elem().Type()).Elem()
		c.Set(v.Elem())
		maskStrings(c, r)
		if v.CanSet() {
			v.Set(c)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !notText[f.Name] {
				maskStrings(v.Field(i), r)
			}
		}
	case reflect.Slice:
		if raw, ok := v.Interface().(executor.RawJSON); ok {
			if v.CanSet() {
				v.SetBytes(maskJSON(raw, r))
			}
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // an image
		}
		for i := range v.Len() {
			maskStrings(v.Index(i), r)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			c := reflect.New(v.Type().Elem()).Elem()
			c.Set(v.MapIndex(k))
			maskStrings(c, r)
			v.SetMapIndex(k, c)
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(r.Replace(v.String()))
		}
	}
}
