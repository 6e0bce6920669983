package browsertools

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// limitArg is the argument limit.
type limitArg struct {
	Limit int `json:"limit,omitempty" min:"1" max:"500" jsonschema:"only the newest; default 50"`
}

type ConsoleArgs struct {
	Level executor.ConsoleLevel `json:"level,omitempty" enum:"debug|info|warning|error" jsonschema:"this level or more severe"`
	limitArg
	Clear bool `json:"clear,omitempty" jsonschema:"do not return these again"`
	TabArg
}

func (a ConsoleArgs) Run(ctx context.Context, p executor.Page) (consoleResult, error) {
	c, err := p.Console(ctx, &executor.ConsoleOptions{Level: a.Level, Limit: a.Limit, Clear: a.Clear})
	return consoleResult{c}, err
}

type consoleResult struct{ *executor.Console }

func (r consoleResult) Render(t *mcptext.Text) {
	renderRecords(t, "message", len(r.Messages), r.Matched, r.Dropped)
	for _, m := range r.Messages {
		t.Line("%s %s%s", m.Level, mcptext.Quote(m.Text, maxRecord), atLocation(m.At))
	}
}

type PageErrorsArgs struct {
	limitArg
	TabArg
}

func (a PageErrorsArgs) Run(ctx context.Context, p executor.Page) (pageErrors, error) {
	e, err := p.PageErrors(ctx, &executor.PageErrorsOptions{Limit: a.Limit})
	return pageErrors{e}, err
}

type pageErrors struct{ *executor.PageErrors }

func (r pageErrors) Render(t *mcptext.Text) {
	renderRecords(t, "error", len(r.Errors), r.Matched, r.Dropped)
	for _, e := range r.Errors {
		kind := mcptext.Own("error")
		if e.Rejection {
			kind = "rejection"
		}
		t.Line("%s %s%s", kind, mcptext.Quote(e.Text, maxRecord), atLocation(e.At))
	}
}

// maxRecord is the maximum length of one message or error in the text, in characters.
const maxRecord = 1000

// renderRecords adds a line with the number of records that follow.
func renderRecords(t *mcptext.Text, noun mcptext.Own, listed, matched, dropped int) {
	switch {
	case matched == 0:
		t.Line("no %s", noun)
	case listed < matched:
		t.Line("the newest %d of %s", listed, mcptext.Plural(matched, noun))
	default:
		t.Line("%s", mcptext.Plural(listed, noun))
	}
	if dropped > 0 {
		t.Line("%s dropped", mcptext.Plural(dropped, "older "+noun))
	}
}

// atLocation returns " at " and the quoted location of a script, or "".
func atLocation(at string) mcptext.Own {
	if at == "" {
		return ""
	}
	return " at " + mcptext.Address(at)
}

type RequestsArgs struct {
	Filter string `json:"filter,omitempty" jsonschema:"text in method, URL, type, status or error"`
	ID     string `json:"id,omitempty"`
	Body   bool   `json:"body,omitempty" jsonschema:"with id: also the response's text"`
	limitArg
	TabArg
	fileArg
}

func (a RequestsArgs) Check() error {
	switch {
	case a.Body && a.ID == "":
		return toolschema.BadArgs("Give the id of one request.", "body needs id")
	case a.ID != "" && (a.Filter != "" || a.Limit != 0):
		return toolschema.BadArgs("Omit filter and limit.", "id and filter or limit contradict each other")
	}
	return nil
}

func (a RequestsArgs) Run(ctx context.Context, p executor.Page) (requestsResult, error) {
	opts := &executor.RequestsOptions{Filter: a.Filter, Limit: a.Limit, ID: a.ID, Body: a.Body, BodyChars: a.textLimit(0)}
	if a.File != "" && a.ID == "" {
		opts.Limit = cmp.Or(a.Limit, executor.MaxRecords)
	}
	r, err := p.Requests(ctx, opts)
	return requestsResult{r, a}, err
}

