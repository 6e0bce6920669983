package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// devtoolsTools are the tools of [ToolsDevtools].
var devtoolsTools = []tool{
	onPage("console_messages", reads, consoleArgs.run, "Console messages of the tab's pages, newest last."),
	onPage("page_errors", reads, pageErrorsArgs.run, "Uncaught errors and rejections in the tab, newest last."),
	onPage("network_requests", reads, requestsArgs.run, "Requests that pages of the tab made, newest last; with id one of them in full. Secrets in headers are omitted."),
	onPage("resize", navigates, resizeArgs.run, "Set the viewport size of the tab, in CSS pixels, until the session ends. The window does not change."),
	onPage("emulate", emulates, emulateArgs.run, "Emulate another device, preferences or network for the tab, until the session ends. Adds to what is emulated. locale, timezone, cpu, permissions, headers: managed browser only."),
}

// limitArg is the argument limit.
type limitArg struct {
	Limit int `json:"limit,omitempty" min:"1" max:"500" jsonschema:"only the newest; default 50"`
}

type consoleArgs struct {
	Level executor.ConsoleLevel `json:"level,omitempty" enum:"debug|info|warning|error" jsonschema:"this level or more severe"`
	limitArg
	Clear bool `json:"clear,omitempty" jsonschema:"do not return these again"`
	tabArg
}

func (a consoleArgs) run(ctx context.Context, p executor.Page) (consoleResult, error) {
	c, err := p.Console(ctx, &executor.ConsoleOptions{Level: a.Level, Limit: a.Limit, Clear: a.Clear})
	return consoleResult{c}, err
}

type consoleResult struct{ *executor.Console }

func (r consoleResult) render(t *text) {
	t.records("message", len(r.Messages), r.Matched, r.Dropped)
	for _, m := range r.Messages {
		t.line("%s %s%s", m.Level, quote(m.Text, maxRecord), atLocation(m.At))
	}
}

type pageErrorsArgs struct {
	limitArg
	tabArg
}

func (a pageErrorsArgs) run(ctx context.Context, p executor.Page) (pageErrors, error) {
	e, err := p.PageErrors(ctx, &executor.PageErrorsOptions{Limit: a.Limit})
	return pageErrors{e}, err
}

type pageErrors struct{ *executor.PageErrors }

func (r pageErrors) render(t *text) {
	t.records("error", len(r.Errors), r.Matched, r.Dropped)
	for _, e := range r.Errors {
		kind := own("error")
		if e.Rejection {
			kind = "rejection"
		}
		t.line("%s %s%s", kind, quote(e.Text, maxRecord), atLocation(e.At))
	}
}

// maxRecord is the maximum length of one message or error in the text, in characters.
const maxRecord = 1000

// records adds a line with the number of records that follow.
func (t *text) records(noun own, listed, matched, dropped int) {
	switch {
	case matched == 0:
		t.line("no %s", noun)
	case listed < matched:
		t.line("the newest %d of %s", listed, plural(matched, noun))
	default:
		t.line("%s", plural(listed, noun))
	}
	if dropped > 0 {
		t.line("%s dropped", plural(dropped, "older "+noun))
	}
}

// atLocation returns " at " and the quoted location of a script, or "".
func atLocation(at string) own {
	if at == "" {
		return ""
	}
	return " at " + address(at)
}

type requestsArgs struct {
	Filter string `json:"filter,omitempty" jsonschema:"text in method, URL, type, status or error"`
	ID     string `json:"id,omitempty"`
	Body   bool   `json:"body,omitempty" jsonschema:"with id: also the response's text"`
	limitArg
	tabArg
	fileArg
}

func (a requestsArgs) check() error {
	switch {
	case a.Body && a.ID == "":
		return badArgs("Give the id of one request.", "body needs id")
	case a.ID != "" && (a.Filter != "" || a.Limit != 0):
		return badArgs("Omit filter and limit.", "id and filter or limit contradict each other")
	}
	return nil
}

func (a requestsArgs) run(ctx context.Context, p executor.Page) (requestsResult, error) {
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
	args requestsArgs
}

func (r requestsResult) render(t *text) {
	if r.args.ID == "" {
		t.records("request", len(r.Requests.Requests), r.Matched, r.Dropped)
	}
	for _, q := range r.Requests.Requests {
		t.request(q)
		if r.args.ID != "" {
			t.headers(r.Origin, "request", q.RequestHeaders)
			t.headers(audit.Origin(q.URL), "response", q.ResponseHeaders)
			t.body(audit.Origin(q.URL), r.args.Body, q)
		}
	}
}

func (r requestsResult) file(outputPath) (fileContent, bool) {
	c := fileContent{ext: ".json", facts: plural(len(r.Requests.Requests), "request"), field: "requests"}
	raw, err := json.Marshal(r)
	if err == nil {
		c.data = pagetext.RewriteJSON(raw, cleanValue)
	}
	return c, err == nil
}

func (r requestsResult) warnings(t *text) {
	if r.args.ID == "" {
		if len(r.Requests.Requests) < r.Matched || r.Dropped > 0 {
			t.records("request", len(r.Requests.Requests), r.Matched, r.Dropped)
		}
		return
	}
	for _, q := range r.Requests.Requests {
		q.Body = ""
		if q.Binary || q.BodyBytes == 0 {
			t.body("", r.args.Body, q)
		}
	}
}

// request adds a line for one request.
func (t *text) request(q executor.Request) {
	line := own(q.ID) + " " + method(q.Method) + " " + address(q.URL) + " " + own(q.Type)
	switch {
	case q.DeniedByPolicy:
		line += " blocked by policy"
	case q.Error != "":
		line += " failed " + quote(q.Error, maxName)
	case q.Status != 0:
		line += " " + quote(q.MIMEType, maxName)
	}
	if q.Status != 0 {
		line += ownf(" %d, %s", q.Status, byteCount(q.Bytes))
	}
	running := own("")
	if q.Running {
		running = ", running"
	}
	t.line("%s, %d ms%s", line, q.Duration, running)
}

// method returns the method of a request, quoted unless it is a standard method. The method of the
// first request of a popup window may be unknown.
func method(name string) own {
	switch name {
	case "":
		return "(method unknown)"
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return own(name)
	}
	return quote(name, maxMethod)
}

// maxMethod is the maximum number of characters of a quoted method.
const maxMethod = 20

// headers adds the headers of a request or of its response. side says which.
func (t *text) headers(origin string, side own, h map[string]string) {
	if len(h) == 0 {
		return
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lines = append(lines, name+": "+strings.ReplaceAll(h[name], "\n", " "))
	}
	t.line("%s headers", side)
	t.page(origin, strings.Join(lines, "\n"))
}

// body adds the body of a response, if the caller asked for it.
func (t *text) body(origin string, asked bool, q executor.Request) {
	switch {
	case !asked:
	case q.Binary:
		t.line("body: %s, binary", byteCount(q.BodyBytes))
	case q.BodyBytes == 0:
		t.line("body: empty")
	default:
		t.line("body of %s", byteCount(q.BodyBytes))
		t.page(origin, q.Body)
		if len(q.Body) < q.BodyBytes {
			t.line("truncated after %d characters", executor.MaxBody)
		}
	}
}
