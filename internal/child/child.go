// Package child runs work that cannot be interrupted in a child process that can
// be killed. The child is another process of the running program. This also works
// in programs that import package mcp and whose main does not know this package.
//
// A child process has no environment variable except TZ. It exits when its parent
// exits, unless it calls [Parent.Outlive]. After [Parent.Confine] it opens no files
// or sockets and has a memory limit.
package child

import (
	"bufio"
	"fmt"
	"os"
	"sync/atomic"
)

// argumentPrefix begins the only argument of a child process.
const argumentPrefix = "chrome-mcp-child-"

// Handle runs work and exits if [Start] started this process for name. Otherwise
// it returns. Call it in func init, so that main does not run.
func Handle(name string, work func(*Parent) error) {
	if len(os.Args) != 2 || os.Args[1] != argumentPrefix+name {
		return
	}
	p := &Parent{in: bufio.NewReader(os.Stdin), messages: make(chan *Message)}
	if p.Send(&Message{Kind: kindReady}) != nil {
		os.Exit(1)
	}
	go p.read()
	if err := work(p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A Parent is the process that this one works for.
type Parent struct {
	in       *bufio.Reader
	messages chan *Message
	outlive  atomic.Bool
}

func (p *Parent) read() {
	for {
		m, err := readMessage(p.in)
		if err != nil {
			if p.outlive.Load() {
				close(p.messages)
				return
			}
			// The parent exited or no longer needs this process. Only an exit can
			// stop work during a step.
			os.Exit(0)
		}
		p.messages <- m
	}
}

// Receive returns the next message, or nil if the parent exited, see
// [Parent.Outlive].
func (p *Parent) Receive() *Message { return <-p.messages }

// Outlive lets this process continue after the parent exited. Call it before
// Receive.
func (p *Parent) Outlive() { p.outlive.Store(true) }

// Send sends a message. It returns ErrTooLong if the message is too long.
func (p *Parent) Send(m *Message) error { return m.write(os.Stdout) }

// headroom is the memory, in bytes, that a child process may use in addition to
// the memory for its work: the Go runtime, tables, copies of messages.
const headroom = 512 << 20

// Confine limits this process for work that needs up to memory bytes. Afterwards
// the process can open no file.
func (p *Parent) Confine(memory int64) error {
	if err := confine(uint64(memory + headroom)); err != nil {
		return fmt.Errorf("setting process limits: %w", err)
	}
	return nil
}
