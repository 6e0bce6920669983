package page

import "testing"

func TestReportSubscriptions(t *testing.T) {
	var r reportSubscriptions
	var got []string
	r.subscribe("a", func(payload []byte) { got = append(got, string(payload)) })
	r.deliver("b", []byte("without a subscriber"))
	r.deliver("a", []byte("first"))
	r.unsubscribe("a")
	r.deliver("a", []byte("too late"))
	if len(got) != 1 || got[0] != "first" {
		t.Errorf("received %q, want only the first", got)
	}
}
