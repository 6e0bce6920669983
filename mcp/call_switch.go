package mcp

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A callSwitch that is off rejects calls of a workspace, and cancels those that are running when it is
// switched off. The zero value is on, and so is a nil *callSwitch.
type callSwitch struct {
	mu      sync.Mutex // guards the fields below
	reason  string     // why it is off; empty while it is on
	entered int        // calls since the beginning
	running map[int]context.CancelCauseFunc
}

// enter returns the context of a call that begins, and what to call when it has ended. It returns an
// error while the switch is off.
func (g *callSwitch) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if g == nil {
		return ctx, func() {}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason != "" {
		return ctx, func() {}, stoppedError("calls are rejected: " + g.reason)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if g.running == nil {
		g.running = map[int]context.CancelCauseFunc{}
	}
	g.entered++
	call := g.entered
	g.running[call] = cancel
	return ctx, func() {
		g.mu.Lock()
		delete(g.running, call)
		g.mu.Unlock()
		cancel(nil)
	}, nil
}

// stoppedError is the error of calls that the user stopped.
func stoppedError(what string) error {
	return executor.Errorf(executor.ErrDetached, "Ask the user before you continue.", "%s", what)
}

// StopCalls cancels the running calls and rejects further ones until [Workspace.AllowCalls]. The
// errors of both are ErrDetached and repeat the reason, which is not empty. The workspace stays
// open.
func (ws *Workspace) StopCalls(reason string) {
	g := ws.stopSwitch
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = reason
	for _, cancel := range g.running {
		cancel(stoppedError("the call was canceled before it finished: " + reason))
	}
}

// AllowCalls allows calls again after [Workspace.StopCalls].
func (ws *Workspace) AllowCalls() {
	ws.stopSwitch.mu.Lock()
	defer ws.stopSwitch.mu.Unlock()
	ws.stopSwitch.reason = ""
}
