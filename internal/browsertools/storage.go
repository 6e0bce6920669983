package browsertools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type CookiesArgs struct {
	Action   string            `json:"action" enum:"get|set|delete|clear"`
	Name     string            `json:"name,omitempty" jsonschema:"of set and delete; of get, to list only it"`
	Value    *string           `json:"value,omitempty" empty:"ok" jsonschema:"of set"`
	Domain   string            `json:"domain,omitempty" jsonschema:"of set: a parent of the page's host; default: only this host"`
	Path     string            `json:"path,omitempty" jsonschema:"of set; default /"`
	Expires  int               `json:"expires,omitempty" min:"1" jsonschema:"of set: seconds since 1970; default: until the browser exits"`
	HTTPOnly bool              `json:"httpOnly,omitempty"`
	Secure   bool              `json:"secure,omitempty"`
	SameSite executor.SameSite `json:"sameSite,omitempty" enum:"Strict|Lax|None"`
	Values   bool              `json:"values,omitempty" jsonschema:"of get: with values"`
	After    string            `json:"after,omitempty" jsonschema:"of get: names after this one"`
	maxCharsArg
	TabArg
}

func (a CookiesArgs) Check() error {
	attributes := a.Domain != "" || a.Path != "" || a.Expires != 0 || a.HTTPOnly || a.Secure || a.SameSite != ""
	lists := a.Values || a.After != "" || a.MaxChars != 0
	switch {
	case (a.Action == "set" || a.Action == "delete") && a.Name == "":
		return toolschema.BadArgs("", "%s needs name", a.Action)
	case a.Action == "set" && a.Value == nil:
		return toolschema.BadArgs("", "set needs value")
	case a.Action != "set" && (a.Value != nil || attributes):
		return toolschema.BadArgs("Omit them.", "value, domain, path, expires, httpOnly, secure and sameSite are only valid with set")
	case a.Action != "get" && lists:
		return toolschema.BadArgs("Omit them.", "values, after and maxChars are only valid with get")
	case a.Action == "clear" && a.Name != "":
		return toolschema.BadArgs("Use delete for one name.", "clear deletes all cookies and takes no name")
	}
	return nil
}

func (a CookiesArgs) Run(ctx context.Context, p executor.Page) (cookiesResult, error) {
	switch a.Action {
	case "get":
		list, err := p.Cookies(ctx, &executor.CookiesOptions{Names: only(a.Name), Values: a.Values, After: a.After, MaxChars: a.MaxChars})
		if err != nil {
			return cookiesResult{}, err
		}
		return cookiesResult{Origin: list.Origin, Cookies: NonNil(list.Cookies), Total: list.Total, After: list.After, args: a}, nil
	case "set":
		c := executor.Cookie{
			Name: a.Name, Value: *a.Value, Domain: a.Domain, Path: a.Path, HTTPOnly: a.HTTPOnly, Secure: a.Secure, SameSite: a.SameSite,
		}
		if a.Expires != 0 {
			c.Expires = time.Unix(int64(a.Expires), 0)
		}
		return a.changed(p.SetCookie(ctx, c))
	}
	return a.changed(p.DeleteCookies(ctx, only(a.Name)))
}

// only returns a list with one name, or nil if the name is empty.
func only(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

func (a CookiesArgs) changed(r *executor.StorageChange, err error) (cookiesResult, error) {
	if err != nil {
		return cookiesResult{}, err
	}
	return cookiesResult{Origin: r.Origin, Count: r.Count, Skipped: r.SkippedCookies, args: a}, nil
}

// A cookiesResult is the result of cookies: a list or a change.
type cookiesResult struct {
	Origin  string            `json:"origin"`
	Cookies []executor.Cookie `json:"cookies,omitzero"` // of get
	Total   int               `json:"total,omitempty"`
	After   string            `json:"after,omitempty"`
	Count   int               `json:"count,omitempty"`
	Skipped int               `json:"skippedCookies,omitempty"`

	args CookiesArgs
}

func (r cookiesResult) Render(t *mcptext.Text) {
	if r.args.Action != "get" {
		t.Line("%s %s of %s", pastTense(r.args.Action), mcptext.Plural(r.Count, "cookie"), mcptext.Address(r.Origin))
		if r.Skipped > 0 {
			t.Line("skipped %s: domain not allowed by policy", mcptext.Plural(r.Skipped, "cookie"))
		}
		return
	}
	var lines []string
	for _, c := range r.Cookies {
		lines = append(lines, cookieLine(c, r.args.Values))
	}
	renderStorageList(t, r.Origin, lines, "cookie", r.Total, r.After)
}

// cookieLine returns the line for one cookie.
func cookieLine(c executor.Cookie, values bool) string {
	facts := []string{fmt.Sprintf("%s %s%s, %s", mcptext.Quote(c.Name, maxStoredText), mcptext.EscapeURL(c.Domain), mcptext.EscapeURL(c.Path), mcptext.ByteCount(c.Bytes))}
	if !c.Expires.IsZero() {
		facts = append(facts, "expires "+c.Expires.UTC().Format(time.RFC3339))
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.HTTPOnly, "HttpOnly"}, {c.Secure, "Secure"}, {c.SameSite != "", "SameSite=" + string(c.SameSite)}, {c.Partition != "", "under " + mcptext.EscapeURL(c.Partition)}} {
		if flag.set {
			facts = append(facts, flag.name)
		}
	}
	line := strings.Join(facts, ", ")
	if values {
		line += ": " + string(mcptext.Quote(c.Value, maxStoredText))
	}
	return line
}

