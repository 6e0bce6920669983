package cdpshare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestEventLogSize checks that the events that are stored for clients have a limited size.
func TestEventLogSize(t *testing.T) {
	l := EventLog{HiddenWorld: "hidden"}
	record := func(method, params string) {
		l.Record(&wire.CDPEvent{Method: method, Params: json.RawMessage(params)})
	}
	stored := func(list eventList) (size int) {
		for _, params := range list.events {
			size += len(params)
		}
		return size
	}
	const number = 2 * maxEventsSize >> 20
	for i := range number {
		record("Debugger.scriptParsed", fmt.Sprintf(`{"scriptId":"%d","url":"%s"}`, i, strings.Repeat("x", 1<<20)))
		record("CSS.styleSheetAdded", fmt.Sprintf(`{"header":{"styleSheetId":"%d"},"url":"%s"}`, i, strings.Repeat("x", 1<<20)))
	}
	for name, list := range map[string]eventList{"scripts": l.scripts, "sheets": l.sheets} {
		if size := stored(list); size > maxEventsSize || size < maxEventsSize/2 {
			t.Errorf("%d MiB of %s are stored", size>>20, name)
		}
	}
	for i := range number {
		record("CSS.styleSheetRemoved", fmt.Sprintf(`{"styleSheetId":"%d"}`, i))
	}
	if record("CSS.styleSheetAdded", `{"header":{"styleSheetId":"new"}}`); len(l.sheets.events) != 1 {
		t.Errorf("after all were removed, %d sheets are stored", len(l.sheets.events))
	}
}
