// Package readcmd is the command read, which prints a page as markdown, if possible without a browser.
package readcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/client"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// The values of --via.
const (
	viaAuto    = "auto"
	viaHTTP    = "http"
	viaBrowser = "browser"
)

// readMaxChars is the maximum length of the markdown of a page in a browser, in characters.
const readMaxChars = 1_000_000

// Command returns the command read.
func Command(s *cli.Settings) *cobra.Command {
	var via string
	cmd := &cobra.Command{
		Use:   "read URL [--via auto|http|browser] [--json]",
		Short: "print a page as markdown",
		Long: `Prints the main content of a page as markdown. It needs no browser if the server sends
markdown, or HTML that is complete without scripts; then the request has no cookies,
and style sheets are ignored. Otherwise, or with --via browser, a browser with a
temporary profile loads the page; --via http fails instead. Both are under the same
policy. The text is between two markers, because it is from the page. --json prints
one JSON line with url, title, markdown, via, wholePage and truncated, without them.
The exit code is as for call.`,
		Example:           `  chrome-mcp read https://example.com --allow-domain example.com`,
		Args:              s.MaxArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, words []string) error { return client.WithExitCode(read(cmd, s, via, words)) },
	}
	s.AddJSONFlag(cmd)
	cmd.Flags().Var(cli.NewChoice(&via, viaAuto, viaHTTP, viaBrowser), "via", "with read: http (never start a browser), browser, or auto (a browser if the HTML is not sufficient)")
	return cmd
}

// read prints the markdown of a page.
func read(cmd *cobra.Command, s *cli.Settings, via string, words []string) error {
	if len(words) == 0 {
		return cli.Usagef("For example: chrome-mcp read https://example.com --allow-domain example.com", "read needs a URL")
	}
	address := words[0]
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return cli.BadCallf("Give an absolute URL, such as https://example.com.", "%q is not an http or https URL", address)
	}
	if via != viaBrowser {
		page, err := readHTTP(cmd.Context(), s, address, cmd.ErrOrStderr())
		_, needsBrowser := errors.AsType[needsBrowserError](err)
		switch {
		case err == nil:
			return page.print(cmd.OutOrStdout(), s.JSON)
		case !needsBrowser:
			return err
		case cmd.Context().Err() != nil:
			return &cli.Reported{Exit: cli.ExitFailed} // interrupted
		case via == viaHTTP:
			return executor.Errorf(executor.ErrNavigationFailed, "Omit --via http.", "the page cannot be read without a browser: %s", err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "Reading the page with a browser: %s.\n", err)
	}
	return readInBrowser(cmd, s, address)
}

// print prints the page, as JSON or between markers.
func (p *readPage) print(w io.Writer, asJSON bool) error {
	if !asJSON {
		origin := ""
		if u, err := url.Parse(p.URL); err == nil {
			origin = u.Scheme + "://" + u.Host
		}
		_, err := fmt.Fprintln(w, mcp.FencePageText(origin, p.Markdown))
		if err == nil && p.Truncated {
			_, err = fmt.Fprintln(w, "truncated: the page is too long")
		}
		return err
	}
	clean := *p
	clean.Title, clean.Markdown = mcp.CleanPageText(p.Title), mcp.CleanPageText(p.Markdown)
	return json.NewEncoder(w).Encode(clean)
}

// readHTTP reads a page without a browser, and records it in the audit log.
func readHTTP(ctx context.Context, s *cli.Settings, address string, stderr io.Writer) (*readPage, error) {
	rules, err := compose.Policy(s)
	if err != nil {
		return nil, err
	}
	compose.DenyOwnPorts(rules, s)
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	record, closeAudit, err := compose.OpenAudit(s, nil, log)
	if err != nil {
		return nil, err
	}
	defer closeAudit()
	guard := policy.NewGuard(rules, &policy.GuardOptions{Audit: record})
	start := time.Now()
	page, err := (&httpReader{guard: guard, version: s.Version, proxy: s.Proxy, noProxy: s.NoProxy, certificates: s.AcceptCertificates, log: slog.New(slog.DiscardHandler)}).read(ctx, address)
	if record != nil {
		entry := audit.Entry{Event: audit.EventCall, Client: "chrome-mcp read", Tool: "read", Decision: audit.Allowed, Code: "OK", DurationMS: time.Since(start).Milliseconds()}
		if u, err := url.Parse(address); err == nil {
			entry.Origin = u.Scheme + "://" + u.Host
		}
		if err != nil {
			entry.Code = string(executor.ErrNavigationFailed)
		}
		if e, ok := errors.AsType[*executor.Error](err); ok {
			entry.Code, entry.Rule = string(e.Code), executor.RuleOf(err)
			if e.Code == executor.ErrPolicyDenied {
				entry.Decision = audit.Denied
			}
		}
		record.Record(entry)
	}
	return page, err
}

// readInBrowser loads a page in a browser that ends with the command, and prints it.
func readInBrowser(cmd *cobra.Command, s *cli.Settings, address string) error {
	ctx := cmd.Context()
	s.NoServer = true
	if !s.Given("profile") && s.CDPEndpoint == "" {
		s.Isolated = true // the server of call may use the profile
	}
	if !s.Given("prefer") && !s.NoCDPFallback {
		s.Prefer = string(executor.BackendCDP)
	}
	t, err := client.StartTerminal(cmd, s)
	if err != nil {
		return err
	}
	page := readPage{Via: viaBrowser}
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"navigate", map[string]any{"url": address}},
		{"read_as_markdown", map[string]any{"maxChars": readMaxChars}},
	} {
		res, err := t.Session.CallTool(ctx, &sdk.CallToolParams{Name: c.tool, Arguments: c.args})
		if ctx.Err() != nil {
			return t.Finish(&cli.Reported{Exit: cli.ExitFailed}, nil)
		}
		if err != nil {
			return t.Finish(nil, err)
		}
		if failed := client.FailureOf(c.tool, res); failed != nil {
			t.JSON = false // errors are on stderr
			return t.Finish(failed, t.Print(res))
		}
		if c.tool == "read_as_markdown" && !s.JSON {
			return t.Finish(nil, t.Print(res))
		}
		if err := client.Structured(res, &page); err != nil {
			return t.Finish(nil, err)
		}
	}
	return t.Finish(nil, page.print(cmd.OutOrStdout(), true))
}
