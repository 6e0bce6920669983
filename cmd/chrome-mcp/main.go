// Chrome-mcp serves 26 tools that drive a real Chrome, over MCP on stdin and stdout.
//
// Usage:
//
//	chrome-mcp [flags]              run the MCP server (started by an MCP host)
//	chrome-mcp help                 print a short help, with the commands
//	chrome-mcp help COMMAND|flags   print the help of a command, or all flags
//
// A browser starts the program as its native messaging host, with the origin of an extension as its
// only argument.
//
// Each flag is also an environment variable: CHROME_MCP_ and its name in capitals. Stdout carries
// only JSON-RPC; the log goes to stderr or to --log-file.
//
// The exit code is 0 on success, which for the server means that the client disconnected or a
// signal requested shutdown; 1 if something failed at run time; 2 if a flag, a variable or the
// policy is invalid, in which case nothing was started. For call and shell, larger codes say why a
// tool failed; see exit_codes.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
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
	if call, ok := asNativeHost(args); ok {
		if err := nativeHost(call, stdin, stdout); err != nil {
			return fail(stderr, err)
		}
		return exitOK
	}
	root, _ := newRoot(args, os.Environ())
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return fail(stderr, err)
	}
	return exitOK
}

// surviveBrokenPipe makes writes to a closed stdout fail, without SIGPIPE ending this process before
// it has ended its browser. Unlike ignoring the signal, it does not affect the programs that this
// process starts.
func surviveBrokenPipe() { signal.Notify(brokenPipes, syscall.SIGPIPE) }

var brokenPipes = make(chan os.Signal, 1)

// errReported is an error that was already reported to the user.
var errReported = errors.New("reported")

// fail prints err with its hint and returns the exit code for it.
func fail(stderr io.Writer, err error) int {
	if errors.Is(err, errReported) {
		return exitFailed
	}
	if failed, ok := errors.AsType[*toolFailure](err); ok {
		return failed.exit
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	if usage, ok := errors.AsType[*usageError](err); ok {
		if usage.hint != "" {
			fmt.Fprintf(stderr, "hint: %s\n", usage.hint)
		}
		return usage.exitCode()
	}
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", hint.Translate(e.Hint))
	}
	if class, ok := errors.AsType[*classifiedError](err); ok {
		return class.exit
	}
	return exitFailed
}
