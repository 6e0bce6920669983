package record

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

const (
	// maxNestedReads limits the commands that one call of Console sends to read objects in
	// messages.
	maxNestedReads = 20
	// maxNestedLevels is how deep an object in a message is read. The preview of each value shows
	// one more level.
	maxNestedLevels = 3
	// maxNestedProperties limits the properties of an object that are shown.
	maxNestedProperties = 50
)

// remoteText returns a value as a console shows it.
func remoteText(o *runtime.RemoteObject) string {
	var s string
	switch {
	case o.Type == "undefined":
		return "undefined"
	case o.Type == "string" && cdpconn.Unmarshal(o.Value, &s) == nil:
		return s
	case o.UnserializableValue != "":
		return string(o.UnserializableValue)
	case o.Preview != nil && o.Subtype != "error":
		return previewText(o.Preview)
	case o.Description != "":
		return o.Description
	case len(o.Value) > 0:
		return string(o.Value)
	}
	return string(o.Type)
}

// previewText returns the text of an object of which the browser reported a preview.
func previewText(p *runtime.ObjectPreview) string {
	array := p.Subtype == "array"
	collection := p.Subtype == "map" || p.Subtype == "set"
	var parts []string
	for _, e := range p.Properties {
		if collection && e.Name == "size" {
			continue // the description contains it
		}
		var part string
		switch {
		case e.ValuePreview != nil: // in console.table
			part = previewText(e.ValuePreview)
		case e.Type == "string":
			part = strconv.Quote(e.Value)
		case e.Type == "accessor":
			part = "(...)"
		default:
			part = e.Value
		}
		if !array {
			part = e.Name + ": " + part
		}
		parts = append(parts, part)
	}
	for _, e := range p.Entries {
		var part string
		if e.Key != nil {
			part = entryText(e.Key) + " => "
		}
		if e.Value != nil {
			part += entryText(e.Value)
		}
		parts = append(parts, part)
	}
	return objectText(p.Description, array, parts, p.Overflow)
}

// entryText returns the text of a key or value of a Map or Set.
func entryText(p *runtime.ObjectPreview) string {
	switch {
	case p.Type == "string":
		return strconv.Quote(p.Description)
	case p.Type != "object" || p.Subtype == "null" || p.Subtype == "error":
		return pagetext.FirstLine(p.Description)
	}
	return previewText(p)
}

// objectText returns the text of an object with the texts of its properties.
func objectText(description string, array bool, parts []string, more bool) string {
	if more {
		parts = append(parts, "…")
	}
	list := strings.Join(parts, ", ")
	switch {
	case array:
		return "[" + list + "]"
	case len(parts) == 0 && description != "Object":
		return description
	case description != "" && description != "Object":
		return description + " {" + list + "}"
	}
	return "{" + list + "}"
}

// nestedArguments are the arguments of a call whose previews do not show objects within objects.
// The objects are read when the message is first returned.
type nestedArguments struct {
	objects map[int]*runtime.RemoteObject // by index in parts, without previews

	mu    sync.Mutex // guards the fields below
	parts []consolePart
	done  bool   // the objects have been read
	text  string // after that; empty if that was not possible
}

// newNestedArguments returns the arguments of a call, or nil if their texts are complete.
func newNestedArguments(args []*runtime.RemoteObject, parts []consolePart) *nestedArguments {
	args = slices.DeleteFunc(slices.Clone(args), func(a *runtime.RemoteObject) bool { return a == nil })
	n := &nestedArguments{objects: make(map[int]*runtime.RemoteObject), parts: parts}
	for i := range parts {
		if isNested(args[i]) {
			n.objects[i] = &runtime.RemoteObject{ObjectID: args[i].ObjectID, Subtype: args[i].Subtype, Description: args[i].Description}
		}
	}
	if len(n.objects) == 0 {
		return nil
	}
	return n
}

// isNested reports whether the preview of an object or array omits objects in it or, of an object,
// properties. The preview of an array that is not complete has its first 100 elements, and the
// browser would return all of the others.
func isNested(o *runtime.RemoteObject) bool {
	if o.Type != "object" || o.ObjectID == "" || o.Preview == nil || o.Subtype != "" && o.Subtype != "array" || o.Subtype == "array" && o.Preview.Overflow {
		return false
	}
	return o.Preview.Overflow || slices.ContainsFunc(o.Preview.Properties, func(p *runtime.PropertyPreview) bool {
		return p.Type == "object" && p.ValuePreview == nil && slices.Contains([]runtime.PropertyPreviewSubtype{"", "array", "map", "set"}, p.Subtype)
	})
}

