package record

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
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
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/redact"
)

// A RequestRecord is one request of a page. Recorder.mu guards it.
type RequestRecord struct {
	executor.Request // with the complete URL

	sess     *cdpconn.Session
	id       network.RequestID
	started  cdp.MonotonicTime
	frame    cdp.FrameID   // of the document that sent it
	loader   cdp.LoaderID  // of the document that sent it
	document bool          // it loads the document of a frame
	timeout  time.Duration // for reading its body
	blocked  bool          // the policy, an extension or a CDP client blocked it
	byWorker bool          // a service worker answered it
}

// RequestSent records a request.
func (r *Recorder) RequestSent(s *frames.State, sess *cdpconn.Session, e network.EventRequestWillBeSent) {
	r.update(func(l *activityLog) { r.sent(s, l, sess, e) })
}

func (r *Recorder) sent(s *frames.State, l *activityLog, sess *cdpconn.Session, e network.EventRequestWillBeSent) {
	if e.Request == nil {
		return
	}
	if e.RedirectResponse != nil {
		r.sentUnseen(s, l, sess, e, e.RedirectResponse)
	}
	if before := l.running[e.RequestID]; before != nil && e.RedirectResponse != nil {
		l.responded(e.RequestID, e.RedirectResponse)
		before.Bytes = int64(e.RedirectResponse.EncodedDataLength)
		l.end(e.RequestID, e.Timestamp)
	}
	if !strings.HasPrefix(e.Request.URL, "http://") && !strings.HasPrefix(e.Request.URL, "https://") {
		return
	}
	f := s.Frame(e.FrameID)
	if f == nil {
		return
	}
	q := &RequestRecord{sess: sess, id: e.RequestID, started: e.Timestamp, document: e.Type == network.ResourceTypeDocument, timeout: r.timing.Read}
	path := []*frames.Document{} // empty for the top document: no document sent its request
	if !q.document && e.LoaderID != f.Loader() {
		return // of a document that no longer exists
	}
	if q.document {
		f = s.Frame(f.Parent()) // the parent's document sends the request for a frame's document
	}
	if f != nil {
		q.frame, q.loader = f.ID(), f.Loader()
		path = s.Path(f)
	}
	q.Request = executor.Request{
		Method: pagetext.Truncate(e.Request.Method, 20), URL: pagetext.Truncate(e.Request.URL, maxRecordText), Type: strings.ToLower(string(cmp.Or(e.Type, "other"))), Running: true,
		Time:           time.UnixMilli(int64(float64(e.WallTime) * 1000)).UTC(),
		RequestHeaders: redact.Headers(e.Request.Headers),
	}
	q.ID = "r" + strconv.Itoa(l.requests.last+1)
	size := len(q.URL) + sizeOfHeaders(q.RequestHeaders)
	l.running[e.RequestID] = q
	for _, old := range l.requests.put(q, size, path) {
		if l.running[old.id] == old {
			delete(l.running, old.id)
		}
	}
}

// sentUnseen records the first request of a popup window, which was sent before the browser
// reported the requests of the window, when its response arrives. sent has what the events of a
// request and its response have in common. The method of the request is not known.
func (r *Recorder) sentUnseen(s *frames.State, l *activityLog, sess *cdpconn.Session, sent network.EventRequestWillBeSent, res *network.Response) {
	if !r.popup || l.requests.last > 0 || sent.Type != network.ResourceTypeDocument || sent.FrameID != s.Top().ID() || res == nil {
		return
	}
	sent.Request, sent.RedirectResponse = &network.Request{URL: res.URL}, nil
	sent.WallTime = cdp.TimeSinceEpoch(float64(time.Now().UnixMilli()) / 1000)
	if res.Timing != nil {
		sent.Timestamp = cdp.MonotonicTime(res.Timing.RequestTime)
	}
	r.sent(s, l, sess, sent)
}

// ResponseReceived records a response.
func (r *Recorder) ResponseReceived(s *frames.State, sess *cdpconn.Session, e network.EventResponseReceived) {
	r.update(func(l *activityLog) {
		r.sentUnseen(s, l, sess, network.EventRequestWillBeSent{
			RequestID: e.RequestID, LoaderID: e.LoaderID, FrameID: e.FrameID, Type: e.Type, Timestamp: e.Timestamp,
		}, e.Response)
		l.responded(e.RequestID, e.Response)
	})
}

