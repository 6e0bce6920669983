package record

import (
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// Documents are the requests for the top documents of a tab and their responses. The zero
// value is empty. It is safe for concurrent use.
type Documents struct {
	mu       sync.Mutex                // guards the fields below
	byLoader map[cdp.LoaderID]response // of the top document, and of the pending one
	request  DocumentRequest           // the last one
	last     response                  // the last one, even if it did not become the document
	innerPDF bool                      // a frame has received a response for the PDF viewer since
	netError string                    // network error of the last document that failed to load
}

// A DocumentRequest is a request for a top document.
type DocumentRequest struct {
	Loader cdp.LoaderID
	Method string // after redirects
	URL    string // after redirects
}

// A response describes the HTTP response of a top document.
type response struct {
	Status int
	Method string // of the request, after redirects
	PDF    bool   // the browser shows it in its PDF viewer
	Proxy  bool   // the egress proxy sent it, or its headers claim so
}

// proxyHeaders are the headers that mark the egress proxy's own responses. See internal/egress.
var proxyHeaders = []string{"x-chrome-mcp-denied", "x-chrome-mcp-error"}

// Requested records a request for a top document.
func (d *Documents) Requested(r DocumentRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.request = r
}

// Responded records the response to a request for a top document. current is the loader of the top
// document.
func (d *Documents) Responded(loader, current cdp.LoaderID, r *network.Response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	res := response{Status: int(r.Status), PDF: r.MimeType == "application/pdf"}
	if d.request.Loader == loader {
		res.Method = d.request.Method
	}
	for name := range r.Headers {
		res.Proxy = res.Proxy || slices.Contains(proxyHeaders, strings.ToLower(name))
	}
	d.keepOnly(current) // a page may request any number of documents that are never loaded
	if d.byLoader == nil {
		d.byLoader = make(map[cdp.LoaderID]response)
	}
	d.byLoader[loader], d.last, d.innerPDF = res, res, false
}

// RespondedWithPDF records that a frame has received a response for the browser's PDF viewer.
func (d *Documents) RespondedWithPDF() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.innerPDF = true
}

// Failed records the network error of a document.
func (d *Documents) Failed(netError string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.netError = netError
}

// Committed records that the document of a loader is the top document now.
func (d *Documents) Committed(loader cdp.LoaderID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepOnly(loader)
}

// keepOnly forgets the responses of other loaders. d.mu must be held.
func (d *Documents) keepOnly(loader cdp.LoaderID) {
	for other := range d.byLoader {
		if other != loader {
			delete(d.byLoader, other)
		}
	}
}

// Detached forgets the responses of documents. The last one is remembered.
func (d *Documents) Detached() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.byLoader)
}

// Of returns the response of the top document with the given loader, or the zero response if it is
// not known.
func (d *Documents) Of(loader cdp.LoaderID) response {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byLoader[loader]
}

// Newest returns the last response to a request for a top document, even if it did not become the
// document.
func (d *Documents) Newest() response {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// RequestedURL returns the URL of the last request for a top document.
func (d *Documents) RequestedURL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.request.URL
}

// LastError returns the network error of the last document that failed to load.
func (d *Documents) LastError() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.netError
}

// ShowPDF reports whether the last top document, or a frame in it, is for the browser's PDF viewer.
func (d *Documents) ShowPDF() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last.PDF || d.innerPDF
}
