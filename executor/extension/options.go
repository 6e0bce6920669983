package extension

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Options are the options of [New].
type Options struct {
	// Server is the server that the extension connects to. It is required.
	Server *bridge.Server

	// DataDir is the data directory. Files that are downloaded by URL are saved in its
	// subdirectory downloads. Chrome saves downloads of pages in the user's own download
	// directory. The default is .chrome-mcp in the home directory.
	DataDir string

	// MaxDownloadBytes is the maximum size of one download. The default is
	// executor.DefaultMaxDownloadBytes.
	MaxDownloadBytes int64

	// MaxDownloads bounds the number of concurrent downloads, MaxDownloadTotal the total bytes of
	// all downloads. The defaults are 8 and 2 GiB.
	MaxDownloads     int
	MaxDownloadTotal int64

	// DownloadsDir is the directory of downloads. Default: downloads in DataDir.
	DownloadsDir string
	// DownloadsUsage counts the files that count toward MaxDownloadTotal: those in DownloadsDir, and
	// possibly those of other sessions of the same client, open or not. nil means that only the files of
	// this Backend count.
	DownloadsUsage executor.FileUsage

	// Network decides on each connection of a download by URL. If it is nil, only the sessions'
	// gates decide.
	Network executor.NetworkPolicy

	// Proxy is the address of an HTTP proxy for downloads by URL, such as http://host:port. It
	// requires Network.
	Proxy string

	// NoProxy lists hosts that are connected to without Proxy, like the environment variable
	// NO_PROXY.
	NoProxy string

	// Expected reports whether a browser with the extension may connect, because the extension was
	// installed or paired. nil means yes. It must be fast and safe for concurrent use.
	Expected func() bool

	// Audit records connections, the tabs that the user shares and stops sharing, the user's
	// answers to prompts, and finished downloads of pages. It may be nil.
	Audit audit.Recorder

	Logger *slog.Logger // nil discards
}

// withDefaults returns o with its defaults set. It returns ErrBadArgs if the user's home directory is
// needed and unknown.
func (o Options) withDefaults() (Options, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.MaxDownloadBytes <= 0 {
		o.MaxDownloadBytes = executor.DefaultMaxDownloadBytes
	}
	if o.DataDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return o, executor.Errorf(executor.ErrBadArgs, "Set Options.DataDir.", "home directory is unknown: %w", err)
		}
		o.DataDir = filepath.Join(home, ".chrome-mcp")
	}
	o.DownloadsDir = cmp.Or(o.DownloadsDir, filepath.Join(o.DataDir, "downloads"))
	return o, nil
}
