package bridge

import (
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

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// AnyPort asks for a port that the system chooses.
const AnyPort = -1

// Options are what a [Server] is made of.
type Options struct {
	// DataDir is the folder for handshake files and pairings. It is made
	// with mode 0700 where it is missing, and refused when others may write
	// to it.
	DataDir string
	// ExtensionID is the one extension that is spoken to.
	ExtensionID string
	// Port to listen on. 0 is the first free one of 38017 to 38032, or any
	// when all are taken; AnyPort is any.
	Port int
	// Name tells people which program this is; by default chrome-mcp.
	Name string
	// Version of the program.
	Version string
	// Policy returns the rules that are sent to the extension. Nil, and its
	// zero value, allow nothing.
	Policy func() Policy
	// Logger is told what was refused, never a secret. Nil means silence.
	Logger *slog.Logger
}

// A Server is the bridge's end of the connections to the extension. Its
// methods are safe for concurrent use.
type Server struct {
	opts   Options // all but Name never change; that one is guarded by mu until the server is published
	log    *onceLogger
	ctx    context.Context // of all connections; done when Close is called
	cancel context.CancelFunc
	slots  *slots // of connections in handshake
	wg     sync.WaitGroup

	mu          sync.Mutex // guards what follows
	port        int        // 0 before Start
	http        *http.Server
	folder      *dataDirectory    // nil before Start
	published   *handshakeFile    // nil before Start, and after its file was deleted
	instances   map[string]*Conn  // by id
	instanceIDs map[string]string // of an installation and run, for as long as this server lives
	dialed      int64             // counts connections, so that an older one never replaces a newer one
	changed     chan struct{}
	displaced   *Displacement
	failed      error // of Start
	closed      bool
}

// A Displacement tells that an installation of the extension replaced its own
// connection.
type Displacement struct {
	Instance string
	Time     time.Time
	Count    int // how often this happened to the server so far
}

// maxPendingHandshakes is how many connections may be in their handshake at one time.
// A browser has one extension; the rest is somebody trying.
const maxPendingHandshakes = 16

// New returns a server that does not listen yet.
func New(opts Options) (*Server, error) {
	if opts.ExtensionID == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "the bridge needs the id of its extension")
	}
	if opts.Port < AnyPort || opts.Port > 65535 {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "port %d is not a port", opts.Port)
	}
	if opts.Name == "" {
		opts.Name = "chrome-mcp"
	}
	s := &Server{
		opts:        opts,
		log:         newComplaints(opts.Logger),
		slots:       &slots{max: maxPendingHandshakes},
		instances:   map[string]*Conn{},
		instanceIDs: map[string]string{},
		changed:     make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// SetName replaces Options.Name, which the extension shows, before Start.
func (s *Server) SetName(name string) {
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder == nil && name != "" {
		s.opts.Name = name
	}
}

// maxName is how many characters of a name are told.
const maxName = 60

// Start listens on a loopback port and publishes it. A server that could not
// be started can be asked for the reason by Err, and has to be closed too.
func (s *Server) Start() error {
	err := s.start()
	if err != nil {
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
	}
	return err
}

func (s *Server) start() error {
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
	server.SetKeepAlivesEnabled(false) // nobody has a second request
	if err := s.publish(listener.Addr().(*net.TCPAddr).Port, server); err != nil {
		listener.Close()
		return err
	}
	s.wg.Go(func() { server.Serve(&boundedListener{Listener: listener, slots: &slots{max: maxOpen}}) })
	return nil
}

// Publish writes the handshake file for a caller that serves [Server.Handler]
// itself, on a loopback port. Start does both.
func (s *Server) Publish(port int) error { return s.publish(port, nil) }

func (s *Server) publish(port int, server *http.Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.folder != nil {
		return executor.Errorf(executor.ErrInternal, "", "the bridge was started or closed before")
	}
	dir, err := openDataDir(s.opts.DataDir)
	if err != nil {
		return err
	}
	file, err := dir.publish(port, s.opts)
	if err != nil {
		return err
	}
	s.folder, s.port, s.published, s.http = dir, port, file, server
	s.wg.Go(s.watch)
	return nil
}

// Port returns the port that the server listens on, 0 before Start.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}

// Err returns why no extension can connect, in words for the user: Start
// failed, the server was told to stop, or it is closed. It is nil otherwise.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return executor.Errorf(executor.ErrNoBackend, "", "the server for the extension is closed")
	case s.failed != nil:
		return s.failed
	case s.folder != nil && s.published == nil:
		return executor.Errorf(executor.ErrNoBackend, hintStopped,
			"disconnected by chrome-mcp stop or by removal of the handshake file")
	}
	return nil
}

