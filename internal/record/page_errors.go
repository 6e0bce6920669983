package record

import (
	"cmp"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A PageError is an uncaught error in a page.
type PageError struct {
	Frame cdp.FrameID // empty if not known

	text   string
	source scriptSource
}

// Text returns the text of the error, or what the page receives of it if a client may not receive more.
// url reports whether the client may receive a URL.
func (e PageError) Text(url func(string) bool) string { return e.source.visible(e.text, url) }

// PageErrors are the newest uncaught errors of a tab, for the next action. The zero value is ready to
// use. It is safe for concurrent use.
type PageErrors struct {
	EventLog[PageError]
	Scripts Scripts
}

// Thrown records an uncaught error.
func (l *PageErrors) Thrown(s *frames.State, sess *cdpconn.Session, d *runtime.ExceptionDetails) {
	if d == nil {
		return
	}
	var frame cdp.FrameID
	if f := s.FrameOf(sess, d.ExecutionContextID, false); f != nil {
		frame = f.ID()
	}
	text := d.Text
	if d.Exception != nil && d.Exception.Description != "" {
		text = d.Exception.Description
	}
	l.Add(PageError{frame, pagetext.FirstLine(text), l.Scripts.sourceOf(d)})
}

// A scriptSource is the URL of the content of a script, if the content may be text that the page
// cannot read: that of another site, which the page only tries to run. An error can quote it. The page
// does not receive the text of such an error. The source is empty if the content is JavaScript, which
// may be loaded by any site.
type scriptSource string

// unknownSource is the source of content that may be of any site.
const unknownSource scriptSource = "unknown"

// hiddenError is what a page receives of an error in a script that it cannot read.
const hiddenError = "Script error."

// visible returns text, the text of an error in the script, or what the page receives of it.
func (s scriptSource) visible(text string, url func(string) bool) string {
	if s == "" || s != unknownSource && url(string(s)) {
		return text
	}
	return hiddenError
}

// Scripts are the sources of the scripts that a tab has loaded. The zero value is empty. It is safe
// for concurrent use.
type Scripts struct {
	mu         sync.Mutex                     // guards the fields below
	redirected map[network.RequestID][]string // URLs of the requests before they were redirected
	sources    map[string]scriptSource        // by URL before and after redirects
	overflow   bool                           // there are more scripts or redirects than maxScripts
}

// maxScripts bounds the scripts whose sources are stored.
const maxScripts = 2000

// Reset forgets all scripts, after the load of a top document.
func (l *Scripts) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redirected, l.sources, l.overflow = nil, nil, false
}

// Sent records a request.
func (l *Scripts) Sent(e network.EventRequestWillBeSent) {
	if e.Type != network.ResourceTypeScript || e.RedirectResponse == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.redirected == nil {
		l.redirected = make(map[network.RequestID][]string)
	}
	if len(l.redirected) >= maxScripts {
		l.overflow = true
		return
	}
	l.redirected[e.RequestID] = append(l.redirected[e.RequestID], scriptKey(e.RedirectResponse.URL))
}

// Responded records a response.
func (l *Scripts) Responded(e network.EventResponseReceived) {
	if e.Type != network.ResourceTypeScript || e.Response == nil {
		return
	}
	var source scriptSource
	switch {
	case isJavaScript(e.Response.MimeType):
	case e.Response.FromServiceWorker:
		source = unknownSource
	default:
		source = scriptSource(scriptKey(e.Response.URL))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	urls := append(l.redirected[e.RequestID], scriptKey(e.Response.URL))
	delete(l.redirected, e.RequestID)
	if l.sources == nil {
		l.sources = make(map[string]scriptSource)
	}
	for _, url := range urls {
		switch before, known := l.sources[url]; {
		case !known && len(l.sources) >= maxScripts:
			l.overflow = true
		case before == "":
			l.sources[url] = source
		case before != source && source != "":
			l.sources[url] = unknownSource
		}
	}
}

// sourceOf returns the source of the script in which an error occurred.
func (l *Scripts) sourceOf(d *runtime.ExceptionDetails) scriptSource {
	url := cmp.Or(stackLocation(d.StackTrace), newScriptLocation(d.URL, 0)).url
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	source, known := l.sources[url]
	switch {
	case known:
		return source
	case l.overflow:
		return unknownSource
	}
	return scriptSource(url) // also that of a document
}

// scriptKey returns the form in which a URL is stored. URLs that it makes equal share a source.
func scriptKey(url string) string { return pagetext.Truncate(url, maxRecordText) }

// isJavaScript reports whether a MIME type is one of JavaScript.
func isJavaScript(mime string) bool {
	mime = strings.ToLower(mime)
	return strings.Contains(mime, "javascript") || strings.Contains(mime, "ecmascript") || strings.Contains(mime, "jscript")
}
