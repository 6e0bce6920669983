package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// listenFlags are the flags of serve for clients over HTTP.
type listenFlags struct {
	address, tokenFile, cert, key, publicURL string
	behindProxy                              bool
}

// listenFlagNames are the flags that need --listen.
var listenFlagNames = []string{"token-file", "tls-cert", "tls-key", "behind-proxy", "public-url"}

func (l *listenFlags) define(fs *pflag.FlagSet) {
	fs.StringVar(&l.address, "listen", "", "with serve: also serve HTTP on `ADDRESS`, such as 127.0.0.1:8931; port 0 picks a free port")
	fs.StringVar(&l.tokenFile, "token-file", "", "with --listen: read the tokens of the clients from a JSON `FILE` (default: one token, new for each run)")
	fs.StringVar(&l.cert, "tls-cert", "", "with --listen: serve HTTPS with the certificate in a PEM `FILE`; also needs --tls-key")
	fs.StringVar(&l.key, "tls-key", "", "with --listen: the key of --tls-cert, in a PEM `FILE`")
	fs.BoolVar(&l.behindProxy, "behind-proxy", false, "with --listen: allow addresses other than loopback without TLS, which a reverse proxy ends")
	fs.StringVar(&l.publicURL, "public-url", "", "with --listen: the `URL` that clients use, such as https://chrome.example.com")
}

// check checks combinations of the flags.
func (l *listenFlags) check(flags *pflag.FlagSet) error {
	for _, name := range listenFlagNames {
		if flags.Changed(name) && l.address == "" {
			return usagef("Set --listen 127.0.0.1:8931.", "--%s needs --listen", name)
		}
	}
	if (l.cert == "") != (l.key == "") {
		return usagef("", "--tls-cert and --tls-key must be set together")
	}
	return nil
}

// options returns the options of the listener.
func (l *listenFlags) options(log *slog.Logger) (server.HTTPOptions, error) {
	opts := server.HTTPOptions{Address: l.address, CertFile: l.cert, KeyFile: l.key, BehindProxy: l.behindProxy, Metrics: new(server.Metrics), Logger: log}
	if l.publicURL == "" {
		return opts, nil
	}
	u, err := url.Parse(l.publicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return opts, usagef("Write it as https://chrome.example.com.", "--public-url: %q is not an http or https URL without a path", l.publicURL)
	}
	opts.PublicURL = u
	return opts, nil
}

// An httpFront is the HTTP listener of serve, with what the sessions share.
type httpFront struct {
	*server.Front
	metrics  *server.Metrics
	hasToken bool     // in files of the data directory
	hosts    []string // hosts of the server that are not loopback; pages must not reach them
}

// credentials returns the principals of the token file. Without one, it returns nil and the
// principal whose token the server creates.
func (l *listenFlags) credentials(s *settings, flags *pflag.FlagSet) ([]server.Credential, *server.Principal, error) {
	if l.tokenFile == "" {
		values, err := s.principalFlags(flags)
		if err != nil {
			return nil, nil, err
		}
		return nil, &server.Principal{Name: "http", Settings: values}, nil
	}
	entries, err := server.ReadTokenFile(l.tokenFile)
	if err != nil {
		return nil, nil, s.flagValueError("token-file", err)
	}
	var all []server.Credential
	for _, e := range entries {
		values, err := s.principalSettings(e.Settings, e.Browsers)
		if err != nil {
			if usage, ok := errors.AsType[*usageError](err); ok {
				err = usagef(usage.hint, "--token-file: token %q: %w", e.Name, usage.err)
			}
			return nil, nil, err
		}
		all = append(all, server.Credential{Digest: e.Digest, Principal: &server.Principal{Name: e.Name, Settings: values, MaxSessions: e.MaxSessions}})
	}
	return all, nil, nil
}

// open listens, and creates the token of p if p is not nil. The caller listens on the socket of the
// data directory.
func (l *listenFlags) open(s *settings, all []server.Credential, p *server.Principal, opts server.HTTPOptions) (*httpFront, error) {
	front, err := server.ListenHTTP(opts)
	if err != nil {
		if errors.Is(err, executor.ErrBadArgs) {
			err = s.flagValueError("listen", err)
		}
		return nil, err
	}
	front.AddTokens(all...)
	err = front.PublishPort(s.data)
	if err == nil && p != nil {
		err = front.NewToken(s.data, p)
	}
	if err != nil {
		front.Close()
		return nil, err
	}
	return &httpFront{front, opts.Metrics, p != nil, ownHosts(front.URL(), opts.PublicURL)}, nil
}

// ownHosts returns the hosts other than loopback by which clients reach the server: that of its
// public URL, which may be nil, and that of its listener or, if it listens on all addresses, those of
// the machine.
func ownHosts(listener string, public *url.URL) (hosts []string) {
	add := func(host string) {
		ip := net.ParseIP(host)
		if host == "" || host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()) {
			return
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		hosts = append(hosts, host)
	}
	if public != nil {
		add(public.Hostname())
	}
	u, err := url.Parse(listener)
	if err != nil {
		return hosts
	}
	add(u.Hostname())
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return hosts
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok {
				add(n.IP.String())
			}
		}
	}
	return hosts
}

// print prints where the server listens, and where the token is, never the token.
func (f *httpFront) print(w io.Writer, data string) {
	switch {
	case f == nil:
	case f.hasToken:
		fmt.Fprintf(w, "It serves HTTP on %s; the token is in %s, and as a header for curl in %s.\n", f.URL(), server.TokenPath(data), server.TokenHeaderPath(data))
	default:
		fmt.Fprintf(w, "It serves HTTP on %s.\n", f.URL())
	}
}

// front returns the listener for the options of a server, or nil.
func (f *httpFront) front() *server.Front {
	if f == nil {
		return nil
	}
	return f.Front
}

// record returns the recorder for the calls of a session: it counts them, and passes them on to the
// audit log, which may be nil.
func (f *httpFront) record(log audit.Recorder) audit.Recorder {
	if f == nil {
		return log
	}
	return f.metrics.Recorder(log)
}

// block adds the hosts of the server to the blocked sites of a session.
func (f *httpFront) block(s *settings) {
	if f != nil {
		s.blockDomain = append(s.blockDomain, f.hosts...)
	}
}
