package executor_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// methods returns the names of the Executor's methods that return an error of a call: all except
// Status and Close.
func methods(t *testing.T) []string {
	typ := reflect.TypeFor[executor.Executor]()
	var names []string
	for i := range typ.NumMethod() {
		if name := typ.Method(i).Name; name != "Status" && name != "Close" {
			names = append(names, name)
		}
	}
	if len(names) < 9 {
		t.Fatalf("the interface has only the methods %q", names)
	}
	return names
}

// invoke calls a method by name. Each argument except the context differs from the zero value.
// Strings are tab ids of cdp.
func invoke(t *testing.T, x executor.Executor, method string) (args []any, result any, err error) {
	f := reflect.ValueOf(x).MethodByName(method)
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		typ := f.Type().In(i)
		v := reflect.New(typ).Elem()
		switch typ.Kind() {
		case reflect.Interface:
			if i == 0 {
				v.Set(reflect.ValueOf(t.Context()))
			} else {
				v.Set(reflect.ValueOf(&struct{ N int }{i}))
			}
		case reflect.String:
			v.SetString("cdp:a:" + strings.Repeat("1", i))
		case reflect.Pointer:
			v.Set(reflect.New(typ.Elem()))
		case reflect.Slice:
			v.Set(reflect.MakeSlice(typ, i, i))
		case reflect.Struct:
			for j := range typ.NumField() {
				if v.Field(j).Kind() == reflect.String {
					v.Field(j).SetString("x")
				} else if v.Field(j).Kind() == reflect.Bool {
					v.Field(j).SetBool(true)
				}
			}
		default:
			t.Fatalf("%s has an argument of type %s, which invoke does not support", method, typ)
		}
		in[i] = v
		args = append(args, v.Interface())
	}
	out := f.Call(in)
	err, _ = out[len(out)-1].Interface().(error)
	if len(out) > 1 {
		result = out[0].Interface()
	}
	return args, result, err
}
