package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// showForm shows a question through the client and returns the result of the form.
func (q *question) showForm(ctx context.Context) (*sdk.ElicitResult, error) {
	res, err := q.client.Conn.Elicit(ctx, q.form())
	if err != nil {
		return nil, executor.Errorf(executor.ErrConsentRequired, "Write the question to the user in your answer.", "the client did not show the question: %w", err)
	}
	return res, nil
}

// form returns the elicitation request that the client shows. Its text is fixed, except for the
// site, the agent's name and its message.
func (q *question) form() *sdk.ElicitParams {
	site := q.Site
	if site == "" {
		site = "a page without a site"
	}
	agent := "The agent"
	if q.Agent != "" {
		agent += " " + string(mcptext.Quote(q.Agent, mcptext.MaxName))
	}
	how := "Do it in the browser's window, then answer here."
	if !q.page.Visible {
		how = "Do it in the dashboard, which chrome-mcp dashboard opens, then answer there or here."
	}
	message := fmt.Sprintf("%s asks you to act in the browser, on %s: %s. Until you answer, agents cannot see or use the page. %s",
		agent, site, mcptext.Quote(q.Message, wire.MaxHandoverMessage), how)
	return prompting.AnswerForm(message, "Done?",
		[]string{string(executor.OutcomeDone), string(executor.OutcomeCannot)}, []string{"Done", "Can't do it"})
}

// answerForm answers a question with the result of its form. To decline or to cancel the form, which
// clients do that cannot show it, is to answer cannot.
func (h *handovers) answerForm(q *question, res *sdk.ElicitResult) {
	o := executor.OutcomeCannot
	if res.Action == "accept" && prompting.FormAnswer(res) == string(executor.OutcomeDone) {
		o = executor.OutcomeDone
	}
	h.mu.Lock() // until both are set: a call reads them together
	defer h.mu.Unlock()
	if h.opts.Questions.Answer(q.ID, o) == nil {
		q.declined, q.rule = res.Action != "accept", ruleClient
	}
}
