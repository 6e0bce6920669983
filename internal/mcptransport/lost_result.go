package mcptransport

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

// maxLost bounds the results whose loss a session reports with one result.
const maxLost = 16

// LostResults are the outcomes of calls whose results did not reach their client. The next result of
// the session reports each of them once, so that a client does not repeat an action that was done.
// Its zero value is ready to use.
type LostResults struct {
	mu    sync.Mutex // guards notes
	notes []string
}

// Take returns the notes for the result of a call of a tool, the oldest first. own are the notes of the
// call itself. If the result gets lost too, the delivery in ctx reports all of them later.
func (l *LostResults) Take(ctx context.Context, tool string, res *sdk.CallToolResult, own []string) []string {
	l.mu.Lock()
	notes := append(l.notes, own...)
	l.notes = nil
	l.mu.Unlock()
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok {
		d.end(notes, tool, res)
	}
	return notes
}

// add stores notes that precede the present ones.
func (l *LostResults) add(notes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(notes, l.notes...)
	l.notes = l.notes[max(0, len(l.notes)-maxLost):]
}

type deliveryKey struct{}

// A delivery watches whether the response to one request with one call reaches the client's
// connection. It is the http.ResponseWriter of the request.
type delivery struct {
	http.ResponseWriter
	request context.Context // done when the connection is broken

	mu        sync.Mutex // guards the fields below
	ended     bool       // whether the call has ended
	notes     []string   // notes that the result contains
	outcome   string     // note about the result; empty if the call did nothing
	written   bool       // whether anything was written since the call ended
	delivered bool       // whether that was flushed
}

// Deliver serves a request with h. If the result of its call does not reach the connection, the next
// result of the session reports it.
func (l *LostResults) Deliver(h http.Handler, w http.ResponseWriter, r *http.Request) {
	d := &delivery{ResponseWriter: w, request: r.Context()}
	h.ServeHTTP(d, r.WithContext(context.WithValue(r.Context(), deliveryKey{}, d)))
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended || d.delivered {
		return
	}
	if d.outcome != "" {
		d.notes = append(d.notes, d.outcome)
	}
	l.add(d.notes)
}

// end records the end of the call. What is written from then on is its result.
func (d *delivery) end(notes []string, tool string, res *sdk.CallToolResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended, d.notes = true, notes
	if res.InputRequests == nil { // otherwise the call has done nothing, and its client repeats it
		d.outcome = fmt.Sprintf("the result of an earlier call of %s was not delivered: %s", tool, OutcomeOf(res))
	}
}

// OutcomeOf returns a result as one line, without the text of a page.
func OutcomeOf(res *sdk.CallToolResult) string {
	line := ""
	if text, ok := res.Content[0].(*sdk.TextContent); ok {
		line, _, _ = strings.Cut(text.Text, "\n")
	}
	if line == "" || strings.HasPrefix(line, "<page ") { // see mcptext.Fence
		line = "it succeeded"
	}
	return mcptext.OneLine(line)
}

// Write implements http.ResponseWriter.
func (d *delivery) Write(p []byte) (int, error) {
	n, err := d.ResponseWriter.Write(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = d.ended && err == nil
	return n, err
}

// FlushError sends what was written. http.ResponseController calls it.
func (d *delivery) FlushError() error {
	connected := d.request.Err() == nil // checked first: a client may disconnect when it has the result
	err := http.NewResponseController(d.ResponseWriter).Flush()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.written && connected && err == nil {
		d.delivered = true
	}
	return err
}

// Unwrap returns the underlying writer for http.ResponseController.
func (d *delivery) Unwrap() http.ResponseWriter { return d.ResponseWriter }
