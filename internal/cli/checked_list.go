package cli

import "strings"

// A checkedList is the value of a flag that is repeated. It implements pflag.SliceValue.
type checkedList struct {
	values *[]string
	// add returns values with another one, or an error if that is invalid.
	add func(values []string, value string) ([]string, error)
}

func (l checkedList) Type() string { return "stringArray" }

func (l checkedList) String() string {
	if l.values == nil { // pflag calls it for a zero checkedList
		return ""
	}
	return strings.Join(*l.values, " ")
}

func (l checkedList) Set(value string) error {
	values, err := l.add(*l.values, value)
	if err == nil {
		*l.values = values
	}
	return err
}

func (l checkedList) Append(value string) error { return l.Set(value) }

func (l checkedList) Replace(values []string) error {
	*l.values = nil
	for _, value := range values {
		if err := l.Set(value); err != nil {
			return err
		}
	}
	return nil
}

func (l checkedList) GetSlice() []string { return *l.values }