// WorldAdded finds the documents of requests that the browser reported before their document: its
// preload scanner sends requests ahead of the parser.
func (r *Recorder) WorldAdded(s *frames.State) {
	r.update(func(l *activityLog) {
		items := l.requests.items
		for i := range items {
			q := items[i].item
			if f := s.Frame(q.frame); items[i].path == nil && f != nil && f.Loader() == q.loader {
				items[i].path = s.Path(f)
			}
		}
	})
}

func (l *activityLog) responded(id network.RequestID, res *network.Response) {
	if res == nil {
		return
	}
	q := l.running[id]
	if q == nil {
		return
	}
	q.Status, q.MIMEType, q.ResponseHeaders = int(res.Status), pagetext.Truncate(res.MimeType, 100), redact.Headers(res.Headers)
	q.byWorker = res.FromServiceWorker
	for name := range res.Headers {
		q.DeniedByPolicy = q.DeniedByPolicy || strings.EqualFold(name, proxyHeaders[0])
	}
	// The size of the headers was not known when the request was added.
	for i := len(l.requests.items) - 1; i >= 0; i-- {
		if e := &l.requests.items[i]; e.item == q {
			more := sizeOfHeaders(q.ResponseHeaders)
			e.bytes += more
			l.requests.bytes += more
			break
		}
	}
}

// LoadingFinished records the end of a request.
func (r *Recorder) LoadingFinished(e network.EventLoadingFinished) {
	r.update(func(l *activityLog) {
		if q := l.running[e.RequestID]; q != nil {
			q.Bytes = int64(e.EncodedDataLength)
			l.end(e.RequestID, e.Timestamp)
		}
	})
}

// LoadingFailed records the end of a request with an error.
func (r *Recorder) LoadingFailed(e network.EventLoadingFailed) {
	r.update(func(l *activityLog) {
		q := l.running[e.RequestID]
		if q == nil {
			return
		}
		q.Error = pagetext.Truncate(e.ErrorText, 100)
		// Policy enforcement causes these errors, and others do: an extension and a CDP client the
		// first, a host that the egress proxy does not reach the second, for a tunnel.
		q.blocked = strings.Contains(q.Error, "ERR_BLOCKED_BY_CLIENT")
		if q.blocked || strings.Contains(q.Error, "ERR_TUNNEL_CONNECTION_FAILED") {
			q.DeniedByPolicy = q.DeniedByPolicy || r.denied != nil && r.denied(q.URL)
		}
		l.end(e.RequestID, e.Timestamp)
	})
}

// Lifecycle ends the request for a document that has been parsed completely. The browser also
// reports the end of the request, but possibly before we receive the events of an out-of-process
// iframe.
func (r *Recorder) Lifecycle(e cdppage.EventLifecycleEvent) {
	if e.Name != "DOMContentLoaded" {
		return
	}
	r.update(func(l *activityLog) {
		if id := network.RequestID(e.LoaderID); l.running[id] != nil && l.running[id].document {
			l.end(id, e.Timestamp)
		}
	})
}

// end marks a running request as ended.
func (l *activityLog) end(id network.RequestID, at cdp.MonotonicTime) {
	q := l.running[id]
	q.Running = false
	q.Duration = time.Duration(max(int64((at.Float64()-q.started.Float64())*1000), 0)) * time.Millisecond
	delete(l.running, id)
}

// sizeOfHeaders returns the approximate memory size of headers, in bytes.
func sizeOfHeaders(h map[string]string) int {
	n := 0
	for name, value := range h {
		n += len(name) + len(value) + 32
	}
	return n
}

// urlHeaders are headers that contain URLs, possibly of denied sites.
var urlHeaders = []string{"referer", "origin", "location", "content-location", "refresh", "link"}

