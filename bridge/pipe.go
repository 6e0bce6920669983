package bridge

import (
	"context"
	"errors"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Pipe returns an Instance and the other end of its connection, in memory and
// with the handshake behind them, for tests of what stands on the bridge.
// Closing the Peer ends the Instance.
func Pipe() (*Conn, *Peer) {
	s, err := New(Options{ExtensionID: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
	if err != nil {
		panic(err)
	}
	i, p := s.Pipe("test")
	p.closeServer = true
	return i, p
}

// Pipe connects an extension in memory, as [Pipe] does, as the installation of
// that name. It replaces an earlier connection of the same one.
func (s *Server) Pipe(instance string) (*Conn, *Peer) {
	a, b := newPipe()
	s.mu.Lock()
	s.dialed++
	dial := s.dialed
	s.mu.Unlock()
	hello := &wire.Hello{Instance: instance, Key: wire.KeyToken, Ext: wire.Ext{ID: s.opts.ExtensionID, Version: "0.0.0", Chrome: "0.0.0.0"}}
	i := s.newInstance(a, hello, s.instanceIDFor(instance, ""), dial)
	p := &Peer{st: b, server: s}
	if !s.startWork() {
		i.end(errors.New("the server is closed"), closeGoingAway, "")
		return i, p
	}
	if !s.register(i) {
		i.end(errors.New("the server is closed"), closeGoingAway, "")
	}
	p.wg.Go(func() {
		defer s.endWork()
		i.run()
	})
	return i, p
}

// A Peer plays the extension in tests. Its methods are safe for concurrent
// use; one goroutine at a time may call Receive.
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

// Close ends the connection and waits until the server's end of it is gone.
func (p *Peer) Close() {
	p.st.Close(closeNormal, "")
	p.wg.Wait()
	if p.closeServer {
		p.server.Close()
	}
}

// errPipeClosed is of a pipe that either side has closed.
var errPipeClosed = errors.New("the pipe is closed")

// A pipeEnd is one end of a stream in memory. What was sent before it is
// closed can still be read.
type pipeEnd struct {
	in, out chan []byte
	shared  *pipeState
}

type pipeState struct {
	once   sync.Once
	closed chan struct{}
	code   int // set before closed is
}

// newPipe returns the ends of a stream that holds a few frames each way.
func newPipe() (*pipeEnd, *pipeEnd) {
	const room = 16
	a, b, shared := make(chan []byte, room), make(chan []byte, room), &pipeState{closed: make(chan struct{})}
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
	select {
	case <-p.shared.closed:
		return errPipeClosed
	default:
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
