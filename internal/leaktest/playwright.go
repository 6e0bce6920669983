package leaktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A Playwright is a stock Playwright client that visits pages: a process of tools/cdp/leaks.mjs.
type Playwright struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // closed when all replies have been read

	mu      sync.Mutex // guards the fields below, and writes
	stdin   io.WriteCloser
	last    int
	tabs    int
	pending map[int]chan string // errors of commands
}

// StartPlaywright connects a client to an endpoint. It opens each tab in a new browser context if
// where is "new", and in the default context if it is "default".
func StartPlaywright(t *testing.T, node, endpoint, where string) *Playwright {
	t.Helper()
	c := &Playwright{cmd: exec.Command(node, "../../tools/cdp/leaks.mjs", endpoint, where), ended: make(chan struct{}), pending: map[int]chan string{}}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var reply struct {
				ID    int
				Error string
			}
			if json.Unmarshal(lines.Bytes(), &reply) != nil {
				continue
			}
			c.mu.Lock()
			if done := c.pending[reply.ID]; done != nil {
				done <- reply.Error
				delete(c.pending, reply.ID)
			}
			c.mu.Unlock()
		}
	}()
	return c
}

// do runs a command in a tab.
func (p *Playwright) do(ctx context.Context, tab int, command, argument string) error {
	done := make(chan string, 1)
	p.mu.Lock()
	p.last++
	p.pending[p.last] = done
	line, err := json.Marshal(map[string]any{"id": p.last, "tab": tab, "do": command, "argument": argument})
	if err == nil {
		_, err = p.stdin.Write(append(line, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case text := <-done:
		if text != "" {
			return errors.New(text)
		}
		return nil
	case <-p.ended:
		return errors.New("Playwright has exited")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NewTab opens a tab, which is closed when t ends.
func (p *Playwright) NewTab(t *testing.T) Tab {
	t.Helper()
	p.mu.Lock()
	p.tabs++
	tab := playwrightTab{p, p.tabs}
	p.mu.Unlock()
	ctx := await.Context(t)
	if err := p.do(ctx, tab.id, "open", ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), await.HangLimit)
		defer cancel()
		if err := p.do(ctx, tab.id, "close", ""); err != nil {
			t.Errorf("closing the tab: %v", err)
		}
	})
	return tab
}

// Close ends the process.
func (p *Playwright) Close(t *testing.T) {
	t.Helper()
	p.stdin.Close()
	force := time.AfterFunc(await.HangLimit, func() { p.cmd.Process.Kill() })
	<-p.ended
	if err := p.cmd.Wait(); err != nil || t.Failed() && p.stderr.Len() > 0 {
		t.Errorf("Playwright: %v\n%s", err, &p.stderr)
	}
	force.Stop()
}

// A playwrightTab implements Tab.
type playwrightTab struct {
	client *Playwright
	id     int
}

func (p playwrightTab) Navigate(ctx context.Context, url string) error {
	return p.client.do(ctx, p.id, "navigate", url)
}

func (p playwrightTab) Click(ctx context.Context, selector string) error {
	return p.client.do(ctx, p.id, "click", selector)
}
