package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// storageTools are the tools of [ToolsStorage]. Both are about the site of the
// tab's document and no other, so that neither takes a URL. What they list is
// told without values unless those are asked for; values and changes need the
// grant of --enable-storage.
var storageTools = []tool{
	def("cookies", stores, (*session).cookies, "Cookies that the page's own site gets from it. get lists them, without values unless asked; set, delete and clear change them."),
	def("storage", stores, (*session).storage, "Local or session storage of the page's origin. get lists keys and sizes, values only when asked; set, remove and clear change it."),
	def("session_state", states, (*session).sessionState, "Save the browser's cookies, and the local storage of open tabs' origins, of all sites that are allowed, in a file of the user's folder for that, or load such a file: to stay logged in. Values are in the file only. In a browser that chrome-mcp starts."),
}

type cookiesArgs struct {
	Action   string            `json:"action" enum:"get|set|delete|clear"`
	Name     string            `json:"name,omitempty" jsonschema:"of set and delete; of get, to list only it"`
	Value    *string           `json:"value,omitempty" empty:"ok" jsonschema:"of set"`
	Domain   string            `json:"domain,omitempty" jsonschema:"of set: one above the page's host; this host alone unless given"`
	Path     string            `json:"path,omitempty" jsonschema:"of set; default /"`
	Expires  int               `json:"expires,omitempty" min:"1" jsonschema:"of set: seconds since 1970; when the browser ends unless given"`
	HTTPOnly bool              `json:"httpOnly,omitempty"`
	Secure   bool              `json:"secure,omitempty"`
	SameSite executor.SameSite `json:"sameSite,omitempty" enum:"Strict|Lax|None"`
	Values   bool              `json:"values,omitempty" jsonschema:"of get: with values"`
	After    string            `json:"after,omitempty" jsonschema:"of get: names after this one"`
	maxCharsArg
	tabArg
}

func (a cookiesArgs) check() error {
	attributes := a.Domain != "" || a.Path != "" || a.Expires != 0 || a.HTTPOnly || a.Secure || a.SameSite != ""
	lists := a.Values || a.After != "" || a.MaxChars != 0
	switch {
	case (a.Action == "set" || a.Action == "delete") && a.Name == "":
		return badArgs("", "%s needs name", a.Action)
	case a.Action == "set" && a.Value == nil:
		return badArgs("", "set needs value")
	case a.Action != "set" && (a.Value != nil || attributes):
		return badArgs("Leave them out.", "value, domain, path, expires, httpOnly, secure and sameSite are of set")
	case a.Action != "get" && lists:
		return badArgs("Leave them out.", "values, after and maxChars are of get")
	case a.Action == "clear" && a.Name != "":
		return badArgs("Use delete for one name.", "clear deletes all cookies and takes no name")
	}
	return nil
}

func (s *session) cookies(ctx context.Context, a cookiesArgs) (cookieJar, error) {
	switch a.Action {
	case "get":
		list, err := s.ex.Cookies(ctx, a.Tab, &executor.CookiesOptions{Names: only(a.Name), Values: a.Values, After: a.After, MaxChars: a.MaxChars})
		if err != nil {
			return cookieJar{}, err
		}
		return cookieJar{Origin: list.Origin, Cookies: some(list.Cookies), Total: list.Total, After: list.After, asked: a}, nil
	case "set":
		return a.changed(s.ex.SetCookie(ctx, a.Tab, executor.Cookie{
			Name: a.Name, Value: *a.Value, Domain: a.Domain, Path: a.Path, Expires: int64(a.Expires),
			HTTPOnly: a.HTTPOnly, Secure: a.Secure, SameSite: a.SameSite,
		}))
	}
	return a.changed(s.ex.DeleteCookies(ctx, a.Tab, only(a.Name)))
}

// only returns the list of one name, nil for none.
func only(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

func (a cookiesArgs) changed(r *executor.Stored, err error) (cookieJar, error) {
	if err != nil {
		return cookieJar{}, err
	}
	return cookieJar{Origin: r.Origin, Count: r.Count, Left: r.Left, asked: a}, nil
}

// A cookieJar is what came of cookies: a list, or a change.
type cookieJar struct {
	Origin  string            `json:"origin"`
	Cookies []executor.Cookie `json:"cookies,omitzero"` // of get
	Total   int               `json:"total,omitempty"`
	After   string            `json:"after,omitempty"`
	Count   int               `json:"count,omitempty"`
	Left    int               `json:"left,omitempty"`

	asked cookiesArgs
}

func (r cookieJar) render(t *text) {
	if r.asked.Action != "get" {
		t.line("%s %s of %s", past(r.asked.Action), plural(r.Count, "cookie"), address(r.Origin))
		if r.Left > 0 {
			t.line("left %s of domains that the policy does not allow", plural(r.Left, "cookie"))
		}
		return
	}
	var lines []string
	for _, c := range r.Cookies {
		lines = append(lines, cookieLine(c, r.asked.Values))
	}
	t.listed(r.Origin, lines, "cookie", r.Total, r.After)
}

// cookieLine tells of one cookie.
func cookieLine(c executor.Cookie, values bool) string {
	facts := []string{fmt.Sprintf("%s %s%s, %d bytes", quote(c.Name, maxKept), escapeURL(c.Domain), escapeURL(c.Path), c.Bytes)}
	if c.Expires != 0 {
		facts = append(facts, "expires "+time.Unix(c.Expires, 0).UTC().Format(time.RFC3339))
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.HTTPOnly, "HttpOnly"}, {c.Secure, "Secure"}, {c.SameSite != "", "SameSite=" + string(c.SameSite)}, {c.Partition != "", "under " + escapeURL(c.Partition)}} {
		if flag.set {
			facts = append(facts, flag.name)
		}
	}
	line := strings.Join(facts, ", ")
	if values {
		line += ": " + string(quote(c.Value, maxKept))
	}
	return line
}

