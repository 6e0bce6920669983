package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// eventsInterval is the minimum time between two updates of a page: an agent may make many calls.
const eventsInterval = 100 * time.Millisecond

// A questionState is a question as the page shows it.
type questionState struct {
	ID        string         `json:"id"`
	Session   string         `json:"session"` // the id of the session on the Board; empty if unknown
	Principal string         `json:"principal"`
	Agent     string         `json:"agent"`
	Message   string         `json:"message"`
	Site      string         `json:"site"`
	Title     string         `json:"title"`
	Tab       executor.TabID `json:"tab"`
}

// events streams the state of the workspaces and questions as server-sent events: each workspace that
// has changed, then the order of the workspaces and all questions. It ends with the login.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := loginOf(r.Context()).context(r.Context())
	defer cancel()
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, data any) error {
		text, err := json.Marshal(data)
		if err == nil {
			rc.SetWriteDeadline(time.Now().Add(writeTimeout))
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
		}
		return err
	}
	board := s.opts.Board
	defer board.addViewer()()
	if send("process", map[string]any{"kind": s.opts.Kind, "version": s.opts.Version}) != nil {
		return
	}
	sent := map[string]int{}
	for first := true; ; first = false {
		workspaces, questions := board.changed.Changed(), s.opts.Desk.Changed()
		// The page renders when it receives the questions.
		if s.sendWorkspaces(send, sent) != nil || send("questions", s.questionStates()) != nil {
			return
		}
		if first && send("ready", true) != nil || rc.Flush() != nil {
			return
		}
		select {
		case <-workspaces:
		case <-questions:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(eventsInterval):
		case <-ctx.Done():
			return
		}
	}
}

// sendWorkspaces sends the workspaces that have changed, and the order of all. sent holds the versions
// that were sent, by id.
func (s *Server) sendWorkspaces(send func(event string, data any) error, sent map[string]int) error {
	order := []string{}
	for _, workspace := range s.opts.Board.all() {
		order = append(order, workspace.id)
		st, version := workspace.state()
		if old, ok := sent[workspace.id]; ok && old == version {
			continue
		}
		sent[workspace.id] = version
		if err := send("session", st); err != nil {
			return err
		}
	}
	maps.DeleteFunc(sent, func(id string, _ int) bool { return !slices.Contains(order, id) })
	return send("sessions", order)
}

// questionStates returns the open questions as the page shows them.
func (s *Server) questionStates() []questionState {
	states := []questionState{}
	for _, q := range s.opts.Desk.Questions() {
		st := questionState{
			ID: q.ID, Principal: q.Principal, Agent: q.Agent, Message: q.Message, Site: q.Site, Title: q.Title, Tab: q.Tab,
		}
		for _, workspace := range s.opts.Board.all() {
			if workspace.opts.Principal == q.Principal && workspace.opts.Name == q.Session {
				st.Session = workspace.id
			}
		}
		states = append(states, st)
	}
	return states
}
