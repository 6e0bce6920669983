package mcptransport

import (
	"errors"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// eventsAfter returns the events of a stream after an index.
func eventsAfter(t *testing.T, e *EventStore, session, stream string, index int) (events []string, err error) {
	t.Helper()
	for data, err := range e.After(t.Context(), session, stream, index) {
		if err != nil {
			return nil, err
		}
		events = append(events, string(data))
	}
	return events, nil
}

func TestEventStore(t *testing.T) {
	e := new(EventStore)
	add := func(session, stream string, events ...string) {
		t.Helper()
		if err := e.Open(t.Context(), session, stream); err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			if err := e.Append(t.Context(), session, stream, []byte(event)); err != nil {
				t.Fatal(err)
			}
		}
	}
	add("a", "", "x")
	add("a", "1", "", "result")
	add("b", "1", "", "other")
	for _, tt := range []struct {
		session, stream string
		index           int
		want            string
	}{
		{"a", "1", -1, "[ result]"},
		{"a", "1", 0, "[result]"},
		{"a", "1", 1, "[]"},
		{"a", "1", 7, "[]"},
		{"b", "1", 0, "[other]"},
		{"a", "", -1, "[]"},
	} {
		if got, err := eventsAfter(t, e, tt.session, tt.stream, tt.index); err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("%v: %v, %v", tt, got, err)
		}
	}
	if err := e.SessionClosed(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := eventsAfter(t, e, "a", "1", 0); !errors.Is(err, sdk.ErrEventsPurged) {
		t.Errorf("a closed session: %v", err)
	}

	// The oldest responses are removed at the limits.
	big := string(make([]byte, maxEventBytes/4))
	for i := range 5 {
		add("c", fmt.Sprint(i), big)
	}
	if _, err := eventsAfter(t, e, "c", "0", -1); !errors.Is(err, sdk.ErrEventsPurged) || e.bytes > maxEventBytes {
		t.Errorf("the oldest response: %v; %d bytes", err, e.bytes)
	}
	if err := e.Append(t.Context(), "c", "0", nil); !errors.Is(err, sdk.ErrEventsPurged) {
		t.Errorf("appending to it: %v", err)
	}
	for i := range 3 * maxEventStreams {
		add("d", fmt.Sprint(i), "x")
	}
	if len(e.streams) != maxEventStreams {
		t.Errorf("%d streams", len(e.streams))
	}
	if got, err := eventsAfter(t, e, "d", fmt.Sprint(3*maxEventStreams-1), -1); err != nil || len(got) != 1 {
		t.Errorf("the last response: %v, %v", got, err)
	}
}
