// Package dashboard serves the page on which the user watches the sessions of a process: what each
// does now, its last calls, and a live view of its tabs. The user can stop a session, answer
// questions of agents, and act in a page while it is handed over.
//
// A process has a [Server], which first listens only on a Unix socket that its user can use. There
// the command line requests a login ([Process.Login]): the Server then listens on a loopback
// address and writes a login page with a one-use code to a file that only the user can read. The
// user's browser sends the code by POST and gets a cookie. Only the cookie gives access: the URL
// does not, nor does a token of the server.
package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// maxConnections bounds the open connections of browsers.
	maxConnections = 64
	// headerTimeout is the time in which the header of a request must arrive.
	headerTimeout = 10 * time.Second
	// idleTimeout is the time after which a connection without requests is closed.
	idleTimeout = 2 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
	// maxSocketPath is the longest path of a Unix socket that all systems support, in bytes.
	maxSocketPath = 103
)

var errTooManyCodes = executor.Errorf(executor.ErrBackpressure, "Wait half a minute.", "too many logins were requested")

// Options configure a [Server].
type Options struct {
	DataDir string
	Kind    string // what the process is, for the user who selects one of several
	Version string
	Board   *Board
	Desk    *handover.Desk // nil means that no page is handed over
	Logger  *slog.Logger   // nil discards
}

// A Server serves the dashboard of a process.
type Server struct {
	opts    Options
	log     *slog.Logger
	started time.Time
	path    string // of the Unix socket
	control *http.Server
	logins  logins
	serving sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	web    *web       // nil while no code and no login is valid
	closed bool
	// handlers has the requests in progress. It grows only while closed is false.
	handlers sync.WaitGroup
}

// A web serves browsers on a loopback address.
type web struct {
	server   *http.Server
	base     string // the URL of the dashboard, which ends with a slash
	path     string // of base
	host     string // host and port
	portFile string // path of the file with the port
}

// portSuffix follows the name of a socket in the name of the file with the port of its dashboard.
const portSuffix = ".port"

// loginPrefix starts the names of the files with login pages.
const loginPrefix = "open-"

// dir returns the directory of the sockets, port files and login pages.
func dir(dataDir string) string { return filepath.Join(dataDir, "dashboard") }

// Ports returns the ports on which the dashboards of a data directory listen.
func Ports(dataDir string) (ports []int) {
	files, _ := os.ReadDir(dir(dataDir))
	for _, f := range files {
		socket, ok := strings.CutSuffix(f.Name(), portSuffix)
		if !ok {
			continue
		}
		text, err := owneronly.ReadFile(filepath.Join(dir(dataDir), f.Name()), 16)
		if err != nil {
			continue
		}
		port, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil && port > 0 && !isStale(filepath.Join(dir(dataDir), socket)) {
			ports = append(ports, port)
		}
	}
	return ports
}

// Listen listens on the Unix socket of this process in the data directory, but not yet on a port.
func Listen(opts Options) (*Server, error) {
	opts.Desk = cmp.Or(opts.Desk, new(handover.Desk))
	s := &Server{opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), started: time.Now()}
	s.logins.unused = s.stopUnused
	s.path = filepath.Join(dir(opts.DataDir), strconv.Itoa(os.Getpid()))
	if len(s.path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket %s is longer than %d bytes", s.path, maxSocketPath)
	}
	if err := owneronly.MakeDir(opts.DataDir); err != nil {
		return nil, err
	}
	if err := owneronly.MakePrivateDir(filepath.Dir(s.path)); err != nil {
		return nil, err
	}
	RemoveStale(opts.DataDir)
	l, err := net.Listen("unix", s.path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(s.path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	s.control = &http.Server{Handler: s.controlHandler(), ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	s.serving.Go(func() { s.control.Serve(l) })
	return s, nil
}

// Close ends all logins and closes the listeners. A nil *Server does nothing.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.stopWeb()
	s.mu.Unlock()
	s.logins.close() // ends the requests that stream events or a live view
	s.control.Close()
	s.serving.Wait()
	s.handlers.Wait()
}

// begin counts a request until its handler calls s.handlers.Done. It reports false after Close.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

// startWeb returns s.web, which it starts if necessary. s.mu must be held.
func (s *Server) startWeb() (*web, error) {
	if s.web != nil {
		return s.web, nil
	}
	if s.closed {
		return nil, executor.Errorf(executor.ErrNoBackend, "Start it again, or choose another process.", "the process is stopping")
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, "Allow the program to listen on 127.0.0.1.", "cannot listen on loopback: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	w := &web{host: l.Addr().String(), portFile: s.path + portSuffix}
	// Cookies belong to a host and a path, not to a port. The path is random, so the browser does
	// not send the cookie to other servers of this machine.
	w.path = "/" + newSecret()[:22] + "/"
	w.base = "http://" + w.host + w.path
	// The policies of sessions read the port from the file and deny it.
	if _, err := owneronly.WriteFile(w.portFile, fmt.Appendln(nil, port)); err != nil {
		l.Close()
		return nil, executor.Errorf(executor.ErrLaunchFailed, "Check the data directory.", "file with the port of the dashboard: %w", err)
	}
	w.server = &http.Server{
		Handler: s.handler(w), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnContext: connlimit.WithConn, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.web = w
	s.serving.Go(func() { w.server.Serve(connlimit.New(l, maxConnections)) })
	s.log.Info("dashboard opened", "port", port)
	return w, nil
}

// stopWeb stops s.web, if there is one. s.mu must be held.
func (s *Server) stopWeb() {
	if s.web == nil {
		return
	}
	s.web.server.Close()
	os.Remove(s.web.portFile)
	s.web = nil
	s.log.Info("dashboard closed")
}

// stopUnused stops s.web if no code and no login is valid.
func (s *Server) stopUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.logins.inUse() {
		s.stopWeb()
	}
}

// newLogin writes a login page.
func (s *Server) newLogin() (Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.startWeb()
	if err != nil {
		return Login{}, err
	}
	path, err := s.logins.newCode(filepath.Dir(s.path), w.base+"login")
	if err != nil {
		if !s.logins.inUse() {
			s.stopWeb()
		}
		return Login{}, err
	}
	return Login{File: path}, nil
}

// isStale reports whether the process of a socket has exited without removing it.
func isStale(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		conn.Close()
		return false
	}
	return isNotListening(err) || errors.Is(err, os.ErrNotExist)
}

// RemoveStale removes the sockets of processes that were killed, and expired files, as each process
// does when it starts. It returns the number of removed sockets.
func RemoveStale(dataDir string) (removed int) {
	files, _ := os.ReadDir(dir(dataDir))
	for _, f := range files {
		path := filepath.Join(dir(dataDir), f.Name())
		if strings.HasPrefix(f.Name(), loginPrefix) {
			if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > 2*codeTTL {
				os.Remove(path)
			}
			continue
		}
		// Only a socket has the name of a process id. A file with a port remains as long as its socket.
		if pid, err := strconv.Atoi(f.Name()); err == nil && (pid == os.Getpid() || isStale(path)) {
			if os.Remove(path) == nil {
				removed++
			}
			os.Remove(path + portSuffix)
		}
	}
	return removed
}
