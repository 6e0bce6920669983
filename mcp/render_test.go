package mcp

import (
	"context"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestChangesAreTold(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes executor.Changes
		want    string
	}{
		{"not looked at", executor.Changes{}, "ok; take a snapshot to see the page"},
		{"not looked at, a note", executor.Changes{Note: "2 elements match"}, "ok; take a snapshot to see the page\n2 elements match"},
		{"none", executor.Changes{Unchanged: true}, "ok\nno visible change"},
		{"address", executor.Changes{URL: shop}, "ok\nnow at " + shop},
		{"requests", executor.Changes{Pending: 1}, "ok\n1 request still running"},
		{"download refused", executor.Changes{Downloads: []executor.Download{{SuggestedName: "a.exe", State: "canceled", Reason: "downloads are\nnot granted"}}},
			"ok\ndownload canceled \"a.exe\": downloads are not granted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{click: func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
				return &executor.Action{OK: true, Changes: c.changes}, nil
			}}
			cs := connect(t, NewServer(f, nil), nil)
			if got := textOf(callTool(t, cs, "click", `{"ref":"e1"}`)); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
