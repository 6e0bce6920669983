// Package fileserver serves the files of a directory to browsers on this machine, at an origin that
// other users of the machine and pages cannot guess.
//
// The origin is http://NAME.localhost:PORT, where NAME is random. Browsers resolve it to a loopback
// address without DNS. Requests for another host are rejected. A random name, unlike a random path,
// keeps links such as /style.css intact, and separates the cookies of the origin from those of other
// servers on localhost.
package fileserver

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

const (
	// nameLength is the number of random characters in the name of the host, of 5 bits each.
	nameLength = 20
	// maxConns limits the open connections on each address. Browsers open six for a host.
	maxConns = 256
	// headerTimeout bounds the time that a client has to send the header of a request.
	headerTimeout = 10 * time.Second
	// portAttempts is the number of ports that New tries, if other processes use them.
	portAttempts = 20
)

// A Server serves the files of one directory. Its methods are safe for concurrent use.
type Server struct {
	host string // with port
	root *os.Root
	http *http.Server
}

// New serves the files of directory dir until Close is called. It answers GET and HEAD. Symbolic
// links work if they stay inside the directory. Hidden files and directories, whose names begin with
// a dot, files that are not regular files, and the files and directories private do not exist for
// clients.
func New(dir string, log *slog.Logger, private ...string) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	listeners, err := listen()
	if err != nil {
		root.Close()
		return nil, err
	}
	port := listeners[0].Addr().(*net.TCPAddr).Port
	s := &Server{
		host: net.JoinHostPort(strings.ToLower(rand.Text()[:nameLength])+".localhost", strconv.Itoa(port)),
		root: root,
	}
	s.http = &http.Server{
		Handler:           s.handler(http.FileServerFS(visibleFiles{root, private})),
		ReadHeaderTimeout: headerTimeout,
		ConnContext:       connlimit.WithConn,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	for _, l := range listeners {
		go s.http.Serve(connlimit.New(l, maxConns))
	}
	return s, nil
}

// listen listens on a free port of both loopback addresses, because browsers connect to either for a
// host on localhost. Another user's process on one of them could otherwise pose as the server. A
// machine without IPv6 has only one.
func listen() ([]net.Listener, error) {
	var err error
	for range portAttempts {
		var v4, v6 net.Listener
		port := "0"
		if v6, _ = net.Listen("tcp6", "[::1]:0"); v6 != nil {
			port = strconv.Itoa(v6.Addr().(*net.TCPAddr).Port)
		}
		v4, err = net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
		switch {
		case err == nil && v6 == nil:
			return []net.Listener{v4}, nil
		case err == nil:
			return []net.Listener{v4, v6}, nil
		case v6 == nil:
			return nil, err
		}
		v6.Close()
	}
	return nil, err
}

// URL returns the URL of the directory. It ends with a slash.
func (s *Server) URL() string { return s.Origin() + "/" }

// Origin returns the origin of the files.
func (s *Server) Origin() string { return "http://" + s.host }

// Close stops the server and its connections.
func (s *Server) Close() error { return errors.Join(s.http.Close(), s.root.Close()) }

// handler passes on the requests that the server answers. The headers prevent other sites from
// embedding the files, and from receiving the name of the host.
func (s *Server) handler(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(strings.ToLower(r.Host)), []byte(s.host)) != 1 {
			http.Error(w, "wrong Host header", http.StatusForbidden)
			return
		}
		connlimit.SetOwner(r.Context(), s, 0)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the files are read-only", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "frame-ancestors 'self'")
		h.Set("Cache-Control", "no-store") // a file may change within the resolution of its time
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		files.ServeHTTP(w, r)
	})
}

// visibleFiles are the files of a directory that clients may read.
type visibleFiles struct {
	root    *os.Root
	private []string
}

// Open implements fs.FS.
func (v visibleFiles) Open(name string) (fs.File, error) {
	notFound := &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	local, err := filepath.Localize(name)
	if err != nil || name != "." && slices.ContainsFunc(strings.Split(name, "/"), hidden) {
		return nil, notFound
	}
	// A pipe is not opened, because that waits for a writer.
	info, err := v.root.Stat(local)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return nil, notFound
	}
	if v.isPrivate(filepath.Join(v.root.Name(), local)) {
		return nil, notFound
	}
	f, err := v.root.Open(local)
	if err != nil {
		return nil, notFound
	}
	if info, err = f.Stat(); err != nil || !info.IsDir() && !info.Mode().IsRegular() { // replaced in the meantime
		f.Close()
		return nil, notFound
	}
	if info.IsDir() {
		return directory{f}, nil
	}
	return f, nil
}

// isPrivate reports whether path, with its symbolic links resolved, is one of the private files and
// directories, or inside one.
func (v visibleFiles) isPrivate(path string) bool {
	return slices.ContainsFunc(v.private, func(private string) bool { return Inside(path, private) })
}

// Inside reports whether path is the directory dir or inside it, with symbolic links resolved.
// Neither needs to exist.
func Inside(path, dir string) bool {
	_, inside := namesBelow(realPath(path), realPath(dir))
	return inside
}

// namesBelow returns the names of the directories that lead from dir to path, and that of path, and
// reports whether path is dir or inside it. Both paths have their symbolic links resolved. They can
// differ in more than that, because some file systems ignore case, so that files are compared.
func namesBelow(path, dir string) (names []string, inside bool) {
	want, err := os.Stat(dir)
	for {
		if path == dir {
			return names, true
		}
		if info, e := os.Stat(path); err == nil && e == nil && os.SameFile(info, want) {
			return names, true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return nil, false
		}
		names = append([]string{filepath.Base(path)}, names...)
		path = parent
	}
}

// hidden reports whether a file or directory with this name is hidden. Windows has a second name for
// many files, such as GIT~1 for .git.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || runtime.GOOS == "windows" && strings.Contains(name, "~")
}

// A directory is an open directory without its hidden entries.
type directory struct{ *os.File }

// ReadDir implements fs.ReadDirFile.
func (d directory) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := d.File.ReadDir(n)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return hidden(e.Name()) }), err
}

// Readdir implements http.File.
func (d directory) Readdir(n int) ([]fs.FileInfo, error) {
	infos, err := d.File.Readdir(n)
	return slices.DeleteFunc(infos, func(i fs.FileInfo) bool { return hidden(i.Name()) }), err
}

// CheckDir returns an error if the files of dir cannot be served. Each of private, which need not
// exist, must neither contain dir nor be visible in it.
func CheckDir(dir string, private ...string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	root.Close()
	dir = realPath(dir)
	for _, p := range private {
		if Inside(dir, p) {
			return fmt.Errorf("%s is inside %s", dir, p)
		}
		if names, visible := namesBelow(realPath(p), dir); visible && !slices.ContainsFunc(names, hidden) {
			return fmt.Errorf("%s contains %s", dir, p)
		}
	}
	return nil
}

// realPath resolves the symbolic links in a path, whose last elements need not exist.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}
