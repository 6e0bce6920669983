package page

import (
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// documentResponses are the requests for the top documents of a tab and their responses. The zero
// value is empty. It is safe for concurrent use.
type documentResponses struct {
	mu       sync.Mutex                // guards the fields below
	byLoader map[cdp.LoaderID]response // of the top document, and of the pending one
	request  documentRequest           // the last one
	last     response                  // the last one, even if it did not become the document
	innerPDF bool                      // a frame has received a response for the PDF viewer since
	netError string                    // network error of the last document that failed to load
}

// A documentRequest is a request for a top document.
type documentRequest struct {
	loader cdp.LoaderID
	method string // after redirects
	url    string // after redirects
}

// A response describes the HTTP response of a top document.
type response struct {
	status int
	method string // of the request, after redirects
	pdf    bool   // the browser shows it in its PDF viewer
	proxy  bool   // the egress proxy sent it, or its headers claim so
}

// proxyHeaders are the headers that mark the egress proxy's own responses. See internal/egress.
var proxyHeaders = []string{"x-chrome-mcp-denied", "x-chrome-mcp-error"}

// requested records a request for a top document.
func (d *documentResponses) requested(r documentRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.request = r
}

// responded records the response to a request for a top document. current is the loader of the top
// document.
func (d *documentResponses) responded(loader, current cdp.LoaderID, r *network.Response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	res := response{status: int(r.Status), pdf: r.MimeType == "application/pdf"}
	if d.request.loader == loader {
		res.method = d.request.method
	}
	for name := range r.Headers {
		res.proxy = res.proxy || slices.Contains(proxyHeaders, strings.ToLower(name))
	}
	d.keepOnly(current) // a page may request any number of documents that are never loaded
	if d.byLoader == nil {
		d.byLoader = make(map[cdp.LoaderID]response)
	}
	d.byLoader[loader], d.last, d.innerPDF = res, res, false
}

// respondedWithPDF records that a frame has received a response for the browser's PDF viewer.
func (d *documentResponses) respondedWithPDF() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.innerPDF = true
}

// failed records the network error of a document.
func (d *documentResponses) failed(netError string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.netError = netError
}

// committed records that the document of a loader is the top document now.
func (d *documentResponses) committed(loader cdp.LoaderID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepOnly(loader)
}

// keepOnly forgets the responses of other loaders. d.mu must be held.
func (d *documentResponses) keepOnly(loader cdp.LoaderID) {
	for other := range d.byLoader {
		if other != loader {
			delete(d.byLoader, other)
		}
	}
}

// detached forgets the responses of documents. The last one is remembered.
func (d *documentResponses) detached() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.byLoader)
}

// of returns the response of the top document with the given loader, or the zero response if it is
// not known.
func (d *documentResponses) of(loader cdp.LoaderID) response {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byLoader[loader]
}

// newest returns the last response to a request for a top document, even if it did not become the
// document.
func (d *documentResponses) newest() response {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// requestedURL returns the URL of the last request for a top document.
func (d *documentResponses) requestedURL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.request.url
}

// lastError returns the network error of the last document that failed to load.
func (d *documentResponses) lastError() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.netError
}

// showPDF reports whether the last top document, or a frame in it, is for the browser's PDF viewer.
func (d *documentResponses) showPDF() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last.pdf || d.innerPDF
}