// Requests returns the visible requests, or found, a copy of the one with the id of o.
func (r *Recorder) Requests(visible Visibility, o executor.RequestsOptions) (res *executor.Requests, found *RequestRecord, err error) {
	type entry struct {
		RequestRecord
		path []*frames.Document
	}
	res = &executor.Requests{Requests: []executor.Request{}}
	var items []entry
	r.update(func(l *activityLog) {
		records, dropped := l.requests.since(0)
		res.Dropped = dropped
		for _, e := range records {
			items = append(items, entry{*e.item, e.path})
		}
	})
	list := items[:0]
	for _, e := range items {
		if !visible.Records(e.path) {
			continue
		}
		if !visible.URL(e.URL) {
			topDocument := e.document && len(e.path) == 0
			e.DeniedByPolicy = e.DeniedByPolicy || e.blocked && (topDocument || !visible.Load(e.URL))
			// A top document that is visible anyway is one that the user navigated to: do not
			// report it.
			if topDocument && !e.DeniedByPolicy {
				continue
			}
			e.URL = frames.OriginOfURL(e.URL)
			e.RequestHeaders, e.ResponseHeaders, e.MIMEType = nil, nil, ""
		}
		if (o.ID == "" || e.ID == o.ID) && e.matches(o.Filter) {
			list = append(list, e)
		}
	}
	res.Matched = len(list)
	if o.ID == "" {
		for _, e := range newestOf(list, o.Limit) {
			e.RequestHeaders, e.ResponseHeaders = nil, nil
			res.Requests = append(res.Requests, e.Redacted())
		}
		return res, nil, nil
	}
	if len(list) == 0 {
		return nil, nil, executor.Errorf(executor.ErrBadArgs, "Use an id from the list of requests.", "no request %s", pagetext.FirstLine(o.ID))
	}
	e := list[0]
	if e.mayBeOpaque() {
		e.ResponseHeaders = nil
	}
	for _, h := range []*map[string]string{&e.RequestHeaders, &e.ResponseHeaders} {
		*h = maps.Clone(*h)
		for _, name := range urlHeaders {
			value := (*h)[name]
			if strings.Contains(value, "//") && frames.OriginOfURL(value) != frames.OriginOfURL(e.URL) && !visible.URL(value) {
				(*h)[name] = "(denied by policy)"
			}
		}
	}
	return res, &e.RequestRecord, nil
}

// Redacted returns the request without secrets in its URL.
func (q *RequestRecord) Redacted() executor.Request {
	r := q.Request
	r.URL = redact.Secrets(r.URL)
	return r
}

// matches reports whether the request contains filter in its method, URL, type, status or error,
// ignoring case.
func (r *RequestRecord) matches(filter string) bool {
	text := strings.Join([]string{r.Method, redact.Secrets(r.URL), r.Type, strconv.Itoa(r.Status), r.Error}, " ")
	return strings.Contains(strings.ToLower(text), strings.ToLower(filter))
}

// mayBeOpaque reports whether the response may be opaque: one of another site, at any URL, that the
// page cannot read. A service worker can answer with it, except requests for documents and by
// XMLHttpRequest, which then fail.
func (q *RequestRecord) mayBeOpaque() bool {
	return q.byWorker && q.Type != "document" && q.Type != "xhr"
}

// ReadBody adds the text of the response to q, up to size characters.
func (q *RequestRecord) ReadBody(ctx context.Context, tree *frames.Tree, size int) error {
	switch {
	case q.mayBeOpaque():
		return executor.Errorf(executor.ErrBadArgs, "Omit body, or read the page.",
			"a service worker answered request %s, so its body may be of another site", q.ID)
	case q.Running:
		return &executor.Error{Code: executor.ErrBadArgs, Retryable: true, Err: fmt.Errorf("request %s is still running", q.ID),
			Hint: "Try again when it has ended. A fetch whose response no script reads may not end."}
	case q.Error != "" || (q.Status >= 300 && q.Status < 400):
		return executor.Errorf(executor.ErrBadArgs, "Omit body.", "request %s has no body", q.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	var res struct {
		Body   string `json:"body"`
		Base64 bool   `json:"base64Encoded"`
	}
	if err := q.bodySession(tree).Call(ctx, "Network.getResponseBody", map[string]any{"requestId": q.id}, &res); executor.CodeOf(err) == executor.ErrTimeout {
		return err
	} else if err != nil {
		return executor.Errorf(executor.ErrBadArgs, "Reload the page and request the body sooner.", "body of request %s is not available: %w", q.ID, err)
	}
	if n := q.ResponseHeaders["content-length"]; res.Body == "" && n != "" && n != "0" {
		// For example, a script read the response as a blob or a stream.
		return executor.Errorf(executor.ErrBadArgs, "Omit body.", "body of request %s is not available", q.ID)
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
	body := redact.Secrets(redact.FieldValues(res.Body))
	q.Body = pagetext.Truncate(body, size)
	q.BodyTruncated = q.Body != body
	return nil
}

// bodySession returns the CDP session that has the response's body. For a document's request, that
// is the session of the frame that the document is in.
func (q *RequestRecord) bodySession(tree *frames.Tree) *cdpconn.Session {
	s := tree.Lock()
	defer s.Unlock()
	if q.document {
		for f := range s.Frames() {
			if f.Loader() == cdp.LoaderID(q.id) && f.Session() != nil {
				return f.Session()
			}
		}
	}
	return q.sess
}