// Instances returns the connections that there are, oldest first.
func (s *Server) Instances() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Values(s.instances))
	slices.SortFunc(list, func(a, b *Conn) int { return int(a.sequence - b.sequence) })
	return list
}

// Changed returns a channel that is closed when Instances next changes. Get it
// before looking at Instances, so that no change is missed.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Displaced returns when an installation last replaced its own connection, nil
// when none has.
func (s *Server) Displaced() *Displacement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.displaced == nil {
		return nil
	}
	d := *s.displaced
	return &d
}

// PolicyChanged sends the rules of Options.Policy to every extension again.
func (s *Server) PolicyChanged() {
	policy := s.policy()
	for _, i := range s.Instances() {
		i.send(&wire.PolicyChange{Policy: policy})
	}
}

// Rotate ends every session and starts afresh, with a new token in a new
// handshake file.
func (s *Server) Rotate() error {
	s.mu.Lock()
	if s.closed || s.folder == nil {
		s.mu.Unlock()
		return executor.Errorf(executor.ErrInternal, "", "the bridge is not started")
	}
	s.published.remove()
	file, err := s.folder.publish(s.port, s.opts)
	s.published = file // nil with err, and then nobody gets in
	s.mu.Unlock()
	s.closeAll(errors.New("token rotated"), closeGoingAway)
	return err
}

// Close ends every session, removes the handshake file and stops listening.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.published.remove()
	s.published = nil
	s.folder.removePairing()
	server := s.http
	s.mu.Unlock()

	var err error
	if first {
		s.closeAll(errors.New("the server ended"), closeGoingAway)
		s.cancel()
		if server != nil {
			err = server.Close()
		}
	}
	s.wg.Wait()
	return err
}

// closeAll ends every session there is.
func (s *Server) closeAll(why error, code int) {
	var wg sync.WaitGroup
	for _, i := range s.Instances() {
		wg.Go(func() { i.end(why, code, why.Error()) })
	}
	wg.Wait()
}

// startWork registers a goroutine for Close to wait for, unless the server is
// closed. leave unregisters it.
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

// change tells those who wait for Changed. s.mu is held.
func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// register makes i the connection of its installation, and ends the one it
// replaces. It refuses a connection that was dialed before that one.
func (s *Server) register(i *Conn) bool {
	s.mu.Lock()
	old := s.instances[i.id]
	if s.closed || old != nil && old.sequence > i.sequence {
		s.mu.Unlock()
		return false
	}
	s.instances[i.id] = i
	if old != nil {
		count := 1
		if s.displaced != nil {
			count += s.displaced.Count
		}
		s.displaced = &Displacement{i.id, time.Now(), count}
	}
	s.change()
	s.mu.Unlock()
	if old != nil {
		s.log.Warn("extension reconnected; closing its earlier connection", "instance", i.id)
		// The caller counts in s.wg, so that it may grow.
		s.wg.Go(func() { old.end(errors.New("the same browser connected anew"), wire.CloseDisplaced, "displaced") })
	}
	return true
}

// drop forgets i when it is still the connection of its installation.
func (s *Server) drop(i *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instances[i.id] == i {
		delete(s.instances, i.id)
		s.change()
	}
}

// instanceIDFor returns the short name for an installation in one run of its
// browser. It is the same when the worker of the extension starts again, and
// another one when the browser does, which gives tabs new numbers.
func (s *Server) instanceIDFor(instance, run string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := instance + "/" + run
	if s.instanceIDs[key] == "" {
		s.instanceIDs[key] = newInstanceID()
	}
	return s.instanceIDs[key]
}

// newInstanceID returns six characters: enough for the browsers that one server
// meets, and short in every tab id that a model reads.
func newInstanceID() string { return strings.ToLower(wire.NewID()[20:]) }
