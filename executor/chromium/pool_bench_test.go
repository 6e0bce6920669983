package chromium

import (
	"context"
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// BenchmarkNewSession measures a new session in a shared browser that is running, until a script has
// run in its first tab, against the same steps of raw CDP.
func BenchmarkNewSession(b *testing.B) {
	ctx := b.Context()
	plain, err := launchBrowser(ctx, benchOptions(b))
	if err != nil {
		b.Fatal(err)
	}
	conn := cdpconn.New(plain.Transport)
	pool := new(Pool)
	o := benchOptions(b)
	o.Pool, o.Network, o.Isolated = pool, hosts{"127.0.0.1"}, true
	first := mustNew(b, o) // keeps the browser running
	var ends []func() error
	b.Cleanup(func() {
		conn.BrowserSession().Call(context.Background(), "Browser.close", nil, nil)
		if err := errors.Join(plain.Close(context.Background()), conn.Close(), first.Close(), pool.Close()); err != nil {
			b.Error(err)
		}
	})
	ours := func(browser *Backend) error {
		s, err := browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
		if err != nil {
			return err
		}
		page, _, err := s.NewPage(ctx, nil)
		if err != nil {
			return err
		}
		res, err := page.Eval(ctx, "6 * 7", nil)
		if err == nil && string(res.Value) != "42" {
			err = errors.New("the value is " + string(res.Value))
		}
		return err
	}
	if err := ours(first); err != nil {
		b.Fatal(err)
	}
	compare(b, func() error {
		return newContextRaw(ctx, conn, func(f func() error) { ends = append(ends, f) })
	}, func() error {
		browser := mustNew(b, o)
		ends = append(ends, browser.Close)
		return ours(browser)
	}, func() {
		for _, end := range ends {
			if err := end(); err != nil {
				b.Error(err)
			}
		}
		ends = nil
	})
}

// newContextRaw opens a tab in a new browser context and runs a script in it, with the minimal
// sequence of commands.
func newContextRaw(ctx context.Context, conn *cdpconn.Conn, atEnd func(func() error)) error {
	s := conn.BrowserSession()
	var created struct {
		Context string `json:"browserContextId"`
		Target  string `json:"targetId"`
	}
	if err := s.Call(ctx, "Target.createBrowserContext", nil, &created); err != nil {
		return err
	}
	atEnd(func() error {
		return s.Call(context.Background(), "Target.disposeBrowserContext", map[string]any{"browserContextId": created.Context}, nil)
	})
	if err := s.Call(ctx, "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": created.Context, "newWindow": true}, &created); err != nil {
		return err
	}
	if err := s.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": created.Target, "flatten": true}, nil); err != nil {
		return err
	}
	for {
		ev, err := s.Next(ctx)
		if err != nil {
			return err
		}
		if ev.Child == nil || string(ev.Child.Target().TargetID) != created.Target {
			continue
		}
		value, err := evaluateRaw[int](ctx, ev.Child, "6 * 7")
		if err == nil && value != 42 {
			err = errors.New("the value is wrong")
		}
		return err
	}
}
