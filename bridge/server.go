package bridge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// AnyPort is the value of Options.Port for a port that the system selects.
const AnyPort = -1

// Options are the options of [New].
type Options struct {
	// DataDir is the data directory, for handshake files and pairings. If it does not exist, it is
	// created with mode 0700. It is rejected if other users can write to it.
	DataDir string
	// ExtensionID is the id of the extension. No other extension can connect, except for StoreID.
	ExtensionID string
	// StoreID is the id of the same extension in a store. It may be empty.
	StoreID string
	// Port is the port to listen on. 0 means the first free port of 38017 to 38032, or any port if
	// all of them are in use. AnyPort means any port.
	Port int
	// Name is the name of the program for the user. The default is chrome-mcp.
	Name string
	// Version is the version of the program.
	Version string
	// Installation, if not empty, is the id of the only installation of the extension that can
	// connect. The server is then restricted to the tabs that the user gives to it there, and those
	// that it opens. Other shared tabs do not exist for it. Only an extension that finds the server
	// by its handshake file knows that, so Port must be AnyPort.
	Installation string
	// Policy returns the policy that is sent to the extension. It is called several times a second
	// while an extension is connected. nil allows nothing.
	Policy func() Policy
	// Logger logs rejected connections, and never a secret. nil discards.
	Logger *slog.Logger
}

// A Server accepts connections of the extension. Its methods are safe for concurrent use.
type Server struct {
	opts   Options // constant except Name, which mu guards until the server is published
	log    *onceLogger
	ctx    context.Context // of all connections; done when Close is called
	cancel context.CancelFunc
	slots  *slots // of connections in handshake
	wg     sync.WaitGroup

	changed notify.Broadcast // of conns

	policyMu sync.Mutex // held while a policy is sent

	mu          sync.Mutex // guards the fields below
	port        int        // 0 before Start
	http        *http.Server
	dataDir     *dataDirectory    // nil before Start
	published   handshakeFile     // none before Start, and after its file was deleted
	conns       map[string]*Conn  // by the id of the installation
	instanceIDs map[string]string // by installation and browser run
	sequence    int64             // of the last connection, so that an older one never replaces a newer one
	displaced   *Displacement
	mismatch    error // returned by Mismatch
	failed      error // of Start
	closed      bool
}

// A Displacement reports that an installation of the extension replaced its own connection.
type Displacement struct {
	Installation string
	Time         time.Time
	Count        int // total number of displacements
}

// maxPendingHandshakes is the maximum number of concurrent handshakes. Each browser has one
// extension, so more connections come from other programs.
const maxPendingHandshakes = 16

// extensionIDs returns the ids of the extensions that may connect.
func (o *Options) extensionIDs() []string {
	if o.StoreID == "" {
		return []string{o.ExtensionID}
	}
	return []string{o.ExtensionID, o.StoreID}
}

// New returns a Server that does not listen yet. It returns ErrBadArgs for invalid options.
func New(options *Options) (*Server, error) {
	opts := *cmp.Or(options, new(Options))
	if opts.ExtensionID == "" {
		return nil, errs.Errorf(errs.ErrBadArgs, "", "the bridge needs the id of its extension")
	}
	if opts.Port < AnyPort || opts.Port > 65535 {
		return nil, errs.Errorf(errs.ErrBadArgs, "", "%d is not a port", opts.Port)
	}
	if opts.Installation != "" && opts.Port != AnyPort {
		return nil, errs.Errorf(errs.ErrBadArgs, "Use AnyPort.",
			"a paired extension could find a server of given tabs at port %d", opts.Port)
	}
	if opts.Name == "" {
		opts.Name = "chrome-mcp"
	}
	s := &Server{
		opts:        opts,
		log:         newOnceLogger(opts.Logger),
		slots:       &slots{max: maxPendingHandshakes},
		conns:       map[string]*Conn{},
		instanceIDs: map[string]string{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start listens on a loopback port and writes the handshake file. If it fails, Err returns the same
// error. The Server must be closed in either case.
func (s *Server) Start() error { return s.StartAs("") }

// StartAs is like Start, but name, if it is not empty, replaces Options.Name. It is for a program that
// learns its name after New.
func (s *Server) StartAs(name string) error {
	err := s.start(name)
	if err != nil {
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
	}
	return err
}

func (s *Server) start(name string) error {
	listener, err := listen(s.opts.Port)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: wire.HelloTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	server.SetKeepAlivesEnabled(false) // each connection has one request
	if err := s.publish(listener.Addr().(*net.TCPAddr).Port, server, name); err != nil {
		listener.Close()
		return err
	}
	s.wg.Go(func() { server.Serve(&boundedListener{Listener: listener, slots: &slots{max: maxOpen}}) })
	return nil
}

// Publish writes the handshake file for a caller that serves [Server.Handler] on a loopback port.
// Start does both.
func (s *Server) Publish(port int) error { return s.publish(port, nil, "") }

// maxName is the maximum length of a name, in characters.
const maxName = 60

func (s *Server) publish(port int, server *http.Server, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.dataDir != nil {
		return errs.Errorf(errs.ErrInternal, "", "the bridge was already started or closed")
	}
	opts := s.opts
	opts.Name = cmp.Or(name, opts.Name)
	if r := []rune(opts.Name); len(r) > maxName {
		opts.Name = string(r[:maxName])
	}
	dir, err := openDataDir(s.opts.DataDir)
	if err != nil {
		return err
	}
	file, err := dir.publish(port, opts)
	if err != nil {
		return err
	}
	s.opts, s.dataDir, s.port, s.published, s.http = opts, dir, port, file, server
	servers := dir.recordPaths() // before Start returns, so that no later server is missed
	s.wg.Go(func() { s.watch(servers) })
	return nil
}

// Port returns the port that the server listens on, or 0 before Start.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}

// Err returns why no extension can connect: Start failed, the user stopped the server, or it is
// closed. Otherwise it returns nil.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errs.Errorf(errs.ErrNoBackend, "", "the server for the extension is closed")
	case s.failed != nil:
		return s.failed
	case s.dataDir != nil && s.published.File == nil:
		return errs.Errorf(errs.ErrNoBackend, hintStopped,
			"disconnected by chrome-mcp stop or by removal of the handshake file")
	}
	return nil
}

// Mismatch returns the error of calls while no extension is connected, if the last program that tried
// to connect as the extension reported another protocol version. Otherwise it returns nil.
func (s *Server) Mismatch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mismatch
}

