package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
)

// A VersionError is the error of a frame in another version of the protocol.
type VersionError struct {
	Got string // as it was written, cut short
}

// Error says what to do about it.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the other side speaks version %s of the protocol, this one version %d: update chrome-mcp and reload its extension",
		e.Got, Version)
}

// Decode reads a frame. It accepts exactly what is declared here: another
// version (a *VersionError), a type that is not known, a key that is not
// known, missing or there twice, a value of another type or out of its bounds
// are errors that name it, and never repeat a value. The raw messages in the
// frame are parts of data.
func Decode(data []byte) (Message, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("frame is not UTF-8")
	}
	if !json.Valid(data) {
		return nil, errors.New("frame is not JSON")
	}
	members, err := splitObject(data)
	if err != nil {
		return nil, fmt.Errorf("frame %w", err)
	}
	head, rest := map[string][]byte{}, members[:0]
	for _, m := range members {
		if m.key == "type" || m.key == "v" {
			head[m.key] = m.value
		} else {
			rest = append(rest, m)
		}
	}
	switch v := head["v"]; {
	case v == nil:
		return nil, errors.New(`frame: key "v" is missing`)
	case string(v) != strconv.Itoa(Version):
		return nil, &VersionError{shorten(string(v))}
	}
	var name string
	if head["type"] == nil {
		return nil, errors.New(`frame: key "type" is missing`)
	}
	if err := setValue(reflect.ValueOf(&name).Elem(), head["type"]); err != nil {
		return nil, fmt.Errorf(`frame: key "type" %w`, err)
	}
	create := newFrame[name]
	if create == nil {
		return nil, fmt.Errorf("frame type %q is not known", shorten(name))
	}
	f := create()
	if err := setMembers(reflect.ValueOf(f).Elem(), rest, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Unmarshal reads data of a result or an event, or params of a command, into
// v, as strictly as [Decode] reads a frame. v points to a struct.
func Unmarshal(data []byte, v any) error {
	if !json.Valid(data) {
		return errors.New("is not JSON")
	}
	members, err := splitObject(data)
	if err != nil {
		return err
	}
	return setMembers(reflect.ValueOf(v).Elem(), members, "")
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// setMembers sets the fields of a struct. path is its own name with a dot, or
// empty.
func setMembers(v reflect.Value, members []member, path string) error {
	t := v.Type()
	var known []string
	for i := range t.NumField() {
		key, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known = append(known, key)
		at := slices.IndexFunc(members, func(m member) bool { return m.key == key })
		switch {
		case at >= 0:
			if err := setField(v.Field(i), members[at].value, path+key); err != nil {
				return err
			}
		case options == "":
			return fmt.Errorf("key %q is missing", path+key)
		}
	}
	for _, m := range members {
		if !slices.Contains(known, m.key) {
			return fmt.Errorf("key %q is not known", path+shorten(m.key))
		}
	}
	return nil
}

// setField sets one field of a struct, or one element of a list, from JSON
// that is known to be valid.
func setField(v reflect.Value, raw []byte, path string) error {
	switch {
	case v.Type() == rawMessage:
		v.SetBytes(raw)
		return nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setField(v.Elem(), raw, path)
	case v.Kind() == reflect.Struct:
		members, err := splitObject(raw)
		if err != nil {
			return fmt.Errorf("key %q %w", path, err)
		}
		return setMembers(v, members, path+".")
	case v.Kind() == reflect.Slice:
		elements, err := splitArray(raw)
		if err != nil {
			return fmt.Errorf("key %q %w", path, err)
		}
		v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
		for i, e := range elements {
			if err := setField(v.Index(i), e, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := setValue(v, raw); err != nil {
		return fmt.Errorf("key %q %w", path, err)
	}
	return nil
}

// setValue sets a string, number or bool.
func setValue(v reflect.Value, raw []byte) error {
	if raw[0] == 'n' || json.Unmarshal(raw, v.Addr().Interface()) != nil { // encoding/json takes null for anything
		switch v.Kind() {
		case reflect.String:
			return errors.New("is not a string")
		case reflect.Bool:
			return errors.New("is not a boolean")
		}
		return errors.New("is not a whole number")
	}
	return nil
}

func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

var (
	instance    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	extensionID = regexp.MustCompile(`^[a-p]{32}$`)
	code        = regexp.MustCompile(`^[A-Z][A-Z_]{0,63}$`)
)

// maxWord bounds a version, a name or a method.
const maxWord = 200

func (f *Hello) check() error {
	switch {
	case !instance.MatchString(f.Instance):
		return errors.New(`key "instance" is not 1 to 64 letters, digits, - and _`)
	case f.Run != "" && !instance.MatchString(f.Run):
		return errors.New(`key "run" is not 1 to 64 letters, digits, - and _`)
	case !extensionID.MatchString(f.Ext.ID):
		return errors.New(`key "ext.id" is not the id of an extension`)
	case len(f.Ext.Version) > maxWord || len(f.Ext.Chrome) > maxWord:
		return errors.New(`a version in "ext" is too long`)
	case f.Key != KeyToken && f.Key != KeyPaired && f.Key != KeyPairing:
		return errors.New(`key "key" is not boot, paired or pairing`)
	}
	return checkKey("nonce", f.Nonce)
}

func (f *Challenge) check() error {
	if err := checkKey("nonce", f.Nonce); err != nil {
		return err
	}
	return checkKey("mac", f.MAC)
}

func (f *Proof) check() error { return checkKey("mac", f.MAC) }

func (f *Welcome) check() error {
	switch {
	case !instance.MatchString(f.Session):
		return errors.New(`key "session" is not 1 to 64 letters, digits, - and _`)
	case f.HeartbeatMs <= 0:
		return errors.New(`key "heartbeatMs" is not positive`)
	case f.Pairing != nil:
		return checkKey("pairing.key", f.Pairing.Key)
	}
	return nil
}

func (f *RejectedMessage) check() error {
	if !slices.Contains(Reasons(), f.Reason) {
		return errors.New(`key "reason" is not known`)
	}
	return nil
}

func (f *Command) check() error {
	switch {
	case f.Method == "" || len(f.Method) > maxWord:
		return errors.New(`key "method" is empty or too long`)
	case f.Params[0] != '{':
		return errors.New(`key "params" is not an object`)
	case f.TimeoutMs <= 0:
		return errors.New(`key "timeoutMs" is not positive`)
	}
	return checkID(f.ID)
}

func (f *Result) check() error { return checkID(f.ID) }

func (f *Failure) check() error {
	if !code.MatchString(string(f.Error.Code)) {
		return errors.New(`key "error.code" is not a code`)
	}
	return checkID(f.ID)
}

func (f *Event) check() error {
	switch {
	case f.Event == "" || len(f.Event) > maxWord:
		return errors.New(`key "event" is empty or too long`)
	case f.Data[0] != '{':
		return errors.New(`key "data" is not an object`)
	}
	return nil
}

func (*PolicyChange) check() error  { return nil }
func (*ServersChange) check() error { return nil }
func (*Ping) check() error          { return nil }
func (*Pong) check() error          { return nil }

func checkID(id string) error {
	if _, err := ulid.ParseStrict(id); err != nil {
		return errors.New(`key "id" is not a ULID`)
	}
	return nil
}

func checkKey(key, value string) error {
	if _, err := DecodeKey(value); err != nil {
		return fmt.Errorf("key %q %w", key, err)
	}
	return nil
}
