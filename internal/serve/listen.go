package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// listenFlags are the flags of serve for clients over HTTP.
type listenFlags struct {
	address, tokenFile, cert, key, publicURL string
	behindProxy                              bool

	private []string // files and directories with secrets of the server and of its tokens; set by credentials
}

// listenFlagNames are the flags that need --listen.
var listenFlagNames = []string{"token-file", "tls-cert", "tls-key", "behind-proxy", "public-url"}

func (l *listenFlags) define(fs *pflag.FlagSet) {
	fs.StringVar(&l.address, "listen", "", "with serve: also serve HTTP on `ADDRESS`, such as 127.0.0.1:8931; port 0 picks a free port")
	fs.StringVar(&l.tokenFile, "token-file", "", "with --listen: read the tokens of the clients from a JSON `FILE` (default: one token, new for each run)")
	fs.StringVar(&l.cert, "tls-cert", "", "with --listen: serve HTTPS with the certificate in a PEM `FILE`; also needs --tls-key")
	fs.StringVar(&l.key, "tls-key", "", "with --listen: the key of --tls-cert, in a PEM `FILE`")
	fs.BoolVar(&l.behindProxy, "behind-proxy", false, "with --listen: allow addresses other than loopback without TLS; a reverse proxy terminates it")
	fs.StringVar(&l.publicURL, "public-url", "", "with --listen: the `URL` that clients use, such as https://chrome.example.com")
}

// check checks combinations of the flags.
func (l *listenFlags) check(flags *pflag.FlagSet) error {
	for _, name := range listenFlagNames {
		if flags.Changed(name) && l.address == "" {
			return cli.Usagef("Set --listen 127.0.0.1:8931.", "--%s needs --listen", name)
		}
	}
	switch {
	case l.cert != "" && l.key == "":
		return cli.Usagef("Set --tls-key FILE.", "--tls-cert and --tls-key must be set together")
	case l.key != "" && l.cert == "":
		return cli.Usagef("Set --tls-cert FILE.", "--tls-cert and --tls-key must be set together")
	}
	return nil
}

// maxTLSKey is the maximum size of the file with the key of a certificate, in bytes.
const maxTLSKey = 1 << 20

// certificate returns the certificate of --tls-cert and --tls-key, or nil without them.
func (l *listenFlags) certificate() (*tls.Certificate, error) {
	if l.cert == "" {
		return nil, nil
	}
	cert, err := os.ReadFile(l.cert)
	if err != nil {
		return nil, cli.Usagef("Name a file with a certificate in PEM format.", "--tls-cert: %w", err)
	}
	key, err := owneronly.ReadFile(l.key, maxTLSKey)
	if errors.Is(err, owneronly.ErrMode) {
		return nil, cli.Usagef("Run chmod 600 "+l.key+".", "--tls-key: %w", err)
	}
	if err != nil {
		return nil, cli.Usagef("Name a file of yours with the key of the certificate in PEM format.", "--tls-key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, cli.Usagef("Name a certificate and its key in PEM format.",
			"--tls-cert %s, --tls-key %s: %w", l.cert, l.key, err)
	}
	return &pair, nil
}

// parsePublicURL returns the value of --public-url, with its host in lower case.
func parsePublicURL(text string) (*url.URL, error) {
	const hint = "Write it as https://chrome.example.com."
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, cli.Usagef(hint, "--public-url: %q is not an http or https URL without a path", text)
	}
	if err := cli.CheckPort("--public-url", u); err != nil {
		return nil, err
	}
	u.Host = strings.ToLower(u.Host)
	for _, host := range ownHosts("", u) { // they become patterns of the policy of each session
		if _, err := policy.ParsePattern(host); err != nil || strings.Contains(host, "*") {
			return nil, cli.Usagef(hint, "--public-url: %q is not a host name or address", u.Hostname())
		}
	}
	return u, nil
}

// options returns the options of the listener.
func (l *listenFlags) options(log *slog.Logger) (server.HTTPOptions, error) {
	opts := server.HTTPOptions{Address: l.address, BehindProxy: l.behindProxy, Metrics: new(server.Metrics), Logger: log}
	var err error
	if opts.Certificate, err = l.certificate(); err == nil && l.publicURL != "" {
		opts.PublicURL, err = parsePublicURL(l.publicURL)
	}
	return opts, err
}