// Connections returns the open connections, oldest first.
func (s *Server) Connections() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Values(s.conns))
	slices.SortFunc(list, func(a, b *Conn) int { return int(a.sequence - b.sequence) })
	return list
}

// Changed returns a channel that is closed at the next change of Connections. To miss no change,
// call it before Connections.
func (s *Server) Changed() <-chan struct{} { return s.changed.Changed() }

// Displaced returns the last displacement, or nil if there was none.
func (s *Server) Displaced() *Displacement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.displaced == nil {
		return nil
	}
	d := *s.displaced
	return &d
}

// PolicyChanged sends the policy of Options.Policy to each connected extension again. Without it,
// extensions receive a changed policy within a second.
func (s *Server) PolicyChanged() { s.sendPolicy(func(*Conn, wire.Policy) bool { return true }) }

// sendPolicy sends the current policy to the connected extensions for which due returns true.
func (s *Server) sendPolicy(due func(*Conn, wire.Policy) bool) {
	conns := s.Connections()
	if len(conns) == 0 {
		return
	}
	s.policyMu.Lock() // so that no older policy follows a newer one
	defer s.policyMu.Unlock()
	policy := s.policy()
	for _, c := range conns {
		if due(c, policy) {
			c.policy = policy
			c.send(&wire.PolicyChange{Policy: policy})
		}
	}
}

// Rotate closes all connections and writes a new handshake file with a new token.
func (s *Server) Rotate() error {
	s.mu.Lock()
	if s.closed || s.dataDir == nil {
		s.mu.Unlock()
		return errs.Errorf(errs.ErrInternal, "", "the bridge is not started")
	}
	s.published.Remove()
	file, err := s.dataDir.publish(s.port, s.opts)
	s.published = file // none if err is set; then no extension can connect
	s.mu.Unlock()
	s.closeAll(errors.New("token rotated"), closeGoingAway)
	return err
}

// Close closes all connections, removes the handshake file and stops listening.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.published.Remove()
	s.published = handshakeFile{}
	s.dataDir.removePairing()
	server := s.http
	s.mu.Unlock()

	var err error
	if first {
		s.closeAll(errors.New("the server closed"), closeGoingAway)
		s.cancel()
		if server != nil {
			err = server.Close()
		}
	}
	s.wg.Wait()
	return err
}

// closeAll closes all connections.
func (s *Server) closeAll(why error, code int) {
	var wg sync.WaitGroup
	for _, c := range s.Connections() {
		wg.Go(func() { c.end(why, code, why.Error()) })
	}
	wg.Wait()
}

// startWork registers a goroutine that Close waits for, until endWork. It returns false if the
// server is closed.
func (s *Server) startWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

func (s *Server) endWork() { s.wg.Done() }

// register makes c the connection of its installation, and closes the connection that it replaces.
// It rejects a connection that was opened before that one.
func (s *Server) register(c *Conn) bool {
	s.mu.Lock()
	old := s.conns[c.installation]
	if s.closed || old != nil && old.sequence > c.sequence {
		s.mu.Unlock()
		return false
	}
	s.conns[c.installation] = c
	s.mismatch = nil
	if old != nil {
		count := 1
		if s.displaced != nil {
			count += s.displaced.Count
		}
		s.displaced = &Displacement{c.installation, time.Now(), count}
	}
	s.changed.Notify()
	s.mu.Unlock()
	if old != nil {
		s.log.Warn("extension reconnected; closing its earlier connection", "installation", c.installation)
		// s.wg may grow because it includes the caller.
		s.wg.Go(func() { old.end(errors.New("the same browser connected again"), wire.CloseDisplaced, "displaced") })
	}
	return true
}

// drop removes c if it is still the connection of its installation.
func (s *Server) drop(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.installation] == c {
		delete(s.conns, c.installation)
		s.changed.Notify()
	}
}

// nextSequence returns the number of a new connection.
func (s *Server) nextSequence() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequence++
	return s.sequence
}

// instanceIDFor returns a short id for an installation in one run of its browser. A restart of the
// extension's service worker does not change it. A restart of the browser does, because it changes
// the ids of the tabs.
func (s *Server) instanceIDFor(installation, run string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := installation + "/" + run
	if s.instanceIDs[key] == "" {
		// Six random characters: it is part of the tab ids that a model reads.
		s.instanceIDs[key] = strings.ToLower(wire.NewID()[20:])
	}
	return s.instanceIDs[key]
}
