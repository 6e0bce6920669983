package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// maskResult masks the secrets in a result: in its text, its structured content and its error. It
// leaves images, in which the executor hides the fields.
func (r *toolRunner) maskResult(res *sdk.CallToolResult) {
	if r.opts.Mask == nil || res == nil {
		return
	}
	if r.withholds(resultText(res)) {
		withholdResult(res)
		return
	}
	for _, c := range res.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			c.Text = r.maskText(c.Text)
		}
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		res.StructuredContent = json.RawMessage(r.maskJSON(raw))
	}
	if m, ok := res.Meta[ErrorKey].(ErrorInfo); ok {
		m.Message, m.Hint = r.opts.Mask(m.Message), r.opts.Mask(m.Hint)
		m.Candidates = slices.Clone(m.Candidates)
		for i, c := range m.Candidates {
			m.Candidates[i] = executor.Candidate{Role: r.opts.Mask(c.Role), Name: r.opts.Mask(c.Name), Item: r.opts.Mask(c.Item), Ref: c.Ref}
		}
		m.Tabs = slices.Clone(m.Tabs)
		for i, t := range m.Tabs {
			m.Tabs[i].URL, m.Tabs[i].Title, m.Tabs[i].Note = r.opts.Mask(t.URL), r.opts.Mask(t.Title), r.opts.Mask(t.Note)
		}
		res.Meta[ErrorKey] = m
	}
	if note, ok := res.Meta[NoteKey].(string); ok {
		res.Meta[NoteKey] = r.opts.Mask(note)
	}
}

// withheld is the text of a result that is withheld.
const withheld = "The result was withheld: it contains a part of a secret that was typed, and with the masks of more parts the secret could be guessed. The call itself has ended. Ask the user for what you need from the page."

// withholds reports whether a text must be withheld.
func (r *toolRunner) withholds(text string) bool {
	return r.opts.Withhold != nil && r.opts.Mask(text) != text && r.opts.Withhold(text)
}

// resultText returns all texts of a result.
func resultText(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			b.WriteString(c.Text + "\n")
		}
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		b.Write(raw)
		b.WriteByte('\n')
	}
	for _, key := range []string{ErrorKey, NoteKey} {
		if raw, err := json.Marshal(res.Meta[key]); err == nil {
			b.Write(raw)
		}
	}
	return b.String()
}

// withholdResult replaces the texts of a result with withheld. It leaves images.
func withholdResult(res *sdk.CallToolResult) {
	res.Content = slices.DeleteFunc(res.Content, func(c sdk.Content) bool {
		_, text := c.(*sdk.TextContent)
		return text
	})
	res.Content = slices.Insert(res.Content, 0, sdk.Content(&sdk.TextContent{Text: withheld}))
	if res.StructuredContent != nil {
		res.StructuredContent = json.RawMessage(`{}`)
	}
	if m, ok := res.Meta[ErrorKey].(ErrorInfo); ok {
		res.Meta[ErrorKey] = ErrorInfo{Code: m.Code, Message: withheld, ID: m.ID, RetryAfter: m.RetryAfter}
	}
	delete(res.Meta, NoteKey)
}

// maskText masks the text of a result. It does not mask the nonces of fences, which could contain a
// part of a secret by chance.
func (r *toolRunner) maskText(text string) string {
	masked := r.opts.Mask(text)
	if masked == text {
		return text
	}
	open, end := "<page "+r.fence.Nonce+" ", "</page "+r.fence.Nonce+">"
	var b, pending strings.Builder
	flush := func() {
		b.WriteString(r.opts.Mask(pending.String()))
		pending.Reset()
	}
	for line := range strings.Lines(text) {
		rest, opens := strings.CutPrefix(line, open)
		switch {
		case opens:
			flush()
			b.WriteString(open + r.opts.Mask(rest))
		case strings.TrimSuffix(line, "\n") == end:
			flush()
			b.WriteString(line)
		default:
			pending.WriteString(line)
		}
	}
	flush()
	return b.String()
}

// pageValues are the members of structured results whose structure a page or a script has chosen,
// so that numbers and the names of members can also be secrets.
var pageValues = []string{"value", "requestHeaders", "responseHeaders"}

// maskJSON applies maskValue to raw.
func (r *toolRunner) maskJSON(raw []byte) []byte {
	if r.opts.Mask(string(raw)) == string(raw) {
		return raw
	}
	return pagetext.RewriteJSON(raw, r.maskValue)
}

// maskValue masks the strings in a JSON value, and also the numbers and names within pageValues.
func (r *toolRunner) maskValue(v any) any {
	switch v := v.(type) {
	case string:
		return r.opts.Mask(v)
	case []any:
		for i := range v {
			v[i] = r.maskValue(v[i])
		}
	case map[string]any:
		for name, e := range v {
			if slices.Contains(pageValues, name) {
				v[name] = pagetext.MapTexts(e, r.opts.Mask)
			} else {
				v[name] = r.maskValue(e)
			}
		}
	}
	return v
}

// maskFile masks the content of a file, unless it is an image.
func (r *toolRunner) maskFile(c browsertools.FileContent) browsertools.FileContent {
	if r.opts.Mask == nil || !utf8.Valid(c.Data) {
		return c
	}
	if r.withholds(string(c.Data)) {
		if c.Data = []byte(withheld); c.Ext == ".json" {
			c.Data = []byte(`"` + withheld + `"`)
		}
		return c
	}
	if c.Ext == ".json" && json.Valid(c.Data) {
		if r.opts.Mask(string(c.Data)) != string(c.Data) {
			c.Data = pagetext.RewriteJSON(c.Data, func(v any) any { return pagetext.MapTexts(v, r.opts.Mask) })
		}
		return c
	}
	c.Data = []byte(r.opts.Mask(string(c.Data)))
	return c
}
