package audit

import "time"

const (
	// foldWindow is how long repeated entries are counted before the counts are written.
	foldWindow = time.Minute
	// maxKinds is the maximum number of kinds per event and principal, within foldWindow, for entries
	// other than calls. A page can request an arbitrary number of hosts.
	maxKinds = 50
	// maxCallKinds is the maximum number of kinds of calls that had no effect, and
	// maxPrincipalCallKinds that of one principal with a name: its clients choose their names, and the
	// hosts in the arguments.
	maxCallKinds          = 2000
	maxPrincipalCallKinds = 200
)

// folds reports whether repeated entries like e are counted instead of written: entries that a page
// can cause without limit, those about sessions, which a client can open again and again, and calls
// that had no effect and returned nothing of a page, such as tabs_list. A call that acted before it
// failed is always written, because a caller could make its calls fail on purpose.
func folds(e Entry) bool {
	switch e.Event {
	case EventDenied, EventDownload, EventSession, EventOpened, EventClosed:
		return true
	case EventCall:
		return !e.Acted && e.Code != "" && (e.Code != "OK" || e.Decision == "" && e.Bytes == 0)
	}
	return false
}

// kindOf returns the fields of e that define its kind. Entries of one kind are
// counted together.
func kindOf(e Entry) Entry {
	e.Time, e.PID, e.DurationMS, e.Count, e.Bytes, e.Args = time.Time{}, 0, 0, 0, 0, ""
	switch e.Event {
	case EventSession, EventOpened, EventClosed:
		e.Session = "" // new for each session
	}
	if e.Event == EventCall && (e.Code == "BAD_ARGS" || e.Code == "BACKPRESSURE") {
		e.Tab, e.Origin = "", "" // those in the arguments, which can be arbitrary
	}
	return e
}

// denialCounter counts repeated entries. A page may cause the same denial thousands of
// times per second, and a client may repeat a rejected call: neither must push
// other entries out of the log. The zero value is ready to use.
type denialCounter struct {
	kinds  map[Entry]*Entry // the value has the count
	budget map[share]int    // used number of kinds
	others map[share]*Entry // entries of kinds beyond the budget
	timer  *time.Timer
}

// A share identifies the entries that have a budget of kinds.
type share struct {
	event     Event
	principal string
}

// maxKinds returns the budget.
func (s share) maxKinds() int {
	switch {
	case s.event == EventCall && s.principal == "":
		return maxCallKinds
	case s.event == EventCall:
		return maxPrincipalCallKinds
	}
	return maxKinds
}

// first reports whether e is the first entry of its kind and must be written. Otherwise it counts
// e. It calls later after foldWindow, when the counts must be taken.
func (c *denialCounter) first(e Entry, later func()) bool {
	if c.timer == nil {
		c.timer = time.AfterFunc(foldWindow, later)
		c.kinds = make(map[Entry]*Entry)
		c.budget = make(map[share]int)
		c.others = make(map[share]*Entry)
	}
	kind, of := kindOf(e), share{e.Event, e.Principal}
	known := c.kinds[kind]
	switch {
	case known != nil:
	case c.budget[of] < of.maxKinds():
		c.budget[of]++
		c.kinds[kind] = &kind
		return true
	default:
		if known = c.others[of]; known == nil {
			known = &Entry{Event: e.Event, Principal: e.Principal, Detail: "other entries"}
			if e.Event == EventDenied {
				known.Decision, known.Detail = Denied, "other denials"
			}
			c.others[of] = known
		}
	}
	known.Count++
	known.Bytes += e.Bytes
	return false
}

// take returns the counted entries with their counts, and resets the counter.
func (c *denialCounter) take() []Entry {
	if c.timer == nil {
		return nil
	}
	c.timer.Stop()
	var counted []Entry
	for _, e := range c.kinds {
		if e.Count > 0 {
			counted = append(counted, *e)
		}
	}
	for _, e := range c.others {
		counted = append(counted, *e)
	}
	*c = denialCounter{}
	return counted
}