// An httpListener is the HTTP listener of serve, with what the sessions share.
type httpListener struct {
	*server.HTTPListener
	metrics  *server.Metrics
	hasToken bool     // in files of the data directory
	hosts    []string // hosts of the server that are not loopback; pages must not reach them
}

// credentials returns the principals of the token file. Without one, it returns nil and the
// principal whose token the server creates. It sets l.private.
func (l *listenFlags) credentials(
	s *cli.Settings, flags *pflag.FlagSet, log *slog.Logger,
) ([]server.Credential, *server.Principal, error) {
	for _, path := range []string{l.tokenFile, l.key} {
		if path != "" {
			absolute, err := filepath.Abs(path)
			if err != nil {
				return nil, nil, err
			}
			l.private = append(l.private, absolute)
		}
	}
	if l.tokenFile == "" {
		values, err := principalFlags(s, flags)
		if err == nil {
			l.private, err = checkSession(s, values, l.private)
		}
		if err != nil {
			return nil, nil, err
		}
		return nil, &server.Principal{Name: "http", Settings: values, Metrics: true}, nil
	}
	entries, err := server.ReadTokenFile(l.tokenFile)
	if err != nil {
		return nil, nil, s.FlagValueError("token-file", err)
	}
	var all []server.Credential
	var silent []string // names of the tokens that do not set ask
	ofToken := func(e server.TokenEntry, err error) error {
		if usage, ok := errors.AsType[*cli.UsageError](err); ok {
			return cli.Usagef(usage.Hint, "--token-file: %s: line %d: token %q: %w", l.tokenFile, e.Line, e.Name, usage.Err)
		}
		return err
	}
	for _, e := range entries {
		if e.Settings["ask"] == nil {
			silent = append(silent, e.Name)
		}
		values, err := principalSettings(s, e.Settings, e.Browsers)
		var paths []string
		if err == nil {
			paths, err = checkSession(s, values, nil)
		}
		if err != nil {
			return nil, nil, ofToken(e, err)
		}
		l.private = append(l.private, paths...)
		all = append(all, server.Credential{
			Digest:    e.Digest,
			Principal: &server.Principal{Name: e.Name, Settings: values, MaxSessions: e.MaxSessions, Metrics: e.Metrics},
		})
	}
	slices.Sort(l.private)
	l.private = slices.Compact(l.private)
	for i, c := range all { // no token may serve the secrets of another
		if _, err := checkSession(s, c.Principal.Settings, l.private); err != nil {
			return nil, nil, ofToken(entries[i], err)
		}
	}
	if len(silent) > 0 {
		log.Warn("clients are not prompted for missing permissions, because the settings of their tokens have no ask",
			"tokens", silent)
	}
	return all, nil, nil
}

// open listens, and creates the token of p if p is not nil. The caller listens on the socket of the
// data directory.
func (l *listenFlags) open(
	s *cli.Settings, all []server.Credential, p *server.Principal, opts server.HTTPOptions,
) (*httpListener, error) {
	listener, err := server.ListenHTTP(opts)
	if err != nil {
		if errors.Is(err, executor.ErrBadArgs) {
			err = s.FlagValueError("listen", err)
		}
		return nil, err
	}
	listener.AddTokens(all...)
	err = listener.PublishPort(s.Data)
	if err == nil && p != nil {
		err = listener.NewToken(s.Data, p)
	}
	if err != nil {
		listener.Close()
		return nil, err
	}
	return &httpListener{listener, opts.Metrics, p != nil, ownHosts(listener.URL(), opts.PublicURL)}, nil
}

// OwnHosts returns the hosts other than loopback by which clients reach the server: that of its
// public URL, which may be nil, and that of its listener or, if it listens on all addresses, those
// of the machine.
func ownHosts(listener string, public *url.URL) (hosts []string) {
	add := func(host string) {
		ip := net.ParseIP(host)
		if host == "" || host == "localhost" ||
			ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()) {
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
func (l *httpListener) print(w io.Writer, data string) {
	switch {
	case l == nil:
	case l.hasToken:
		fmt.Fprintf(w, "It serves HTTP on %s; the token is in %s, and as a header for curl in %s.\n", l.URL(),
			server.TokenPath(data), server.TokenHeaderPath(data))
	default:
		fmt.Fprintf(w, "It serves HTTP on %s.\n", l.URL())
	}
}
