package audit

import "time"

const (
	// foldTime is how long entries of one kind are counted after the first.
	foldTime = time.Minute
	// maxKinds bounds the kinds of entries of one event that pages cause in that
	// time. A page can ask for as many hosts as it likes.
	maxKinds = 50
	// maxCallKinds bounds the kinds of calls that did nothing.
	maxCallKinds = 2000
)

// folds reports whether entries like e are counted instead of written when they
// repeat: what a page can cause as often as it likes, and calls that cost or did
// nothing. A call that acted before it failed is never counted: whoever makes
// it can have it fail.
func folds(e Entry) bool {
	switch e.Event {
	case EventDenied, EventDownload:
		return true
	case EventCall:
		return e.Code != "" && e.Code != "OK" && !e.Acted || e.Tool == "chrome_status"
	}
	return false
}

// kindOf returns the fields of e that define its kind. Entries of one kind are
// counted together.
func kindOf(e Entry) Entry {
	e.Time, e.PID, e.Millis, e.Count, e.Bytes, e.Args = time.Time{}, 0, 0, 0, 0, ""
	if e.Event == EventCall && (e.Code == "BAD_ARGS" || e.Code == "BACKPRESSURE") {
		e.Tab, e.Origin = "", "" // those of its arguments, which can be arbitrary
	}
	return e
}

// folded counts repeated entries. A page may cause the same denial thousands of
// times per second, and a client may repeat a rejected call: neither must push
// other entries out of the log. The zero value is ready to use.
type folded struct {
	kinds  map[Entry]*Entry // the value has the count
	room   map[Event]int    // for further kinds
	others map[Event]*Entry // what there was no room for
	timer  *time.Timer
}

// first reports whether an entry is the first of its kind and is to be written,
// else it counts it. later is called when it is time to take what was counted.
func (f *folded) first(e Entry, later func()) bool {
	if f.timer == nil {
		f.timer = time.AfterFunc(foldTime, later)
		f.kinds = make(map[Entry]*Entry)
		f.room = map[Event]int{EventCall: maxCallKinds, EventDenied: maxKinds, EventDownload: maxKinds}
		f.others = make(map[Event]*Entry)
	}
	kind := kindOf(e)
	known := f.kinds[kind]
	switch {
	case known != nil:
	case f.room[e.Event] > 0:
		f.room[e.Event]--
		f.kinds[kind] = &kind
		return true
	default:
		if known = f.others[e.Event]; known == nil {
			known = &Entry{Event: e.Event, Detail: "of further kinds"}
			if e.Event == EventDenied {
				known.Decision = Denied
			}
			f.others[e.Event] = known
		}
	}
	known.Count++
	known.Bytes += e.Bytes
	return false
}

// take returns the entries that were counted, with their counts, and counts
// afresh.
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
	for _, e := range f.others {
		counted = append(counted, *e)
	}
	*f = folded{}
	return counted
}
