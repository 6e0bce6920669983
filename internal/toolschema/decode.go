package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// A Checker is an argument struct that validates combinations of arguments. Its errors have the
// code BAD_ARGS.
type Checker interface{ Check() error }

// Decode fills args, a pointer to an argument struct of tool, from raw. It is strict: it returns a
// BAD_ARGS error, which names the argument and the expected value, for an argument that is unknown,
// repeated, missing, out of range or of the wrong type. Null counts as absent.
func Decode(tool string, raw json.RawMessage, args any) error {
	v := reflect.ValueOf(args).Elem()
	params := Params(v.Type())
	if len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		raw = json.RawMessage("{}")
	}
	members, err := Members(raw)
	if err != nil {
		return BadArgs(argumentList(tool, params), "arguments %v", err)
	}
	seen := make(map[string]string, len(members))
	for _, m := range members {
		i := slices.IndexFunc(params, func(p Param) bool {
			return p.Name == m.Key || (p.Alias != "" && p.Alias == m.Key)
		})
		if i < 0 {
			return unknownArg(tool, m.Key, params)
		}
		p := &params[i]
		if before, ok := seen[p.Name]; ok {
			if before == m.Key {
				return BadArgs("Pass it once.", "%s is given twice", p.Name)
			}
			return BadArgs("Pass only "+p.Name+".", "%s and %s are the same argument and both are given", p.Name, p.Alias)
		}
		seen[p.Name] = m.Key
		if string(m.Value) == "null" {
			delete(seen, p.Name)
			continue
		}
		if err := p.decode(m.Value, v.FieldByIndex(p.Index)); err != nil {
			if e, ok := errors.AsType[*executor.Error](err); ok {
				return e
			}
			return BadArgs("", "%s %v", m.Key, err)
		}
	}
	for _, p := range params {
		if _, ok := seen[p.Name]; p.Required && !ok {
			return BadArgs(argumentList(tool, params), "%s is missing: it %s", p.Name, p.Expected())
		}
	}
	if c, ok := args.(Checker); ok {
		return c.Check()
	}
	return nil
}

// BadArgs returns a BAD_ARGS error.
func BadArgs(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrBadArgs, hint, format, args...)
}

