// Package dashboardcmd is the command dashboard, which opens the dashboard of a process.
package dashboardcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
)

// Command returns the command dashboard.
func Command(s *cli.Settings) *cobra.Command {
	var pid int
	var noOpen bool
	cmd := &cobra.Command{
		Use:   "dashboard [--process PID] [--no-open]",
		Short: "watch and stop agents in a page of your browser",
		Long: `Opens a page in your browser that shows the sessions of a running chrome-mcp: what each
does, its last calls, and a live view of its tabs. There you can stop a session, and
act in a page that an agent has handed over to you. The link works once, within 30
seconds, and only for you.`,
		Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return openDashboard(cmd.Context(), s, pid, !noOpen, cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&pid, "process", 0, "with dashboard: the process `PID`, if several are running")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "with dashboard: print the URL of the page instead of opening it")
	return cmd
}

// openDashboard opens the dashboard of dashboardProcess in the browser or, if browser is false or
// that fails, prints its URL.
func openDashboard(ctx context.Context, s *cli.Settings, pid int, browser bool, stdout io.Writer) error {
	p, err := dashboardProcess(ctx, s, pid)
	if err != nil {
		return err
	}
	login, err := p.Login(ctx)
	if err != nil {
		return err
	}
	path := filepath.ToSlash(login.File)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	page := (&url.URL{Scheme: "file", Path: path}).String()
	text := "Open this file in your browser within 30 seconds:"
	if browser && openInBrowser(page) == nil {
		text = "The dashboard opens in your browser. If it does not, open this file there within 30 seconds:"
	}
	_, err = fmt.Fprintf(stdout, "%s\n%s\n", text, page)
	return err
}

// dashboardProcess returns the process with a PID, or the only process if pid is 0.
func dashboardProcess(ctx context.Context, s *cli.Settings, pid int) (dashboard.Process, error) {
	all := dashboard.Running(ctx, s.Data)
	if len(all) == 0 {
		return dashboard.Process{}, executor.Errorf(executor.ErrNoBackend,
			"Start an MCP host, or run `chrome-mcp serve`, call or shell, with the same --data.", "no chrome-mcp is running with the data directory %s", s.Data)
	}
	var lines []string
	for _, p := range all {
		if p.PID == pid || pid == 0 && len(all) == 1 {
			return p, nil
		}
		clients := strings.Join(p.Clients, ", ")
		if clients == "" {
			clients = "no client yet"
		}
		lines = append(lines, fmt.Sprintf("  --process %d: %s since %s, %s", p.PID, p.Kind, p.Started.Format(time.DateTime), clients))
	}
	what := "several processes of chrome-mcp are running"
	if pid != 0 {
		what = fmt.Sprintf("no process %d is running", pid)
	}
	return dashboard.Process{}, cli.Usagef("Select one with --process.", "%s:\n%s", what, strings.Join(lines, "\n"))
}

// openInBrowser opens a page in the user's browser. It does not wait for the browser to exit.
func openInBrowser(page string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", page)
	case "darwin":
		cmd = exec.Command("open", page)
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return executor.Errorf(executor.ErrNoBackend, "", "there is no display")
		}
		cmd = exec.Command("xdg-open", page)
	}
	return cmd.Start()
}
