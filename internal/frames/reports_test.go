package frames

import "testing"

func TestReports(t *testing.T) {
	var r Reports
	var got []string
	r.Subscribe("a", func(payload []byte) { got = append(got, string(payload)) })
	r.Deliver("b", []byte("without a subscriber"))
	r.Deliver("a", []byte("first"))
	r.Unsubscribe("a")
	r.Deliver("a", []byte("too late"))
	if len(got) != 1 || got[0] != "first" {
		t.Errorf("received %q, want only the first", got)
	}
}