// decode sets v, the field of p, from raw. Its errors begin with "must".
func (p *Param) decode(raw json.RawMessage, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if c, ok := v.Addr().Interface().(Custom); ok {
		return c.DecodeArg(raw)
	}
	switch v.Kind() {
	case reflect.String:
		s, err := p.decodeString(raw)
		if err != nil {
			return err
		}
		v.SetString(s)
	case reflect.Bool:
		if string(raw) != "true" && string(raw) != "false" {
			return p.mismatch(raw)
		}
		v.SetBool(string(raw) == "true")
	case reflect.Int:
		n, err := p.decodeInt(raw)
		if err != nil {
			return err
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || JSONKind(raw) != "a number" {
			return p.mismatch(raw)
		}
		v.SetFloat(f)
	case reflect.Slice:
		ss, err := p.decodeStrings(raw)
		if err != nil {
			return err
		}
		s := reflect.MakeSlice(v.Type(), len(ss), len(ss))
		for i := range ss {
			s.Index(i).SetString(ss[i])
		}
		v.Set(s)
	default:
		panic("no decoder for " + v.Type().String())
	}
	return nil
}

func (p *Param) decodeString(raw json.RawMessage) (string, error) {
	s, ok := JSONString(raw)
	switch {
	case !ok:
		return "", p.mismatch(raw)
	case len(p.enum) > 0 && !slices.Contains(p.enum, s):
		return "", fmt.Errorf("%s, got %s", p.Expected(), mcptext.QuoteShort(s))
	case s == "" && !p.empty:
		return "", errors.New("must not be empty")
	case p.typ == tabIDType:
		_, _, _, err := executor.TabID(s).Split()
		return s, err
	case p.typ == refType:
		ref, err := executor.ParseRef(s)
		return string(ref), err
	}
	return s, nil
}

func (p *Param) decodeStrings(raw json.RawMessage) ([]string, error) {
	ss, err := JSONStrings(raw)
	if err != nil {
		return nil, fmt.Errorf("%s, got %w", p.Expected(), err)
	}
	for _, s := range ss {
		if len(p.enum) > 0 && !slices.Contains(p.enum, s) {
			return nil, fmt.Errorf("%s, got %s", p.Expected(), mcptext.QuoteShort(s))
		}
	}
	return ss, nil
}

// decodeInt decodes an integer. It accepts 5 and 5.0.
func (p *Param) decodeInt(raw json.RawMessage) (int64, error) {
	if JSONKind(raw) != "a number" {
		return 0, p.mismatch(raw)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("%s, got %s", p.Expected(), mcptext.QuoteShort(string(raw)))
	}
	n := int64(f)
	low, _ := strconv.ParseInt(p.min, 10, 64)
	high, _ := strconv.ParseInt(p.max, 10, 64)
	if (p.min != "" && n < low) || (p.max != "" && n > high) {
		return 0, fmt.Errorf("%s, got %d", p.Expected(), n)
	}
	return n, nil
}

func (p *Param) mismatch(raw json.RawMessage) error {
	return fmt.Errorf("%s, got %s", p.Expected(), JSONKind(raw))
}

// Expected describes the values of p, such as "must be an integer number of milliseconds".
func (p *Param) Expected() string {
	t := p.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var what string
	switch {
	case reflect.PointerTo(t).Implements(customType):
		what = reflect.New(t).Interface().(Custom).Expected()
	case t.Kind() == reflect.Slice && len(p.enum) > 0:
		what = "an array of " + alternatives(p.enum)
	case t.Kind() == reflect.Slice:
		what = "an array of strings"
	case len(p.enum) > 0:
		what = alternatives(p.enum)
	case t.Kind() == reflect.Bool:
		what = "true or false"
	case t.Kind() == reflect.Int:
		what = "an integer"
		if p.unit != "" {
			what += " number of " + p.unit
		}
	case t.Kind() == reflect.Float64:
		what = "a number"
	default:
		what = "a string"
	}
	switch {
	case p.min != "" && p.max != "":
		what += " from " + p.min + " to " + p.max
	case p.min != "":
		what += " of at least " + p.min
	}
	return "must be " + what
}

func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// JSONKind names the kind of a JSON value.
func JSONKind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// JSONString returns the value of a JSON string. It reports false for any other value.
func JSONString(raw json.RawMessage) (s string, ok bool) {
	ok = JSONKind(raw) == "a string" && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// JSONStrings returns the elements of a JSON array of strings. Its error describes any other value.
func JSONStrings(raw json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if JSONKind(raw) != "an array" || json.Unmarshal(raw, &items) != nil {
		return nil, errors.New(JSONKind(raw))
	}
	list := make([]string, len(items))
	for i, item := range items {
		s, ok := JSONString(item)
		if !ok {
			return nil, fmt.Errorf("an array with %s in it", JSONKind(item))
		}
		list[i] = s
	}
	return list, nil
}

// A Member is one key of a JSON object and its value.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members returns the members of a JSON object in order, including repeated keys. Its errors begin
// with "must be".
func Members(raw json.RawMessage) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	first, err := dec.Token()
	if err != nil {
		return nil, errors.New("must be a JSON object")
	}
	if first != json.Delim('{') {
		return nil, fmt.Errorf("must be an object, got %s", JSONKind(bytes.TrimSpace(raw)))
	}
	var ms []Member
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			return nil, errors.New("must be a JSON object")
		}
		ms = append(ms, Member{key.(string), value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("must be a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON object")
	}
	return ms, nil
}

// argumentList returns a hint that lists the arguments of a tool.
func argumentList(tool string, params []Param) string {
	if len(params) == 0 {
		return tool + " takes no arguments."
	}
	return tool + " takes " + strings.Join(namesOf(params), ", ") + "."
}

func namesOf(params []Param) (names []string) {
	for _, p := range params {
		names = append(names, p.Name)
	}
	return names
}

// unknownArg returns the error for an unknown argument. Its hint suggests the nearest name.
func unknownArg(tool, key string, params []Param) error {
	hint := argumentList(tool, params)
	if near := Nearest(key, namesOf(params)); near != "" {
		hint = "Did you mean " + near + "? " + hint
	}
	return BadArgs(hint, "unknown argument %s", mcptext.QuoteShort(key))
}

// Nearest returns the first of the names that differ least from name, or "" if none is similar.
func Nearest(name string, names []string) string {
	best, distance := "", 4
	for _, n := range names {
		if d := nameDistance(name, n); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// nameDistance returns how different a is from b: 0 if they differ only in case and separators, 1
// if one is a prefix of the other, otherwise their edit distance. It returns math.MaxInt if the
// edit distance is at least half the length of b.
func nameDistance(a, b string) int {
	fold := strings.NewReplacer("_", "", "-", "", " ", "")
	a, b = strings.ToLower(fold.Replace(a)), strings.ToLower(fold.Replace(b))
	switch {
	case a == b:
		return 0
	case len(a) > 2 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b)):
		return 1
	case len(a) > 2*len(b)+2: // also bounds the time that a hostile key can cost
		return math.MaxInt
	}
	if d := typo.Distance(a, b); 2*d < len(b) {
		return max(d, 1)
	}
	return math.MaxInt
}
