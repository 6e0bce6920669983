package audit

import "time"

const (
	// foldTime is how long denials of one kind are counted after the first.
	foldTime = time.Minute
	// maxKinds bounds the kinds of denial that are told of in that time. A
	// page can ask for as many hosts as it likes.
	maxKinds = 50
)

// folded counts denials. A page may be denied the same thing thousands of times
// a second, and is not to wash other entries out of the log by it. Its zero
// value has counted none.
type folded struct {
	kinds  map[Entry]*Entry // by what does not change; the value has the count
	others int              // of kinds for which there was no room
	timer  *time.Timer
}

// first reports whether a denial is the first of its kind and is to be written,
// else it counts it. later is called when it is time to take what was counted.
func (f *folded) first(e Entry, later func()) bool {
	if f.timer == nil {
		f.timer = time.AfterFunc(foldTime, later)
		f.kinds = make(map[Entry]*Entry)
	}
	kind := e
	kind.Time, kind.PID, kind.Millis, kind.Count = time.Time{}, 0, 0, 0
	if known := f.kinds[kind]; known != nil {
		known.Count++
		return false
	}
	if len(f.kinds) >= maxKinds {
		f.others++
		return false
	}
	f.kinds[kind] = &kind
	return true
}

// take returns what was counted, and begins anew.
func (f *folded) take() []Entry {
	if f.timer == nil {
		return nil
	}
	f.timer.Stop()
	var counted []Entry
	for _, e := range f.kinds {
		if e.Count > 0 {
			counted = append(counted, *e)
		}
	}
	if f.others > 0 {
		counted = append(counted, Entry{Event: EventDenied, Decision: Denied, Count: f.others, Detail: "of further kinds"})
	}
	*f = folded{}
	return counted
}
