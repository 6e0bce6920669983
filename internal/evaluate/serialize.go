package evaluate

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// evalValueScript is the declaration of a function that returns the JSON of its receiver.
//
//go:embed json_value.js
var evalValueScript string

// nativeStringify is V8's description of its own JSON.stringify. No function of a page has this
// description, not even a bound or wrapped one.
const nativeStringify = "function stringify() { [native code] }"

// Serialize fetches the JSON of an object, or its text as JSON if it contains values that JSON
// cannot represent, see [executor.EvalResult]. An object that cannot be read, such as one with a
// getter that throws, keeps its description. If the page has replaced JSON.stringify, Serialize
// does not call it. The browser then serializes the object, with fewer details of values such as
// dates.
func Serialize(ctx context.Context, d *frames.Document, v *Value) error {
	if v.ObjectID == "" || v.Type != "object" {
		return nil
	}
	p, err := d.Session.Start(ctx, runtime.CommandEvaluate, map[string]any{
		"expression": "JSON.stringify", "uniqueContextId": d.MainWorld, "silent": true, "objectGroup": evalGroup,
	})
	if err != nil {
		return err
	}
	var stringify, answer scriptResponse
	if err := d.Wait(ctx, p, &stringify); err != nil {
		return err
	}
	call := map[string]any{"objectId": v.ObjectID, "returnByValue": true, "silent": true}
	native, mark := stringify.Result.Description == nativeStringify, rand.Text()
	if native {
		call["functionDeclaration"] = evalValueScript
		call["arguments"] = []map[string]any{{"objectId": stringify.Result.ObjectID}, {"value": mark}, {"value": executor.MaxEvalBytes + 1}}
	} else {
		call["functionDeclaration"] = "function() { return this }"
	}
	if p, err = d.Session.Start(ctx, runtime.CommandCallFunctionOn, call); err != nil {
		return err
	}
	err = d.Wait(ctx, p, &answer)
	if errors.Is(err, context.DeadlineExceeded) { // the page's toJSON or a getter does not return
		_, _ = d.Session.Start(context.WithoutCancel(ctx), runtime.CommandTerminateExecution, nil)
	}
	if !native {
		if _, failed := errors.AsType[*cdpconn.Error](err); failed && !errors.Is(err, frames.ErrDocumentGone) {
			return nil // for example a cycle
		}
		v.JSON = answer.Result.JSON
		return err
	}
	if err != nil || len(answer.Result.JSON) == 0 {
		return err
	}
	var text string
	if err := json.Unmarshal(answer.Result.JSON, &text); err != nil {
		return nil // the result is undefined
	}
	if special, ok := strings.CutPrefix(text, mark); ok {
		text, v.truncated = specialText(special, mark)
		b, err := json.Marshal(text)
		v.JSON = b
		return err
	}
	v.JSON = jsonv2.Value(text)
	return nil
}

// Bound returns the JSON of the value, truncated if it is too large.
func (v *Value) Bound() (value executor.RawJSON, truncated bool) {
	text := v.Description
	switch {
	case v.Number != "": // NaN, Infinity, -0 and bigint have no JSON form
		text = v.Number
	case v.Type == "undefined":
		return nil, false
	case v.truncated || len(v.JSON) > executor.MaxEvalBytes:
		if json.Unmarshal(v.JSON, &text) == nil { // truncate the string, not its JSON
			return cutValue(text), true
		}
		return cutValue(string(v.JSON)), true
	case len(v.JSON) > 0:
		return executor.RawJSON(v.JSON), false
	}
	b, _ := json.Marshal(text)
	if len(b) > executor.MaxEvalBytes { // escaping may enlarge the text sixfold
		return cutValue(text), true
	}
	return b, false
}

// cutValue returns the start of a value as a JSON string of at most
// executor.MaxEvalBytes.
func cutValue(s string) executor.RawJSON {
	for n := executor.MaxEvalBytes - 2; ; n = n * 15 / 16 {
		n = min(n, len(s))
		for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		if b, _ := json.Marshal(s[:n]); len(b) <= executor.MaxEvalBytes {
			return b
		}
	}
}

// specialText returns the text of a value that evalValueScript returned after the mark. truncated
// reports that value is not complete.
func specialText(value, mark string) (text string, truncated bool) {
	p := specialPrinter{dec: json.NewDecoder(strings.NewReader(value)), mark: mark}
	p.dec.UseNumber()
	err := p.value()
	return p.b.String(), err != nil
}

// A specialPrinter prints JSON in which an array that starts with mark represents a value that JSON
// cannot represent.
type specialPrinter struct {
	dec  *json.Decoder
	mark string
	b    strings.Builder
}

// value prints the next value.
func (p *specialPrinter) value() error {
	tok, err := p.dec.Token()
	if err != nil {
		return err
	}
	return p.print(tok)
}

// print prints the value that starts with tok.
func (p *specialPrinter) print(tok json.Token) error {
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			p.b.WriteByte('{')
			return p.list("}", ",", ":")
		}
		return p.array()
	case json.Number:
		p.b.WriteString(v.String())
	case nil:
		p.b.WriteString("null")
	case bool:
		p.b.WriteString(strconv.FormatBool(v))
	case string:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return err
		}
		p.b.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	}
	return nil
}

// array prints the rest of an array.
func (p *specialPrinter) array() error {
	if !p.dec.More() {
		p.b.WriteByte('[')
		return p.list("]", ",", ",")
	}
	first, err := p.dec.Token()
	if err != nil {
		return err
	}
	if first != p.mark {
		p.b.WriteByte('[')
		if err := p.print(first); err != nil {
			return err
		}
		if p.dec.More() {
			p.b.WriteByte(',')
		}
		return p.list("]", ",", ",")
	}
	var words [2]string // kind, and text or name
	for i := range words {
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		words[i], _ = tok.(string)
	}
	p.b.WriteString(words[1])
	switch words[0] {
	case "entries":
		p.b.WriteString(" {")
		return p.list("}", ", ", " => ")
	case "values":
		p.b.WriteString(" {")
		return p.list("}", ", ", ", ")
	}
	_, err = p.dec.Token()
	return err
}

// list prints the remaining values of an array or object. The separators after odd and even values
// are different for pairs.
func (p *specialPrinter) list(end, even, odd string) error {
	for i := 0; p.dec.More(); i++ {
		switch {
		case i == 0:
		case i%2 == 1:
			p.b.WriteString(odd)
		default:
			p.b.WriteString(even)
		}
		if err := p.value(); err != nil {
			return err
		}
	}
	_, err := p.dec.Token()
	if err == nil {
		p.b.WriteString(end)
	}
	return err
}
