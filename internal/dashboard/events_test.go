package dashboard

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
)

// TestQuestionSession checks that a question belongs to the session that asked, although another
// session of the same principal can have the same tab.
func TestQuestionSession(t *testing.T) {
	board, desk := new(Board), new(handover.Desk)
	s := &Server{opts: Options{Board: board, Desk: desk}}
	docs := board.Open(WorkspaceOptions{Principal: "ci", Name: "docs"})
	board.Open(WorkspaceOptions{Principal: "ci", Name: "shop"})
	board.Open(WorkspaceOptions{Name: "shop"})
	asker := executor.HandoverAsker{Principal: "ci", Session: "docs"}
	if _, _, err := desk.Post(executor.HandoverQuestion{HandoverAsker: asker, Tab: "cdp:x:1"}); err != nil {
		t.Fatal(err)
	}
	if got := s.questionStates(); len(got) != 1 || got[0].Session != docs.id {
		t.Errorf("questions %+v, want one of session %s", got, docs.id)
	}
}
