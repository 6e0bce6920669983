package pagetext

import (
	"strings"
	"testing"
)

// TestMapTexts checks that the masked text is JSON, and that what is not masked is unchanged.
func TestMapTexts(t *testing.T) {
	mask := strings.NewReplacer("831942", "••••").Replace
	for raw, want := range map[string]string{
		`831942`: `"••••"`, `18319420`: `"1••••0"`, `12345678901234567890`: `12345678901234567890`,
		`{"831942":[831942,"a 831942 <b>",null,true]}`: `{"••••":["••••","a •••• <b>",null,true]}`,
		`not JSON 831942`: `not JSON 831942`,
	} {
		if got := string(RewriteJSON([]byte(raw), func(v any) any { return MapTexts(v, mask) })); got != want {
			t.Errorf("%s becomes %s, want %s", raw, got, want)
		}
	}
}
