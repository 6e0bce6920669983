package mcp

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
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// A checker is an argument struct with rules over several arguments. Its
// errors are BAD_ARGS.
type checker interface{ check() error }

// decode fills args, a pointer to an argument struct of tool, from raw. It is
// strict: an unknown, repeated, missing, ill-typed or out-of-range argument is
// BAD_ARGS, naming the argument and what was expected. Null counts as absent.
func decode(tool string, raw json.RawMessage, args any) error {
	v := reflect.ValueOf(args).Elem()
	params := paramsOf(v.Type())
	if len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		raw = json.RawMessage("{}")
	}
	members, err := object(raw)
	if err != nil {
		return badArgs(takes(tool, params), "arguments %v", err)
	}
	seen := make(map[string]string, len(members))
	for _, m := range members {
		i := slices.IndexFunc(params, func(p param) bool {
			return p.name == m.key || (p.alias != "" && p.alias == m.key)
		})
		if i < 0 {
			return unknownArg(tool, m.key, params)
		}
		p := &params[i]
		if before, ok := seen[p.name]; ok {
			if before == m.key {
				return badArgs("Give it once.", "%s is given twice", p.name)
			}
			return badArgs("Give only "+p.name+".", "%s and %s are the same argument and both are given", p.name, p.alias)
		}
		seen[p.name] = m.key
		if string(m.value) == "null" {
			delete(seen, p.name)
			continue
		}
		if err := p.decode(m.value, v.FieldByIndex(p.index)); err != nil {
			var e *executor.Error
			if errors.As(err, &e) {
				return e
			}
			return badArgs("", "%s %v", m.key, err)
		}
	}
	for _, p := range params {
		if _, ok := seen[p.name]; p.required && !ok {
			return badArgs(takes(tool, params), "%s is missing: it %s", p.name, p.expected())
		}
	}
	if c, ok := args.(checker); ok {
		return c.check()
	}
	return nil
}

// badArgs returns a BAD_ARGS error.
func badArgs(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrBadArgs, hint, format, args...)
}

// decode sets v, the field of p, from raw. Its errors begin with "must".
func (p *param) decode(raw json.RawMessage, v reflect.Value) error {
	if c, ok := v.Addr().Interface().(customArg); ok {
		return c.decodeArg(raw)
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
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
		if err != nil || jsonKind(raw) != "a number" {
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

func (p *param) decodeString(raw json.RawMessage) (string, error) {
	if jsonKind(raw) != "a string" {
		return "", p.mismatch(raw)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", p.mismatch(raw)
	}
	switch {
	case len(p.enum) > 0 && !slices.Contains(p.enum, s):
		return "", fmt.Errorf("%s, got %s", p.expected(), shown(s))
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

func (p *param) decodeStrings(raw json.RawMessage) ([]string, error) {
	if jsonKind(raw) != "an array" {
		return nil, p.mismatch(raw)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, p.mismatch(raw)
	}
	ss := make([]string, len(items))
	for i, item := range items {
		if jsonKind(item) != "a string" {
			return nil, fmt.Errorf("%s, got one with %s in it", p.expected(), jsonKind(item))
		}
		if err := json.Unmarshal(item, &ss[i]); err != nil {
			return nil, p.mismatch(item)
		}
		if len(p.enum) > 0 && !slices.Contains(p.enum, ss[i]) {
			return nil, fmt.Errorf("%s, got %s", p.expected(), shown(ss[i]))
		}
	}
	return ss, nil
}

// decodeInt accepts 5 and 5.0 alike.
func (p *param) decodeInt(raw json.RawMessage) (int64, error) {
	if jsonKind(raw) != "a number" {
		return 0, p.mismatch(raw)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("%s, got %s", p.expected(), shown(string(raw)))
	}
	n := int64(f)
	low, _ := strconv.ParseInt(p.min, 10, 64)
	high, _ := strconv.ParseInt(p.max, 10, 64)
	if (p.min != "" && n < low) || (p.max != "" && n > high) {
		return 0, fmt.Errorf("%s, got %d", p.expected(), n)
	}
	return n, nil
}

func (p *param) mismatch(raw json.RawMessage) error {
	return fmt.Errorf("%s, got %s", p.expected(), jsonKind(raw))
}

// expected says what p takes: "must be an integer number of milliseconds".
func (p *param) expected() string {
	t := p.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var what string
	switch {
	case reflect.PointerTo(t).Implements(customArgType):
		what = reflect.New(t).Interface().(customArg).expected()
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

// shown returns s quoted and cut, for an error text.
func shown(s string) string { return string(quote(s, 60)) }

// jsonKind names the kind of a JSON value.
func jsonKind(raw json.RawMessage) string {
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

// A member is one key of a JSON object and its value.
type member struct {
	key   string
	value json.RawMessage
}

// object returns the members of a JSON object in order, repeated keys
// included. Its errors begin with "must be".
func object(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	first, err := dec.Token()
	if err != nil {
		return nil, errors.New("must be a JSON object")
	}
	if first != json.Delim('{') {
		return nil, fmt.Errorf("must be an object, got %s", jsonKind(bytes.TrimSpace(raw)))
	}
	var ms []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, errors.New("must be a JSON object")
		}
		m := member{key: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, errors.New("must be a JSON object")
		}
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("must be a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON object")
	}
	return ms, nil
}

// takes lists the arguments of a tool, for a hint.
func takes(tool string, params []param) string {
	if len(params) == 0 {
		return tool + " takes no arguments."
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	return tool + " takes " + strings.Join(names, ", ") + "."
}

// unknownArg suggests the argument that was probably meant.
func unknownArg(tool, key string, params []param) error {
	best, distance := "", 4
	for _, p := range params {
		if d := nearness(key, p.name); d < distance {
			best, distance = p.name, d
		}
	}
	hint := takes(tool, params)
	if best != "" {
		hint = "Did you mean " + best + "? " + hint
	}
	return badArgs(hint, "unknown argument %s", shown(key))
}

// unknown tells what is wrong with the name of a tool that the session does not
// have: which was probably meant, or which toolset has it.
func (s *session) unknown(name string) error {
	message := "unknown tool " + shown(name)
	if set := toolsetOf(name); set != "" {
		return errors.New(name + " is a tool of the toolset " + string(set) + ", which is not switched on; the user can do that with --tools")
	}
	return errors.New(message + s.meant(name))
}

// meant asks, to end a message with, whether another tool was meant by a name;
// empty when none is like it.
func (s *session) meant(name string) string {
	best, distance := "", 4
	for _, t := range s.tools {
		if d := nearness(name, t.name); d < distance {
			best, distance = t.name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// nearness is small when a was probably meant to be b: 0 when they differ in
// case and separators only, 1 when one begins with the other, else the edit
// distance, which counts only while it is less than half of b.
func nearness(a, b string) int {
	fold := strings.NewReplacer("_", "", "-", "", " ", "")
	a, b = strings.ToLower(fold.Replace(a)), strings.ToLower(fold.Replace(b))
	switch {
	case a == b:
		return 0
	case len(a) > 2 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b)):
		return 1
	case len(a) > 2*len(b)+2: // also keeps a hostile key from costing time
		return math.MaxInt
	}
	if d := typo.Distance(a, b); 2*d < len(b) {
		return max(d, 1)
	}
	return math.MaxInt
}
