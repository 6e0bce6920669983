package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// launch starts the browser as the server would, and reads a test page that it serves on loopback.
func (r *report) launch(ctx context.Context, s *cli.Settings) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	start := time.Now()
	if err := tryPage(ctx, s); err != nil {
		r.fault("launch", err)
		return
	}
	r.say(good, "launch", "%s in %d ms", launched(s), time.Since(start).Milliseconds())
}

// launched describes the successful test. An attached browser keeps running.
func launched(s *cli.Settings) string {
	if s.CDPEndpoint != "" {
		return "attached, read a test page in a new tab, detached"
	}
	return "launched, read a test page, closed"
}

func tryPage(ctx context.Context, s *cli.Settings) (err error) {
	const text = "chrome-mcp can read this"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	page := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><title>chrome-mcp doctor</title><p>"+text)
		}),
	}
	var served sync.WaitGroup
	served.Go(func() { _ = page.Serve(listener) }) // returns ErrServerClosed
	defer served.Wait()
	defer page.Close()

	address := "http://" + listener.Addr().String()
	rules, err := policy.New(policy.Config{AllowDomains: []string{address}})
	if err != nil {
		return err
	}
	b, err := compose.OpenBrowser(s, policy.NewGuard(rules, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	shown, _, err := b.NewPage(ctx, &executor.NewPageOptions{URL: address})
	if err != nil {
		return err
	}
	got, err := shown.Text(ctx, nil)
	if err != nil {
		return err
	}
	if !strings.Contains(got.Content, text) {
		return fmt.Errorf("the page reads %q, want %q", got.Content, text)
	}
	return nil
}