// size returns the bytes that n adds to a record.
func (n *nestedArguments) size() int {
	if n == nil {
		return 0
	}
	size := 0
	for _, p := range n.parts {
		size += len(p.text)
	}
	return size + maxRecordText // of text
}

// read returns the text of the message with the objects that have been read, or "".
func (n *nestedArguments) read() string {
	if n == nil {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text
}

// isRead reports whether no objects are left to read.
func (n *nestedArguments) isRead() bool {
	if n == nil {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.done
}

// readNested reads the objects in messages, the newest first, of the documents that may be read
// now, with at most maxNestedReads commands. The commands run no script of the page: getters and
// proxies are not called.
func (r *Recorder) readNested(ctx context.Context, visible Visibility, items []numbered[consoleRecord]) {
	items = slices.DeleteFunc(slices.Clone(items), func(e numbered[consoleRecord]) bool {
		return e.item.nested.isRead()
	})
	if len(items) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.timing.ConsoleObjects)
	defer cancel()
	documents := make(map[string]*frames.Document)
	for _, d := range visible.Documents() {
		documents[d.MainWorld] = d
	}
	reader := &nestedReader{left: maxNestedReads}
	for _, e := range slices.Backward(items) {
		if d := documents[e.path[0].MainWorld]; d != nil && d.MainWorld != "" {
			e.item.nested.readObjects(ctx, reader, d)
		}
	}
}

// readObjects reads the objects of a message of d, if r has commands left.
func (n *nestedArguments) readObjects(ctx context.Context, r *nestedReader, d *frames.Document) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done || r.left <= 0 {
		return
	}
	parts := slices.Clone(n.parts)
	for i := range parts {
		if o := n.objects[i]; o != nil {
			if text, ok := r.text(ctx, d, o, maxNestedLevels); ok {
				parts[i].text = pagetext.Truncate(text, maxRecordText)
				n.text = joinParts(parts)
			}
		}
	}
	if ctx.Err() != nil {
		return // the next call reads them
	}
	n.done = true
	n.parts, n.objects = nil, nil
}

// A nestedReader reads objects for their texts.
type nestedReader struct {
	left int // commands that may be sent
}

// text returns the text of an object with the given number of levels below it.
func (r *nestedReader) text(ctx context.Context, d *frames.Document, o *runtime.RemoteObject, levels int) (string, bool) {
	if r.left <= 0 {
		return "", false
	}
	r.left--
	var answer struct {
		Result []*runtime.PropertyDescriptor `json:"result"`
	}
	p, err := d.Session.StartShort(ctx, runtime.CommandGetProperties, map[string]any{
		"objectId": o.ObjectID, "ownProperties": true, "generatePreview": true,
	})
	if err == nil {
		err = d.Wait(ctx, p, &answer)
	}
	if err != nil || answer.Result == nil {
		r.left = 0 // the document is gone, or the object is huge: a truncated reply does not decode
		return "", false
	}
	var parts []string
	more, size := false, 0
	for _, p := range answer.Result {
		if p == nil || !p.Enumerable || p.Symbol != nil {
			continue
		}
		if more = len(parts) == maxNestedProperties || size > maxRecordText; more {
			break
		}
		part := "(...)" // an accessor
		if p.Value != nil {
			part = r.valueText(ctx, d, p.Value, levels-1)
		}
		if o.Subtype != "array" {
			part = p.Name + ": " + part
		}
		parts = append(parts, part)
		size += len(part)
	}
	return objectText(o.Description, o.Subtype == "array", parts, more), true
}

// valueText returns the text of a property with the given number of levels below it.
func (r *nestedReader) valueText(ctx context.Context, d *frames.Document, o *runtime.RemoteObject, levels int) string {
	if levels > 0 && isNested(o) {
		if text, ok := r.text(ctx, d, o, levels); ok {
			return text
		}
	}
	switch {
	case o.Type == "string":
		return strconv.Quote(pagetext.Truncate(remoteText(o), maxRecordText))
	case o.Type == "function":
		return "function"
	case o.Subtype == "error":
		return pagetext.FirstLine(o.Description)
	}
	return remoteText(o)
}