type storageArgs struct {
	Action string               `json:"action" enum:"get|set|remove|clear"`
	Area   executor.StorageArea `json:"area" enum:"local|session"`
	Key    *string              `json:"key,omitempty" empty:"ok" jsonschema:"of set and remove; of get, to list only it"`
	Value  *string              `json:"value,omitempty" empty:"ok" jsonschema:"of set"`
	Values bool                 `json:"values,omitempty" jsonschema:"of get: with values"`
	After  string               `json:"after,omitempty" jsonschema:"of get: keys after this one"`
	maxCharsArg
	tabArg
}

func (a storageArgs) check() error {
	lists := a.Values || a.After != "" || a.MaxChars != 0
	switch {
	case (a.Action == "set" || a.Action == "remove") && a.Key == nil:
		return badArgs("", "%s needs key", a.Action)
	case a.Action == "set" && a.Value == nil:
		return badArgs("", "set needs value")
	case a.Action != "set" && a.Value != nil:
		return badArgs("Leave it out.", "value is of set")
	case a.Action != "get" && lists:
		return badArgs("Leave them out.", "values, after and maxChars are of get")
	case a.Action == "clear" && a.Key != nil:
		return badArgs("Use remove for one key.", "clear removes everything and takes no key")
	}
	return nil
}

func (s *session) storage(ctx context.Context, a storageArgs) (shelf, error) {
	var keys []string
	if a.Key != nil {
		keys = []string{*a.Key}
	}
	switch a.Action {
	case "get":
		list, err := s.ex.Items(ctx, a.Tab, a.Area, &executor.ItemsOptions{Keys: keys, Values: a.Values, After: a.After, MaxChars: a.MaxChars})
		if err != nil {
			return shelf{}, err
		}
		return shelf{Origin: list.Origin, Items: some(list.Items), Total: list.Total, After: list.After, asked: a}, nil
	case "set":
		return a.changed(s.ex.SetItem(ctx, a.Tab, a.Area, *a.Key, *a.Value))
	}
	return a.changed(s.ex.RemoveItems(ctx, a.Tab, a.Area, keys))
}

func (a storageArgs) changed(r *executor.Stored, err error) (shelf, error) {
	if err != nil {
		return shelf{}, err
	}
	return shelf{Origin: r.Origin, Count: r.Count, asked: a}, nil
}

// A shelf is what came of storage: a list, or a change.
type shelf struct {
	Origin string          `json:"origin"`
	Items  []executor.Item `json:"items,omitzero"` // of get
	Total  int             `json:"total,omitempty"`
	After  string          `json:"after,omitempty"`
	Count  int             `json:"count,omitempty"`

	asked storageArgs
}

func (r shelf) render(t *text) {
	if r.asked.Action != "get" {
		t.line("%s %s of %s", past(r.asked.Action), plural(r.Count, "item"), address(r.Origin))
		return
	}
	var lines []string
	for _, item := range r.Items {
		line := fmt.Sprintf("%s, %d characters", quote(item.Key, maxKept), item.Chars)
		if r.asked.Values {
			line += ": " + string(quote(item.Value, maxKept))
		}
		if item.Cut {
			line += " (cut; raise maxChars)"
		}
		lines = append(lines, line)
	}
	t.listed(r.Origin, lines, "item", r.Total, r.After)
}

// past says what an action did.
func past(action string) own {
	switch action {
	case "set":
		return "set"
	case "delete":
		return "deleted"
	case "clear":
		return "cleared"
	}
	return "removed"
}

// maxKept is how many characters of a kept text are shown at most: the executor
// bounds all of them together.
const maxKept = 1_000_000

// listed adds what a site keeps, each line of it quoted, and where the list
// goes on.
func (t *text) listed(origin string, lines []string, noun own, total int, after string) {
	if len(lines) == 0 {
		t.line("no %s listed of %s", noun+"s", address(origin))
		return
	}
	t.page(origin, strings.Join(lines, "\n"))
	if after != "" {
		t.line("cut: %d of %s listed; go on with after %s, or raise maxChars", len(lines), plural(total, noun), quote(after, maxKept))
	}
}

type stateArgs struct {
	Action string `json:"action" enum:"save|load"`
	Name   string `json:"name" jsonschema:"of the file: up to 64 letters, digits, - and _, the first a letter or digit; .json may follow"`
}

func (s *session) sessionState(ctx context.Context, a stateArgs) (stateResult, error) {
	run, done := s.ex.SaveState, "saved"
	if a.Action == "load" {
		run, done = s.ex.LoadState, "loaded"
	}
	st, err := run(ctx, a.Name)
	if err == nil {
		st.Origins = some(st.Origins)
	}
	return stateResult{st, done}, err
}

type stateResult struct {
	*executor.State
	done string
}

func (r stateResult) render(t *text) {
	t.line("%s %s: %s, and %s of local storage", own(r.done), quote(r.File, maxName), plural(r.Cookies, "cookie"), plural(r.Items, "item"))
	for _, origin := range r.Origins {
		t.line("storage of %s", address(origin))
	}
	if r.DeniedCookies+r.DeniedOrigins > 0 {
		t.line("left out, of sites that the policy does not allow: %s, %s", plural(r.DeniedCookies, "cookie"), plural(r.DeniedOrigins, "origin"))
	}
	if r.DeadCookies > 0 {
		t.line("left out, for browsers do not take them, or no more: %s", plural(r.DeadCookies, "cookie"))
	}
}
