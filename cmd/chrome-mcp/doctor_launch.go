package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

// launch starts the browser as the server would, and has it read a page that
// it serves itself on loopback.
func (r *report) launch(ctx context.Context, s *settings) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	start := time.Now()
	if err := tryPage(ctx, s); err != nil {
		r.fault("launch", err)
		return
	}
	r.say(good, "launch", "%s in %d ms", launched(s), time.Since(start).Milliseconds())
}

// launched says what went well: a browser that was joined goes on.
func launched(s *settings) string {
	if s.cdpEndpoint != "" {
		return "joined, read a page in a tab of its own and let go"
	}
	return "started, read a page and ended"
}

func tryPage(ctx context.Context, s *settings) (err error) {
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
	served.Go(func() { _ = page.Serve(listener) }) // ends with ErrServerClosed
	defer served.Wait()
	defer page.Close()

	address := "http://" + listener.Addr().String()
	rules, err := policy.New(policy.Config{AllowDomains: []string{address}})
	if err != nil {
		return err
	}
	b, err := open(s, policy.NewGuard(rules, nil), nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	tab, err := b.NewTab(ctx, address, nil)
	if err != nil {
		return err
	}
	got, err := b.Text(ctx, tab.ID, nil)
	if err != nil {
		return err
	}
	if !strings.Contains(got.Text, text) {
		return fmt.Errorf("the page reads %q, want %q", got.Text, text)
	}
	return nil
}
