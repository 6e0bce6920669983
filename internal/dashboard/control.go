package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// controlTimeout bounds one request to the Unix socket of a process.
const controlTimeout = 5 * time.Second

// A Process is a running process that has a dashboard.
type Process struct {
	PID     int       `json:"pid"`
	Kind    string    `json:"kind"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Clients []string  `json:"clients"` // of all sessions

	socket string
}

// A failure is the error response of a process.
type failure struct {
	Code    executor.Code `json:"code"`
	Message string        `json:"message"`
	Hint    string        `json:"hint"`
}

// A Login is the result of [Process.Login].
type Login struct {
	File string `json:"file"` // path of a page that opens the dashboard, once and within 30 s
}

// controlHandler returns the handler of the Unix socket.
func (s *Server) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /process", func(w http.ResponseWriter, _ *http.Request) {
		p := Process{PID: os.Getpid(), Kind: s.opts.Kind, Version: s.opts.Version, Started: s.started, Clients: []string{}}
		for _, workspace := range s.opts.Board.all() {
			st, _ := workspace.state()
			for _, client := range st.Clients {
				if !slices.Contains(p.Clients, client) {
					p.Clients = append(p.Clients, client)
				}
			}
		}
		json.NewEncoder(w).Encode(p)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, _ *http.Request) {
		l, err := s.newLogin()
		if err != nil {
			f := failure{Code: executor.CodeOf(err), Message: err.Error()}
			if e, ok := errors.AsType[*executor.Error](err); ok {
				f.Message, f.Hint = e.Message(), e.Hint
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			json.NewEncoder(w).Encode(f)
			return
		}
		json.NewEncoder(w).Encode(l)
	})
	return mux
}

// Running returns the processes of a data directory that have a dashboard, the newest first.
func Running(ctx context.Context, dataDir string) (all []Process) {
	files, _ := os.ReadDir(dir(dataDir))
	for _, f := range files {
		if _, err := strconv.Atoi(f.Name()); err != nil {
			continue
		}
		p := Process{socket: filepath.Join(dir(dataDir), f.Name())}
		if p.do(ctx, http.MethodGet, "/process", &p) == nil {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return b.Started.Compare(a.Started) })
	return all
}

// Login requests a page that opens the dashboard of the process.
func (p Process) Login(ctx context.Context) (l Login, err error) {
	err = p.do(ctx, http.MethodPost, "/login", &l)
	return l, err
}

// do sends a request and decodes the response into result.
func (p Process) do(ctx context.Context, method, path string, result any) error {
	info, err := os.Lstat(p.socket)
	if err == nil {
		err = owneronly.CheckOwner(info)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
	}}}
	req, err := http.NewRequestWithContext(ctx, method, "http://chrome-mcp"+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("process %s: %w", filepath.Base(p.socket), err)
	}
	defer resp.Body.Close()
	body := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20))
	if resp.StatusCode == http.StatusOK {
		return body.Decode(result)
	}
	var f failure
	if body.Decode(&f) != nil || f.Code == "" {
		return executor.Errorf(executor.ErrNoBackend, "Restart it: its version may differ.", "process %s: HTTP %d", filepath.Base(p.socket), resp.StatusCode)
	}
	return executor.Errorf(f.Code, f.Hint, "process %s: %s", filepath.Base(p.socket), f.Message)
}

// connRefused is the Windows equivalent of ECONNREFUSED (WSAECONNREFUSED).
const connRefused = syscall.Errno(10061)

// isNotListening reports whether the error of a connection to a socket shows that no process
// listens.
func isNotListening(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, connRefused)
}
