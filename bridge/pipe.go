package bridge

import (
	"context"
	"errors"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Pipe returns a Conn and the other end of its connection, for tests. The connection is in memory
// and has no handshake. Closing the Peer ends the Conn.
func Pipe() (*Conn, *Peer) {
	s, err := New(&Options{ExtensionID: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
	if err != nil {
		panic(err)
	}
	c, p := s.Pipe("test")
	p.closeServer = true
	return c, p
}

// Pipe connects an extension in memory, like the function Pipe, as the installation with the given
// id. It replaces an earlier connection of that installation.
func (s *Server) Pipe(installation string) (*Conn, *Peer) {
	a, b := newPipe()
	sequence := s.nextSequence()
	hello := &wire.Hello{
		Installation: installation, Key: wire.KeyToken, Ext: wire.Ext{ID: s.opts.ExtensionID, Version: "0.0.0", Chrome: "0.0.0.0"},
	}
	c := s.newConn(a, hello, s.instanceIDFor(installation, ""), sequence)
	c.policy = s.policy()
	p := &Peer{st: b, server: s}
	if !s.startWork() {
		c.end(errors.New("the server is closed"), closeGoingAway, "")
		return c, p
	}
	if !s.register(c) {
		c.end(errors.New("the server is closed"), closeGoingAway, "")
	}
	p.wg.Go(func() {
		defer s.endWork()
		c.run()
	})
	return c, p
}

// A Peer is the extension's end of a connection in tests. Its methods are safe for concurrent use,
// but only one goroutine may call Receive at a time.
type Peer struct {
	st          *pipeEnd
	server      *Server
	closeServer bool
	wg          sync.WaitGroup
}

// Send sends one encoded message to the server.
func (p *Peer) Send(message []byte) error { return p.st.Write(context.Background(), message) }

// Receive returns the next encoded message from the server.
func (p *Peer) Receive(ctx context.Context) ([]byte, error) { return p.st.Read(ctx) }

// Close ends the connection and waits until the server has closed its end.
func (p *Peer) Close() {
	p.st.Close(closeNormal, "")
	p.wg.Wait()
	if p.closeServer {
		p.server.Close()
	}
}

// errPipeClosed is the error of a pipe that either side has closed.
var errPipeClosed = errors.New("the pipe is closed")

// A pipeEnd is one end of a stream in memory. Messages that were sent before the close can still be
// read.
type pipeEnd struct {
	in, out chan []byte
	shared  *pipeState
}

type pipeState struct {
	once   sync.Once
	closed chan struct{}
	code   int // set before closed is
}

// newPipe returns the ends of a stream that buffers a few messages in each direction.
func newPipe() (*pipeEnd, *pipeEnd) {
	const size = 16
	a, b, shared := make(chan []byte, size), make(chan []byte, size), &pipeState{closed: make(chan struct{})}
	return &pipeEnd{a, b, shared}, &pipeEnd{b, a, shared}
}

func (p *pipeEnd) Read(ctx context.Context) ([]byte, error) {
	select {
	case data := <-p.in:
		return data, nil
	default:
	}
	select {
	case data := <-p.in:
		return data, nil
	case <-p.shared.closed:
		select {
		case data := <-p.in:
			return data, nil
		default:
			return nil, errPipeClosed
		}
	case <-ctx.Done():
		p.Close(closeGoingAway, "")
		return nil, ctx.Err()
	}
}

func (p *pipeEnd) Write(ctx context.Context, data []byte) error {
	if notify.IsClosed(p.shared.closed) {
		return errPipeClosed
	}
	select {
	case p.out <- data:
		return nil
	case <-p.shared.closed:
		return errPipeClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipeEnd) SetReadLimit(int64) {}

func (p *pipeEnd) Close(code int, reason string) {
	p.shared.once.Do(func() {
		p.shared.code = code
		close(p.shared.closed)
	})
}
