// Package cdpendpoint is the endpoint for CDP clients such as Playwright: its listener, the file with its
// URL, and the command that prints the URL.
package cdpendpoint

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/policy"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// An Endpoint serves CDP clients. A nil *Endpoint has no clients.
type Endpoint struct {
	relay  *relay.Server
	file   *owneronly.File // nil unless it listens
	served sync.WaitGroup
}

// New returns an endpoint that does not listen. It calls changed, which may be nil, after its clients
// have changed.
func New(
	s *cli.Settings, guard *policy.Guard, browser executor.CDPBrowser, changed func(), log *slog.Logger, record audit.Recorder,
) (*Endpoint, error) {
	maxClients := relay.DefaultMaxClients
	if s.CDPClients == cli.CDPSingle {
		maxClients = 1
	}
	server, err := relay.New(&relay.Options{
		Browser:    browser,
		Policy:     guard.Network(),
		UploadsDir: guard.Policy().Config().UploadsDir,
		MaxClients: maxClients,
		Audit:      record,
		OnClients:  changed,
		Logger:     log,
	})
	if err != nil {
		return nil, err
	}
	return &Endpoint{relay: server}, nil
}

// Listen serves the address of --cdp-listen until close, and writes the URL to a file in the data
// directory.
func (e *Endpoint) Listen(s *cli.Settings, rules *policy.Policy, log *slog.Logger) error {
	l, err := net.Listen("tcp", s.CDPListen)
	if err != nil {
		if opErr, ok := errors.AsType[*net.OpError](err); ok {
			err = opErr.Err
		}
		return executor.Errorf(executor.ErrLaunchFailed, "Use port 0 for a free port, or stop the program that uses it.",
			"%s: cannot listen on %s: %w", s.NameOf("cdp-listen"), s.CDPListen, err)
	}
	address := l.Addr().(*net.TCPAddr)
	rules.AddOwnPort(address.Port)
	if e.file, err = writeFile(s.Data, address.Port, "http://"+address.String()+e.relay.Path()); err != nil {
		l.Close()
		return err
	}
	e.served.Go(func() {
		if err := e.relay.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
			log.Error("serving CDP clients failed", "error", err)
		}
	})
	return nil
}

// ServeDevTools serves the requests of a CDP client on a route of another server.
func (e *Endpoint) ServeDevTools(w http.ResponseWriter, r *http.Request) {
	e.relay.ServeDevTools(w, r, "")
}

// Clients returns the connected clients.
func (e *Endpoint) Clients() (all []executor.CDPClient) {
	if e == nil {
		return nil
	}
	for _, c := range e.relay.Clients() {
		all = append(all, executor.CDPClient{Name: c.Name, Since: c.Since})
	}
	return all
}

// Close stops listening, disconnects all clients, and removes the file.
func (e *Endpoint) Close() error {
	if e == nil {
		return nil
	}
	e.file.Remove()
	err := e.relay.Close()
	e.served.Wait()
	return err
}
