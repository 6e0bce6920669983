package extension

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

var _ executor.HandoverPrompter = (*Backend)(nil)

// handoverWait is how long one command waits for the answer of the user. The next command
// continues to wait.
const handoverWait = 25 * time.Second

// CanAsk implements executor.HandoverPrompter.
func (b *Backend) CanAsk(tab executor.TabID) bool {
	in, _ := b.installationOf(tab)
	return in != nil && in.connection() != nil
}

// installationOf returns the installation of a tab and the tab's id in that browser, or nil for a
// tab that is not shared.
func (b *Backend) installationOf(id executor.TabID) (*installation, int) {
	id = id.WithoutBrowser()
	in, _, info := findTab(b.allInstallations(), func(in *installation, t *tab) bool { return t.sessionTab != nil && in.tabID(t) == id })
	return in, info.TabID
}

// AskAbout implements executor.HandoverPrompter.
func (b *Backend) AskAbout(ctx context.Context, q executor.HandoverQuestion) (executor.HandoverOutcome, error) {
	in, tab := b.installationOf(q.Tab)
	if in == nil {
		return "", executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.",
			"the tab is no longer shared")
	}
	defer func() {
		if c := in.connection(); c != nil {
			limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.timing.HandoverEnd)
			defer cancel()
			_ = c.Call(limit, wire.MethodHandoverEnd, wire.HandoverRef{ID: q.ID}, nil)
		}
	}()
	params := wire.HandoverParams{ID: q.ID, TabID: tab, Message: q.Message}
	for {
		if err := b.awaitConnection(ctx, in); err != nil {
			return "", err
		}
		c := in.connection()
		if c == nil {
			continue
		}
		limit, cancel := context.WithTimeout(ctx, handoverWait)
		var answer wire.HandoverResult
		err := c.Call(limit, wire.MethodHandover, params, &answer)
		cancel()
		params.Again = true
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, executor.ErrTimeout), errors.Is(err, executor.ErrConsentRequired),
			errors.Is(err, executor.ErrExtensionDisconnected):
			continue
		case err != nil:
			return "", err
		}
		if slices.Contains(wire.HandoverAnswers(), answer.Answer) {
			return executor.HandoverOutcome(answer.Answer), nil
		}
		return "", executor.Errorf(executor.ErrInternal, "", "invalid answer from the extension")
	}
}

// awaitConnection waits until in is connected, up to Timing.HandoverReconnect.
func (b *Backend) awaitConnection(ctx context.Context, in *installation) error {
	limit, cancel := context.WithTimeout(ctx, b.timing.HandoverReconnect)
	defer cancel()
	err := b.changed.Wait(limit, func() bool {
		c := in.connection()
		return c != nil && c.Err() == nil
	})
	if err != nil && ctx.Err() == nil {
		return b.DisconnectedError()
	}
	return err
}

// HandoversChanged implements executor.CDPConn.
func (c *cdpClient) HandoversChanged() <-chan struct{} { return c.hub.backend.handovers.Changed() }

// HandedOver implements executor.CDPConn.
func (c *cdpClient) HandedOver(target string) bool {
	live := c.hub.backend.connectedInstallations()
	if _, t, _ := findTab(live, func(_ *installation, t *tab) bool { return t.sessionTab != nil && t.info.TargetID == target }); t != nil {
		return t.sessionTab.Page.HandedOver()
	}
	_, t, _ := findTab(live, func(_ *installation, t *tab) bool { return t.sessionTab != nil && t.sessionTab.Page.HandedOver() })
	return t != nil
}