type StorageArgs struct {
	Action string               `json:"action" enum:"get|set|remove|clear"`
	Area   executor.StorageArea `json:"area" enum:"local|session"`
	Key    *string              `json:"key,omitempty" empty:"ok" jsonschema:"of set and remove; of get, to list only it"`
	Value  *string              `json:"value,omitempty" empty:"ok" jsonschema:"of set"`
	Values bool                 `json:"values,omitempty" jsonschema:"of get: with values"`
	After  string               `json:"after,omitempty" jsonschema:"of get: keys after this one"`
	maxCharsArg
	TabArg
}

func (a StorageArgs) Check() error {
	lists := a.Values || a.After != "" || a.MaxChars != 0
	switch {
	case (a.Action == "set" || a.Action == "remove") && a.Key == nil:
		return toolschema.BadArgs("", "%s needs key", a.Action)
	case a.Action == "set" && a.Value == nil:
		return toolschema.BadArgs("", "set needs value")
	case a.Action != "set" && a.Value != nil:
		return toolschema.BadArgs("Omit it.", "value is only valid with set")
	case a.Action != "get" && lists:
		return toolschema.BadArgs("Omit them.", "values, after and maxChars are only valid with get")
	case a.Action == "clear" && a.Key != nil:
		return toolschema.BadArgs("Use remove for one key.", "clear removes everything and takes no key")
	}
	return nil
}

func (a StorageArgs) Run(ctx context.Context, p executor.Page) (storageResult, error) {
	var keys []string
	if a.Key != nil {
		keys = []string{*a.Key}
	}
	switch a.Action {
	case "get":
		list, err := p.Items(ctx, a.Area, &executor.ItemsOptions{Keys: keys, Values: a.Values, After: a.After, MaxChars: a.MaxChars})
		if err != nil {
			return storageResult{}, err
		}
		return storageResult{Origin: list.Origin, Items: NonNil(list.Items), Total: list.Total, After: list.After, args: a}, nil
	case "set":
		return a.changed(p.SetItem(ctx, a.Area, *a.Key, *a.Value))
	}
	return a.changed(p.RemoveItems(ctx, a.Area, keys))
}

func (a StorageArgs) changed(r *executor.StorageChange, err error) (storageResult, error) {
	if err != nil {
		return storageResult{}, err
	}
	return storageResult{Origin: r.Origin, Count: r.Count, args: a}, nil
}

// A storageResult is the result of storage: a list or a change.
type storageResult struct {
	Origin string          `json:"origin"`
	Items  []executor.Item `json:"items,omitzero"` // of get
	Total  int             `json:"total,omitempty"`
	After  string          `json:"after,omitempty"`
	Count  int             `json:"count,omitempty"`

	args StorageArgs
}

func (r storageResult) Render(t *mcptext.Text) {
	if r.args.Action != "get" {
		t.Line("%s %s of %s", pastTense(r.args.Action), mcptext.Plural(r.Count, "item"), mcptext.Address(r.Origin))
		return
	}
	var lines []string
	for _, item := range r.Items {
		line := fmt.Sprintf("%s, %d characters", mcptext.Quote(item.Key, maxStoredText), item.Chars)
		if r.args.Values {
			line += ": " + string(mcptext.Quote(item.Value, maxStoredText))
		}
		if item.Truncated {
			line += " (truncated; increase maxChars)"
		}
		lines = append(lines, line)
	}
	renderStorageList(t, r.Origin, lines, "item", r.Total, r.After)
}

// pastTense returns the past tense of an action.
func pastTense(action string) mcptext.Own {
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

// maxStoredText is the maximum length of a stored text in the result, in characters. The executor
// limits the total length.
const maxStoredText = 1_000_000

// renderStorageList adds the lines of a list of cookies or items, and how to continue the list. Page
// text in the lines must be quoted.
func renderStorageList(t *mcptext.Text, origin string, lines []string, noun mcptext.Own, total int, after string) {
	if len(lines) == 0 {
		t.Line("no %s of %s are listed", noun+"s", mcptext.Address(origin))
		return
	}
	t.Page(origin, strings.Join(lines, "\n"))
	if after != "" {
		t.Line("truncated: %d of %s listed; continue with after %s, or increase maxChars", len(lines), mcptext.Plural(total, noun), mcptext.Quote(after, maxStoredText))
	}
}
