// Chrome-mcp serves 26 tools that drive a real Chrome, over MCP on stdin and stdout.
//
// Usage:
//
//	chrome-mcp [flags]              run the MCP server (started by an MCP host)
//	chrome-mcp help                 print a short help, with the commands
//	chrome-mcp help COMMAND|flags   print the help of a command, or all flags
//
// A browser starts the program as its native messaging host, with arguments that name the origin of an
// extension.
//
// Each flag is also an environment variable: CHROME_MCP_ and its name in capitals. Stdout carries
// only JSON-RPC; the log goes to stderr or to --log-file.
//
// The exit code is 0 on success, which for the server means that the client disconnected or a
// signal requested shutdown; 1 if something failed at run time; 2 if a flag, a variable or the
// policy is invalid, in which case nothing was started. For call and shell, larger codes say why a
// tool failed; see internal/errclass.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/nativehost"
)

func main() {
	// Prevent accidental output to os.Stdout from corrupting the protocol.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	tuneMemory()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the program and returns its exit code. It returns soon after ctx is done.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if call, ok := nativehost.Parse(args); ok {
		if err := nativehost.Serve(programVersion(), call, stdin, stdout); err != nil {
			return cli.Fail(stderr, err)
		}
		return cli.ExitOK
	}
	root := newRoot(args, os.Environ())
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return cli.Fail(stderr, err)
	}
	return cli.ExitOK
}

// version is set by the linker in `make build`.
var version string

// programVersion returns the version of this binary, or "devel" if it is unknown.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// tuneMemory reduces the memory use of the process. The process is idle nearly all the time, and
// most of what it allocates are short-lived results. More frequent collections cost little, and an
// MCP host may run many servers at the same time.
func tuneMemory() {
	debug.SetGCPercent(50)
}
