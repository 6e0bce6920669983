package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/chromefortesting"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
)

// chromeForTesting is the name of the browser that install installs.
const chromeForTesting = "chrome-for-testing"

// installFlags are the flags of install.
type installFlags struct {
	force       bool
	versionsURL string
}

// InstallCommand returns the command install.
func InstallCommand(s *cli.Settings) *cobra.Command {
	var given installFlags
	cmd := &cobra.Command{
		Use:   "install [--force]",
		Short: "install Chrome for Testing if no browser is installed",
		Long: `Downloads the latest stable Chrome for Testing (about 200 MB) into the data directory,
unless a browser is found. With --browser chrome-for-testing, other browsers do not
count; --force downloads the latest version in any case. The other commands use an
installed Chrome, Brave, Edge or Chromium first, unless they have
--browser chrome-for-testing. On Linux, it needs the shared libraries of a desktop:
chrome-mcp doctor --launch checks that it starts.`,
		Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return install(cmd.Context(), s, given, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&given.force, "force", false, "with install: download the latest version even if a browser is installed")
	addVersionsURLFlag(cmd, &given.versionsURL)
	return cmd
}

// addVersionsURLFlag adds --versions-url to a command.
func addVersionsURLFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "versions-url", "", "with doctor and install: read the versions of Chrome for Testing from `URL`, such as that of a mirror")
}

// install installs Chrome for Testing unless a browser is found.
func install(ctx context.Context, s *cli.Settings, given installFlags, stdout, stderr io.Writer) error {
	if s.Browser != "" && s.Browser != chromeForTesting {
		return cli.Usagef("Omit it, or set it to "+chromeForTesting+".", "%s: only %s can be installed, not %q", s.NameOf("browser"), chromeForTesting, s.Browser)
	}
	if err := s.CheckData(); err != nil {
		return err
	}
	if !given.force {
		if path, err := chromium.FindIn(s.Data, s.Browser); err == nil {
			version, _ := browserVersion(ctx, path)
			fmt.Fprintf(stdout, "%s is installed at %s. Nothing was changed.\n", version, path)
			return nil
		}
	}
	b, err := installBrowser(ctx, s, given, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Chrome for Testing %s is installed at %s.\n", b.Version, b.Path)
	if _, known := browserVersion(ctx, b.Path); !known {
		fmt.Fprintln(stdout, "It does not start: run chrome-mcp doctor --browser chrome-for-testing --launch, which says why.")
	} else if path, err := chromium.FindIn(s.Data, ""); err == nil && path != b.Path {
		fmt.Fprintf(stdout, "Without --browser %s, the commands use %s.\n", chromeForTesting, path)
	}
	return nil
}

// installBrowser downloads Chrome for Testing into the data directory, with its progress on stderr.
func installBrowser(ctx context.Context, s *cli.Settings, given installFlags, stderr io.Writer) (chromefortesting.Browser, error) {
	upstream, err := egress.ParseUpstream(s.Proxy)
	if err != nil {
		return chromefortesting.Browser{}, s.FlagValueError("proxy", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	transport.Proxy = nil
	if upstream != nil {
		config := httpproxy.Config{HTTPProxy: upstream.String(), HTTPSProxy: upstream.String(), NoProxy: s.NoProxy}
		via := config.ProxyFunc()
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return via(r.URL) }
	}
	progress := &downloadProgress{w: stderr, terminal: cli.IsTerminal(stderr), step: -1}
	b, _, err := chromefortesting.Install(ctx, chromefortesting.Options{
		DataDir: s.Data, VersionsURL: given.versionsURL, Transport: transport, Force: given.force, Progress: progress.report,
	})
	progress.end()
	return b, err
}

// downloadProgress prints the progress of a download: in a terminal one line that changes,
// otherwise one line for each 20%.
type downloadProgress struct {
	w        io.Writer
	terminal bool
	step     int64 // the last that was printed; -1 means none
}

func (p *downloadProgress) report(version string, received, total int64) {
	steps := int64(5)
	if p.terminal {
		steps = 100
	}
	if total <= 0 {
		total, steps = 1, 0
	}
	step := received * steps / total
	if step == p.step {
		return
	}
	p.step = step
	text := fmt.Sprintf("Chrome for Testing %s: %d MB", version, received>>20)
	if steps > 0 {
		text += fmt.Sprintf(" of %d MB (%d%%)", total>>20, received*100/total)
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r%s ", text)
	} else {
		fmt.Fprintln(p.w, text)
	}
}

// end ends the line in a terminal.
func (p *downloadProgress) end() {
	if p.terminal && p.step >= 0 {
		fmt.Fprintln(p.w)
	}
}
