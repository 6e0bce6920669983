package tier

import (
	"fmt"
	"testing"
)

// TestParts checks that each name is in exactly one part, and that no part is empty.
func TestParts(t *testing.T) {
	const names, parts = 200, 6
	in := map[string]int{}
	for i := 1; i <= parts; i++ {
		t.Setenv(variable, fmt.Sprintf("%d/%d", i, parts))
		size := 0
		for n := range names {
			if name := fmt.Sprintf("TestLong/case_%d", n); InPart(name) {
				in[name]++
				size++
			}
		}
		if size < names/parts/2 {
			t.Errorf("part %d has %d of %d names", i, size, names)
		}
	}
	for name, n := range in {
		if n != 1 {
			t.Errorf("%s is in %d parts", name, n)
		}
	}
	if len(in) != names {
		t.Errorf("%d names are in a part, want %d", len(in), names)
	}
	for _, malformed := range []string{"0/6", "7/6", "x/6", "1/"} {
		t.Setenv(variable, malformed)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is accepted", malformed)
				}
			}()
			InPart("TestLong")
		}()
	}
}
