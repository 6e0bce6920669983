package page

import (
	"context"
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A requestRecord is one request. Tab.mu guards it.
type requestRecord struct {
	executor.Request // URL in full

	sess     *cdpconn.Session
	id       network.RequestID
	started  cdp.MonotonicTime
	frame    cdp.FrameID  // of the document that wants it
	loader   cdp.LoaderID // which that document came by
	document bool         // it was for a document of a frame
}

// recordSent keeps a request that was sent. t.mu must be held.
func (t *Tab) recordSent(s *cdpconn.Session, e network.EventRequestWillBeSent) {
	r := t.record
	if r == nil || e.Request == nil {
		return
	}
	if before := r.running[e.RequestID]; before != nil && e.RedirectResponse != nil {
		r.responded(e.RequestID, e.RedirectResponse)
		before.Bytes = int64(e.RedirectResponse.EncodedDataLength)
		r.end(e.RequestID, e.Timestamp)
	}
	if !strings.HasPrefix(e.Request.URL, "http://") && !strings.HasPrefix(e.Request.URL, "https://") {
		return
	}
	f := t.frames[e.FrameID]
	if f == nil {
		return
	}
	q := &requestRecord{sess: s, id: e.RequestID, started: e.Timestamp, document: e.Type == network.ResourceTypeDocument}
	path := []*document{} // of the top document itself: nobody's
	if !q.document && e.LoaderID != f.loader {
		return // of a document that is not there any more
	}
	if q.document {
		f = t.frames[f.parent] // which is in the one that wants it
	}
	if f != nil {
		q.frame, q.loader = f.id, f.loader
		path = t.path(f)
	}
	q.Request = executor.Request{
		Method: cutText(e.Request.Method, 20), URL: cutText(e.Request.URL, maxRecordText), Type: strings.ToLower(string(e.Type)), Running: true,
		Time:           time.UnixMilli(int64(float64(e.WallTime) * 1000)).UTC(),
		RequestHeaders: headersOf(e.Request.Headers),
	}
	if q.Type == "" {
		q.Type = "other"
	}
	q.ID = "r" + strconv.Itoa(r.requests.last+1)
	size := len(q.URL) + sizeOfHeaders(q.RequestHeaders)
	r.running[e.RequestID] = q
	for _, old := range r.requests.put(q, size, path) {
		if r.running[old.id] == old {
			delete(r.running, old.id)
		}
	}
}

// placeRequests finds out whose the requests are that the browser told of
// before their document: its parser sends for what it sees ahead. t.mu must be
// held.
func (t *Tab) placeRequests() {
	if t.record == nil {
		return
	}
	items := t.record.requests.items
	for i := range items {
		q := items[i].item
		if f := t.frames[q.frame]; items[i].path == nil && f != nil && f.loader == q.loader {
			items[i].path = t.path(f)
		}
	}
}

func (r *record) responded(id network.RequestID, res *network.Response) {
	if r == nil || res == nil {
		return
	}
	q := r.running[id]
	if q == nil {
		return
	}
	q.Status, q.MIMEType, q.ResponseHeaders = int(res.Status), cutText(res.MimeType, 100), headersOf(res.Headers)
	for name := range res.Headers {
		q.Refused = q.Refused || strings.EqualFold(name, proxyHeaders[0])
	}
	// Not known when it was put there.
	for i := len(r.requests.items) - 1; i >= 0; i-- {
		if e := &r.requests.items[i]; e.item == q {
			more := sizeOfHeaders(q.ResponseHeaders)
			e.bytes += more
			r.requests.bytes += more
			break
		}
	}
}

func (r *record) finished(e network.EventLoadingFinished) {
	if r == nil {
		return
	}
	if q := r.running[e.RequestID]; q != nil {
		q.Bytes = int64(e.EncodedDataLength)
		r.end(e.RequestID, e.Timestamp)
	}
}

func (r *record) failed(e network.EventLoadingFailed) {
	if r == nil {
		return
	}
	if q := r.running[e.RequestID]; q != nil {
		q.Error = cutText(e.ErrorText, 100)
		// So the wall says no: Fetch, the proxy to a tunnel, the extension's rules.
		q.Refused = q.Refused || strings.Contains(q.Error, "ERR_BLOCKED_BY") || strings.Contains(q.Error, "ERR_TUNNEL_CONNECTION_FAILED")
		r.end(e.RequestID, e.Timestamp)
	}
}

// parsed ends the request for a document that was read to its end. The browser
// tells that of the request, too, but for a frame with a process of its own it
// may do so before anybody listens there.
func (r *record) parsed(e cdppage.EventLifecycleEvent) {
	if r == nil || e.Name != "DOMContentLoaded" {
		return
	}
	if id := network.RequestID(e.LoaderID); r.running[id] != nil && r.running[id].document {
		r.end(id, e.Timestamp)
	}
}

func (r *record) end(id network.RequestID, at cdp.MonotonicTime) {
	q := r.running[id]
	q.Running = false
	q.Millis = max(int64((at.Float64()-q.started.Float64())*1000), 0)
	delete(r.running, id)
}

func sizeOfHeaders(h map[string]string) int {
	n := 0
	for name, value := range h {
		n += len(name) + len(value) + 32
	}
	return n
}

// urlHeaders are headers that name pages, perhaps of sites that are denied.
var urlHeaders = []string{"referer", "origin", "location", "content-location", "refresh", "link"}

// Requests tells which requests pages made.
func (v *View) Requests(ctx context.Context, opts *executor.RequestsOptions) (*executor.Requests, error) {
	var o executor.RequestsOptions
	if opts != nil {
		o = *opts
	}
	switch {
	case o.Body && o.ID == "":
		return nil, executor.Errorf(executor.ErrBadArgs, "Give the id of one request.", "a body was asked for, and not of which request")
	case o.ID != "" && o.Filter != "":
		return nil, executor.Errorf(executor.ErrBadArgs, "Give one or the other.", "both an id and a filter given")
	}
	type entry struct {
		requestRecord
		path []*document
	}
	res := &executor.Requests{Requests: []executor.Request{}}
	var items []entry
	d, err := v.recordOf(ctx, func(r *record) {
		res.Dropped = r.requests.droppedSince(0)
		for _, e := range r.requests.items {
			items = append(items, entry{*e.item, e.path})
		}
	})
	if err != nil {
		return nil, err
	}
	res.Origin = d.origin
	may, named := v.mayTell(ctx), v.mayName(ctx)
	list := items[:0]
	for _, e := range items {
		if !may(e.path) {
			continue
		}
		if !named(e.URL) {
			// A document that is shown all the same is one that the tab's user
			// went to: nothing is told of it.
			if e.document && len(e.path) == 0 && !e.Refused {
				continue
			}
			e.URL = originOfURL(e.URL)
			e.RequestHeaders, e.ResponseHeaders, e.MIMEType = nil, nil, ""
		}
		if (o.ID == "" || e.ID == o.ID) && e.has(o.Filter) {
			list = append(list, e)
		}
	}
	res.Matched = len(list)
	if o.ID == "" {
		for _, e := range newestOf(list, o.Limit) {
			e.RequestHeaders, e.ResponseHeaders = nil, nil
			e.URL = withoutSecrets(e.URL)
			res.Requests = append(res.Requests, e.Request)
		}
		return res, nil
	}
	if len(list) == 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Take an id from the list of requests.", "there is no request %s", firstLine(o.ID))
	}
	e := list[0]
	for _, h := range []*map[string]string{&e.RequestHeaders, &e.ResponseHeaders} {
		*h = maps.Clone(*h)
		for _, name := range urlHeaders {
			value := (*h)[name]
			if strings.Contains(value, "//") && originOfURL(value) != originOfURL(e.URL) && !named(value) {
				(*h)[name] = "(of a site that the policy denies)"
			}
		}
	}
	if o.Body {
		if err := v.body(ctx, &e.requestRecord); err != nil {
			return nil, err
		}
	}
	e.URL = withoutSecrets(e.URL)
	res.Requests = append(res.Requests, e.Request)
	return res, nil
}

