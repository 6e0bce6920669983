package browsertools

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

type StateArgs struct {
	Action string `json:"action" enum:"save|load"`
	Name   string `json:"name" jsonschema:"of the file: up to 64 letters, digits, - and _, the first a letter or digit; .json may follow"`
}

func (a StateArgs) Run(ctx context.Context, ex executor.Executor) (stateResult, error) {
	run, done := ex.SaveState, "saved"
	if a.Action == "load" {
		run, done = ex.LoadState, "loaded"
	}
	st, err := run(ctx, a.Name)
	if err == nil {
		st.Origins = NonNil(st.Origins)
	}
	return stateResult{st, done}, err
}

type stateResult struct {
	*executor.StateResult
	done string
}

func (r stateResult) Render(t *mcptext.Text) {
	t.Line("%s %s: %s, and %s of local storage", mcptext.Own(r.done), mcptext.Quote(r.File, mcptext.MaxName), mcptext.Plural(r.Cookies, "cookie"), mcptext.Plural(r.Items, "item"))
	for _, origin := range r.Origins {
		t.Line("storage of %s", mcptext.Address(origin))
	}
	if r.DeniedCookies+r.DeniedOrigins > 0 {
		t.Line("skipped, not allowed by policy: %s, %s", mcptext.Plural(r.DeniedCookies, "cookie"), mcptext.Plural(r.DeniedOrigins, "origin"))
	}
	if r.InvalidCookies > 0 {
		t.Line("skipped, expired or rejected by the browser: %s", mcptext.Plural(r.InvalidCookies, "cookie"))
	}
}
