package extension

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/bridge"
)

// DefaultMaxDownloadBytes is the default of Options.MaxDownloadBytes.
const DefaultMaxDownloadBytes = 100 << 20

// A NetworkPolicy decides on every connection that fetching a URL makes.
// policy.Policy is one. Its methods must be safe for concurrent use; an error
// denies, and its text is shown to whoever asked for the URL.
type NetworkPolicy interface {
	// CheckHost decides before host is resolved. scheme is "http", or empty
	// for a tunnel, which https uses. An IPv6 host has its brackets.
	CheckHost(scheme, host string, port int) error
	// CheckPath checks the path of a request that CheckHost allowed, if the path
	// is visible, as in plain http. path is as sent.
	CheckPath(scheme, host string, port int, path string) error
	// CheckAddr decides on an address of host, immediately before it is
	// dialed.
	CheckAddr(host string, port int, addr netip.Addr) error
}

// Options are the options of [New].
type Options struct {
	// Server is what the extension connects to. It must be there.
	Server *bridge.Server

	// DataDir is the folder of downloads: files that are fetched by URL go to
	// its folder downloads. What pages download themselves, Chrome puts where
	// its user wants downloads. Default .chrome-mcp in the home folder.
	DataDir string

	// MaxDownloadBytes bounds the size of one download. Default
	// DefaultMaxDownloadBytes.
	MaxDownloadBytes int64

	// MaxDownloads bounds the downloads at the same time, MaxDownloadTotal their
	// bytes in sum. The defaults are 8, and 2 GiB.
	MaxDownloads     int
	MaxDownloadTotal int64

	// Network decides on every connection that fetching a URL makes. nil
	// allows all: the sessions' gates alone decide.
	Network NetworkPolicy

	// Proxy is the address of an http proxy, http://host:port, that fetching
	// a URL goes through. It needs Network.
	Proxy string

	// NoProxy lists hosts that are reached without Proxy, as the variable
	// NO_PROXY does.
	NoProxy string

	// Expected reports whether a browser with the extension may connect: it
	// was installed or paired. nil means yes. It must be safe for concurrent
	// use, and quick.
	Expected func() bool

	// Audit is told of connections, of the tabs that the user shares and takes
	// back, of the user's answers to questions, and of each download of a
	// page's that has ended. Nil is none.
	Audit audit.Recorder

	Logger *slog.Logger // nil discards
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxDownloadBytes <= 0 {
		o.MaxDownloadBytes = DefaultMaxDownloadBytes
	}
	if o.DataDir == "" {
		if home, err := os.UserHomeDir(); err == nil {
			o.DataDir = filepath.Join(home, ".chrome-mcp")
		}
	}
	return o
}
