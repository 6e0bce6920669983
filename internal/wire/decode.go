package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// A VersionError reports a message with an unsupported version.
type VersionError struct {
	Got  string // "v" of the message, truncated
	Want int    // Version or NativeVersion
}

// Error returns both versions and what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the other side uses protocol version %s, this side uses version %d: update chrome-mcp and reload its extension",
		e.Got, e.Want)
}

// Decode decodes a message. It accepts only what this package declares. It returns a
// *[VersionError] for another protocol version, and an error for an unknown type, for an unknown,
// missing or duplicate key, and for a value that has the wrong type or is out of bounds. Errors
// name the key or type, but never contain any other value except a version. The fields of type
// [json.RawMessage] refer to data.
func Decode(data []byte) (Message, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("message is not UTF-8")
	}
	if !json.Valid(data) {
		return nil, errors.New("message is not JSON")
	}
	members, err := splitObject(data)
	if err != nil {
		return nil, fmt.Errorf("message %w", err)
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
		return nil, errors.New(`message: key "v" is missing`)
	case string(v) != strconv.Itoa(Version):
		return nil, &VersionError{shorten(string(v)), Version}
	}
	var name string
	if head["type"] == nil {
		return nil, errors.New(`message: key "type" is missing`)
	}
	if err := setValue(reflect.ValueOf(&name).Elem(), head["type"]); err != nil {
		return nil, fmt.Errorf(`message: key "type" %w`, err)
	}
	create := newMessage[name]
	if create == nil {
		return nil, fmt.Errorf("message type %q is not known", shorten(name))
	}
	message := create()
	if err := setMembers(reflect.ValueOf(message).Elem(), rest, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := message.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return message, nil
}

// Unmarshal decodes the data of a result or event, or the params of a command, into the struct that
// v points to. It is as strict as [Decode].
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

// setMembers sets the fields of a struct. path is the path of the struct with a trailing dot, or
// empty for the outermost one.
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

// setField sets a field of a struct or an element of a slice. raw must be valid JSON.
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
	if raw[0] == 'n' || json.Unmarshal(raw, v.Addr().Interface()) != nil { // encoding/json accepts null for any type
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
	const maxBytes = 40
	if len(s) <= maxBytes {
		return s
	}
	end := maxBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

var (
	instance    = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	extensionID = lazyregexp.New(`^[a-p]{32}$`)
	code        = lazyregexp.New(`^[A-Z][A-Z_]{0,63}$`)
)

// maxNameLength is the maximum length of a version, method or event name in bytes.
const maxNameLength = 200

func (m *Hello) check() error {
	switch {
	case !instance().MatchString(m.Installation):
		return errors.New(`key "instance" is not 1 to 64 letters, digits, - and _`)
	case m.Run != "" && !instance().MatchString(m.Run):
		return errors.New(`key "run" is not 1 to 64 letters, digits, - and _`)
	case !extensionID().MatchString(m.Ext.ID):
		return errors.New(`key "ext.id" is not the id of an extension`)
	case len(m.Ext.Version) > maxNameLength || len(m.Ext.Chrome) > maxNameLength:
		return errors.New(`a version in "ext" is too long`)
	case m.Key != KeyToken && m.Key != KeyPaired && m.Key != KeyPairing:
		return errors.New(`key "key" is not boot, paired or pairing`)
	}
	return checkKey("nonce", m.Nonce)
}

func (m *Challenge) check() error {
	if err := checkKey("nonce", m.Nonce); err != nil {
		return err
	}
	return checkKey("mac", m.MAC)
}

func (m *Proof) check() error { return checkKey("mac", m.MAC) }

func (m *Welcome) check() error {
	switch {
	case !instance().MatchString(m.Session):
		return errors.New(`key "session" is not 1 to 64 letters, digits, - and _`)
	case m.HeartbeatMs <= 0:
		return errors.New(`key "heartbeatMs" is not positive`)
	case m.Pairing != nil:
		return checkKey("pairing.key", m.Pairing.Key)
	}
	return nil
}

func (m *Rejection) check() error {
	if !slices.Contains(Reasons(), m.Reason) {
		return errors.New(`key "reason" is not known`)
	}
	return nil
}

func (m *Command) check() error {
	switch {
	case m.Method == "" || len(m.Method) > maxNameLength:
		return errors.New(`key "method" is empty or too long`)
	case m.Params[0] != '{':
		return errors.New(`key "params" is not an object`)
	case m.TimeoutMs <= 0:
		return errors.New(`key "timeoutMs" is not positive`)
	}
	return checkID(m.ID)
}

func (m *Result) check() error { return checkID(m.ID) }

func (m *Failure) check() error {
	if !code().MatchString(string(m.Error.Code)) {
		return errors.New(`key "error.code" is not a code`)
	}
	return checkID(m.ID)
}

func (m *Event) check() error {
	switch {
	case m.Event == "" || len(m.Event) > maxNameLength:
		return errors.New(`key "event" is empty or too long`)
	case m.Data[0] != '{':
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
