package mcp

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// peopleTools are the tools of [ToolsPeople].
var peopleTools = []tool{
	def("ask_user", navigates.nonDestructive(), (*toolRunner).askUserTool, "Hand a tab over to the user, for a captcha, a login, a second factor or a payment. Waits until they are done. If it ends without an answer, call it again: the question stays open."),
	def("secrets_list", reads.closedWorld(), (*toolRunner).secretsList, "Names of the user's secrets, with the sites that each is for. Type {{name.field}} with type or fill_form to enter one; its value is never shown."),
}

type askUserArgs struct {
	Message string `json:"message" jsonschema:"what the user should do, at most 500 characters"`
	browsertools.TabArg
}

func (a askUserArgs) WaitDescription() string { return "the user" }

func (a askUserArgs) Check() error {
	switch {
	case strings.TrimSpace(mcptext.Clean(a.Message)) == "":
		return toolschema.BadArgs("Write what the user should do.", "message is empty")
	case utf8.RuneCountInString(a.Message) > wire.MaxHandoverMessage:
		return toolschema.BadArgs("Write it in fewer words.", "message has more than %d characters", wire.MaxHandoverMessage)
	}
	return nil
}

type askUserResult struct {
	Outcome executor.HandoverOutcome `json:"outcome" enum:"done|cannot"`
	Message string                   `json:"message,omitempty"` // the question that was answered, if it differs from that of the call
	URL     string                   `json:"url"`
	Title   string                   `json:"title"`
}

func (r askUserResult) Render(t *mcptext.Text) {
	if r.Outcome == executor.OutcomeDone {
		t.Line("the user is done")
	} else {
		t.Line("the user cannot do it; do not ask for it again")
	}
	if r.Message != "" {
		t.Line("this answers your earlier question %s", mcptext.Quote(r.Message, wire.MaxHandoverMessage))
	}
	t.Line("URL: %s", mcptext.URLAndTitle(r.URL, r.Title))
}

func (r *toolRunner) askUserTool(ctx context.Context, a askUserArgs) (askUserResult, error) {
	return r.handovers.ask(ctx, mcptext.OneLine(a.Message), a.Tab)
}

type secretsListArgs struct{}

func (r *toolRunner) secretsList(ctx context.Context, _ secretsListArgs) (secretsResult, error) {
	res := secretsResult{Secrets: []secretInfo{}}
	if r.opts.Secrets == nil {
		return res, nil
	}
	list, err := r.opts.Secrets.List(ctx)
	if err != nil {
		return secretsResult{}, err
	}
	for _, i := range list {
		res.Secrets = append(res.Secrets, secretInfo{i.Name, browsertools.NonNil(i.Fields), browsertools.NonNil(i.Origins)})
	}
	return res, nil
}

type secretInfo struct {
	Name    string   `json:"name"`
	Fields  []string `json:"fields"`
	Origins []string `json:"origins"`
}

type secretsResult struct {
	Secrets []secretInfo `json:"secrets"`
}

func (r secretsResult) Render(t *mcptext.Text) {
	if len(r.Secrets) == 0 {
		t.Line("no secrets; the user can add one with `chrome-mcp secrets set`")
	}
	for _, i := range r.Secrets {
		var fields, origins []mcptext.Own
		for _, f := range i.Fields {
			fields = append(fields, "{{"+quoteUnlessWord(i.Name)+"."+quoteUnlessWord(f)+"}}")
		}
		for _, o := range i.Origins {
			origins = append(origins, mcptext.Own(mcptext.EscapeURL(pagetext.Truncate(o, mcptext.MaxName))))
		}
		t.Line("%s for %s", mcptext.Join(fields), mcptext.Join(origins))
	}
}

// quoteUnlessWord returns the name of a secret or field, quoted unless it is valid and short.
func quoteUnlessWord(name string) mcptext.Own {
	if len(name) <= mcptext.MaxName && placeholderName().MatchString(name) {
		return mcptext.Own(name)
	}
	return mcptext.Quote(name, mcptext.MaxName)
}

var placeholderName = lazyregexp.New(`^[a-z0-9_-]+$`)
