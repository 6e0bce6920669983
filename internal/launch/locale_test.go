package launch

import (
	"slices"
	"testing"
)

func TestWithUTF8(t *testing.T) {
	for _, c := range []struct{ env, want []string }{
		{[]string{"A=b"}, []string{"A=b", "LC_CTYPE=C.UTF-8"}},
		{[]string{"LANG=de_DE.UTF-8"}, []string{"LANG=de_DE.UTF-8"}},
		{[]string{"LANG=C", "LC_CTYPE=en_US.utf8"}, []string{"LANG=C", "LC_CTYPE=en_US.utf8"}},
		{[]string{"LANG=C.UTF-8", "LC_ALL=POSIX"}, []string{"LANG=C.UTF-8", "LANG=POSIX", "LC_CTYPE=C.UTF-8"}},
		{[]string{"LANG=de_DE", "LC_CTYPE=C", "LC_ALL="}, []string{"LANG=de_DE", "LC_CTYPE=C.UTF-8"}},
	} {
		if got := withUTF8(c.env); !slices.Equal(got, c.want) {
			t.Errorf("withUTF8(%q) is %q, want %q", c.env, got, c.want)
		}
	}
}
