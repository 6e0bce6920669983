package page

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// traffic counts the requests that are in flight. Tab.mu guards it.
type traffic struct {
	seq     int // of the newest request
	ended   int // how many have ended
	pending map[network.RequestID]int
}

// A navigation is one under way.
type navigation struct {
	loader cdp.LoaderID
	same   bool // within the document
}

func newTraffic() traffic { return traffic{pending: make(map[network.RequestID]int)} }

// maxPending bounds the requests that are kept track of.
const maxPending = 2000

func (tr *traffic) sent(e network.EventRequestWillBeSent) {
	switch e.Type {
	case network.ResourceTypeWebSocket, network.ResourceTypeEventSource, network.ResourceTypePing,
		network.ResourceTypeMedia, network.ResourceTypePrefetch, network.ResourceTypeCSPViolationReport:
		return // these may stay open for ever, or nobody waits for them
	}
	if _, ok := tr.pending[e.RequestID]; ok {
		return // a redirect of it
	}
	tr.seq++
	if len(tr.pending) < maxPending {
		tr.pending[e.RequestID] = tr.seq
	}
}

func (tr *traffic) done(id network.RequestID) {
	if _, ok := tr.pending[id]; ok {
		delete(tr.pending, id)
		tr.ended++
	}
}

// since counts the requests in flight that began after seq.
func (tr *traffic) since(seq int) int {
	n := 0
	for _, s := range tr.pending {
		if s > seq {
			n++
		}
	}
	return n
}

// loading reports whether any request is in flight.
func (t *Tab) loading() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.traffic.since(0) > 0
}

func (t *Tab) navigationStarted(id cdp.FrameID, loader cdp.LoaderID, url, kind string) {
	if id == t.main && t.first == "" {
		t.first = url
	}
	if programScheme(url) != "" {
		t.noteHandover(id, url)
		return // the document stays
	}
	same := kind == "sameDocument" || kind == "historySameDocument"
	if id == t.main && !same {
		t.departs++
	}
	t.started[id] = navigation{loader: loader, same: same}
}

// A response is what the top document came with.
type response struct {
	status int
	pdf    bool // the browser's own viewer shows it
	proxy  bool // it is the filtering proxy's own answer, or says so
}

// proxyHeaders mark the filtering proxy's own answers. See internal/egress.
var proxyHeaders = []string{"x-chrome-mcp-denied", "x-chrome-mcp-error"}

func (t *Tab) responded(loader cdp.LoaderID, r *network.Response) {
	res := response{status: int(r.Status), pdf: r.MimeType == "application/pdf"}
	for name := range r.Headers {
		res.proxy = res.proxy || slices.Contains(proxyHeaders, strings.ToLower(name))
	}
	for old := range t.status { // a page may request any number of documents that never load
		if old != t.frames[t.main].loader {
			delete(t.status, old)
		}
	}
	t.status[loader] = res
	t.answered, t.pdf, t.innerPDF = res.status, res.pdf, false
}
