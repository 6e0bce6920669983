package mcp

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// devtoolsTools are the tools of [ToolsDevtools].
var devtoolsTools = []tool{
	def("console_messages", reads, (*session).consoleMessages, "What pages of the tab wrote to the console, newest last."),
	def("page_errors", reads, (*session).pageErrors, "Uncaught errors and rejections in the tab, newest last."),
	def("network_requests", reads, (*session).networkRequests, "Requests that pages of the tab made, newest last; with id one of them in full. Secrets in headers are left out."),
	def("resize", navigates, (*session).resize, "Give the viewport of the tab a size, in CSS pixels, until the session ends. The window stays."),
	def("emulate", navigates, (*session).emulate, "Show pages of the tab another device, preferences or network, until the session ends. Adds to what is emulated. locale, timezone, cpu: managed browser only."),
}

// limitArg is the argument limit.
type limitArg struct {
	Limit int `json:"limit,omitempty" min:"1" max:"500" jsonschema:"the newest so many; default 50"`
}

type consoleArgs struct {
	Level executor.ConsoleLevel `json:"level,omitempty" enum:"debug|info|warning|error" jsonschema:"this or graver"`
	limitArg
	Clear bool `json:"clear,omitempty" jsonschema:"do not tell these again"`
	tabArg
}

func (s *session) consoleMessages(ctx context.Context, a consoleArgs) (consoled, error) {
	c, err := s.ex.Console(ctx, a.Tab, &executor.ConsoleOptions{Level: a.Level, Limit: a.Limit, Clear: a.Clear})
	return consoled{c}, err
}

type consoled struct{ *executor.Console }

func (r consoled) render(t *text) {
	t.records("message", len(r.Messages), r.Matched, r.Dropped)
	for _, m := range r.Messages {
		t.line("%s %s%s", m.Level, quote(m.Text, maxRecord), where(m.At))
	}
}

type pageErrorsArgs struct {
	limitArg
	tabArg
}

func (s *session) pageErrors(ctx context.Context, a pageErrorsArgs) (pageErrors, error) {
	e, err := s.ex.PageErrors(ctx, a.Tab, &executor.PageErrorsOptions{Limit: a.Limit})
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
		t.line("%s %s%s", kind, quote(e.Text, maxRecord), where(e.At))
	}
}

// maxRecord bounds what is told of one message or error, in characters.
const maxRecord = 1000

// records adds a line on how many records follow.
func (t *text) records(noun own, told, matched, dropped int) {
	switch {
	case matched == 0:
		t.line("no %s", noun)
	case told < matched:
		t.line("the newest %d of %s", told, plural(matched, noun))
	default:
		t.line("%s", plural(told, noun))
	}
	if dropped > 0 {
		t.line("%d more not kept", dropped)
	}
}

// where returns words on a place in a script.
func where(at string) own {
	if at == "" {
		return ""
	}
	return " at " + address(at)
}

type requestsArgs struct {
	Filter string `json:"filter,omitempty" jsonschema:"text in method, URL, type, status or error"`
	ID     string `json:"id,omitempty"`
	Body   bool   `json:"body,omitempty" jsonschema:"with id: the response's text too"`
	limitArg
	tabArg
}

func (a requestsArgs) check() error {
	switch {
	case a.Body && a.ID == "":
		return badArgs("Give the id of one request.", "body needs id")
	case a.ID != "" && (a.Filter != "" || a.Limit != 0):
		return badArgs("Leave filter and limit out.", "id and filter or limit contradict each other")
	}
	return nil
}

func (s *session) networkRequests(ctx context.Context, a requestsArgs) (requested, error) {
	r, err := s.ex.Requests(ctx, a.Tab, &executor.RequestsOptions{Filter: a.Filter, Limit: a.Limit, ID: a.ID, Body: a.Body})
	return requested{r, a}, err
}

// requested is what requests there were and what was asked for.
type requested struct {
	*executor.Requests
	asked requestsArgs
}

func (r requested) render(t *text) {
	if r.asked.ID == "" {
		t.records("request", len(r.Requests.Requests), r.Matched, r.Dropped)
	}
	for _, q := range r.Requests.Requests {
		t.request(q)
		if r.asked.ID != "" {
			t.headers(r.Origin, "request", q.RequestHeaders)
			t.headers(originOf(q.URL), "response", q.ResponseHeaders)
			t.body(originOf(q.URL), r.asked.Body, q)
		}
	}
}

// request adds a line on one request.
func (t *text) request(q executor.Request) {
	line := own(q.ID) + " " + method(q.Method) + " " + address(q.URL) + " " + own(q.Type)
	switch {
	case q.Refused:
		line += " refused by policy"
	case q.Error != "":
		line += " failed " + quote(q.Error, maxName)
	case q.Status != 0:
		line += " " + quote(q.MIMEType, maxName)
	}
	if q.Status != 0 {
		t.line("%s %d, %d bytes, %d ms%s", line, q.Status, q.Bytes, q.Millis, running(q))
		return
	}
	t.line("%s, %d ms%s", line, q.Millis, running(q))
}

// method returns the method of a request, quoted unless it is a standard method.
func method(name string) own {
	switch name {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return own(name)
	}
	return quote(name, maxMethod)
}

// maxMethod is the maximum number of characters of a quoted method.
const maxMethod = 20

func running(q executor.Request) own {
	if q.Running {
		return ", running"
	}
	return ""
}

// originOf returns the origin that a response came from.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// headers adds the headers of one side of a request.
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

// body adds the body of a response.
func (t *text) body(origin string, asked bool, q executor.Request) {
	switch {
	case !asked:
	case q.Binary:
		t.line("body: %d bytes, no text", q.BodyBytes)
	case q.BodyBytes == 0:
		t.line("body: empty")
	default:
		t.line("body of %d bytes", q.BodyBytes)
		t.page(origin, q.Body)
		if len(q.Body) < q.BodyBytes {
			t.line("cut after %d characters", executor.MaxBody)
		}
	}
}