// requestsResult is a list of requests and the arguments of the call.
type requestsResult struct {
	*executor.Requests
	args RequestsArgs
}

func (r requestsResult) Render(t *mcptext.Text) {
	if r.args.ID == "" {
		renderRecords(t, "request", len(r.Requests.Requests), r.Matched, r.Dropped)
	}
	for _, q := range r.Requests.Requests {
		renderRequest(t, q)
		if r.args.ID != "" {
			renderHeaders(t, r.Origin, "request", q.RequestHeaders)
			renderHeaders(t, audit.Origin(q.URL), "response", q.ResponseHeaders)
			renderBody(t, audit.Origin(q.URL), r.args.Body, q)
		}
	}
}

func (r requestsResult) File(OutputPath) (FileContent, bool) {
	c := FileContent{Ext: ".json", Facts: mcptext.Plural(len(r.Requests.Requests), "request"), Field: "requests"}
	raw, err := json.Marshal(r)
	if err == nil {
		c.Data = pagetext.RewriteJSON(raw, mcptext.CleanValue)
	}
	return c, err == nil
}

func (r requestsResult) Warnings(t *mcptext.Text) {
	if r.args.ID == "" {
		if len(r.Requests.Requests) < r.Matched || r.Dropped > 0 {
			renderRecords(t, "request", len(r.Requests.Requests), r.Matched, r.Dropped)
		}
		return
	}
	for _, q := range r.Requests.Requests {
		q.Body = ""
		if q.Binary || q.BodyBytes == 0 {
			renderBody(t, "", r.args.Body, q)
		}
	}
}

// renderRequest adds a line for one request.
func renderRequest(t *mcptext.Text, q executor.Request) {
	line := mcptext.Own(q.ID) + " " + method(q.Method) + " " + mcptext.Address(q.URL) + " " + mcptext.Own(q.Type)
	switch {
	case q.DeniedByPolicy:
		line += " blocked by policy"
	case q.Error != "":
		line += " failed " + mcptext.Quote(q.Error, mcptext.MaxName)
	case q.Status != 0:
		line += " " + mcptext.Quote(q.MIMEType, mcptext.MaxName)
	}
	if q.Status != 0 {
		line += mcptext.Ownf(" %d, %s", q.Status, mcptext.ByteCount(q.Bytes))
	}
	running := mcptext.Own("")
	if q.Running {
		running = ", running"
	}
	t.Line("%s, %d ms%s", line, q.Duration.Milliseconds(), running)
}

// method returns the method of a request, quoted unless it is a standard method. The method of the
// first request of a popup window may be unknown.
func method(name string) mcptext.Own {
	switch name {
	case "":
		return "(method unknown)"
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return mcptext.Own(name)
	}
	return mcptext.Quote(name, maxMethod)
}

// maxMethod is the maximum number of characters of a quoted method.
const maxMethod = 20

// renderHeaders adds the headers of a request or of its response. side says which.
func renderHeaders(t *mcptext.Text, origin string, side mcptext.Own, h map[string]string) {
	if len(h) == 0 {
		return
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lines = append(lines, name+": "+strings.ReplaceAll(h[name], "\n", " "))
	}
	t.Line("%s headers", side)
	t.Page(origin, strings.Join(lines, "\n"))
}

// renderBody adds the body of a response, if the caller asked for it.
func renderBody(t *mcptext.Text, origin string, asked bool, q executor.Request) {
	switch {
	case !asked:
	case q.Binary:
		t.Line("body: %s, binary", mcptext.ByteCount(q.BodyBytes))
	case q.BodyBytes == 0:
		t.Line("body: empty")
	default:
		t.Line("body of %s", mcptext.ByteCount(q.BodyBytes))
		t.Page(origin, q.Body)
		if q.BodyTruncated {
			t.Line("truncated after %d characters", executor.MaxBody)
		}
	}
}