// has reports whether a request is one that a filter means.
func (q *requestRecord) has(filter string) bool {
	text := strings.Join([]string{q.Method, withoutSecrets(q.URL), q.Type, strconv.Itoa(q.Status), q.Error}, " ")
	return strings.Contains(strings.ToLower(text), strings.ToLower(filter))
}

// body adds the text of the response. What the page itself could not read, of
// another site, is told only where that site may be read.
func (v *View) body(ctx context.Context, q *requestRecord) error {
	of := &document{tab: v.tab, frame: v.tab.main, url: q.URL, origin: originOfURL(q.URL)}
	if err := v.check(ctx, of, executor.OpRead, ""); err != nil {
		return err
	}
	switch {
	case v.tab.opts.Wake != nil:
		return executor.Errorf(executor.ErrPolicyDenied, "Leave body out, or read the page.", "the extension tells no bodies of responses from the user's own Chrome")
	case q.Running:
		return executor.Errorf(executor.ErrBadArgs, "Ask again when it has ended.", "request %s is still running", q.ID)
	case q.Error != "" || (q.Status >= 300 && q.Status < 400):
		return executor.Errorf(executor.ErrBadArgs, "Leave body out.", "request %s has no body", q.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var res struct {
		Body   string `json:"body"`
		Base64 bool   `json:"base64Encoded"`
	}
	if err := v.tab.bodyOf(q).Call(ctx, "Network.getResponseBody", map[string]any{"requestId": q.id}, &res); err != nil {
		return executor.Errorf(executor.ErrBadArgs, "Load the page again and ask soon.", "the browser has not kept the body of request %s: %w", q.ID, err)
	}
	if n := q.ResponseHeaders["content-length"]; res.Body == "" && n != "" && n != "0" {
		// As of what a script took as a blob or a stream.
		return executor.Errorf(executor.ErrBadArgs, "Leave body out.", "the browser has not kept the body of request %s", q.ID)
	}
	q.BodyBytes = len(res.Body)
	if res.Base64 {
		data, err := base64.StdEncoding.DecodeString(res.Body)
		if q.BodyBytes = len(data); err != nil || !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
			q.Binary = true
			return nil
		}
		res.Body = string(data)
	}
	q.Body = cutText(withoutSecrets(withoutFieldValues(res.Body)), executor.MaxBody)
	return nil
}

// bodyOf returns the session that has the response's body: of a document, that
// of the frame which it was for.
func (t *Tab) bodyOf(q *requestRecord) *cdpconn.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.document {
		for _, f := range t.frames {
			if f.loader == cdp.LoaderID(q.id) && f.sess != nil {
				return f.sess
			}
		}
	}
	return q.sess
}
