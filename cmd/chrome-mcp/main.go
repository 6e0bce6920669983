// Chrome-mcp serves 26 tools that drive a real Chrome, over MCP on stdin and
// stdout.
//
// Usage:
//
//	chrome-mcp [flags]       serve; an MCP host starts it like this
//	chrome-mcp doctor        say what is there, what is missing, how to fix it
//	chrome-mcp extension install|path|unpair|uninstall
//	                         set up the extension for the user's own Chrome
//	chrome-mcp audit [FILE]  print what agents did, from --audit-log
//	chrome-mcp call TOOL [ARGUMENTS] [then TOOL …]
//	                         call tools and print what they answer
//	chrome-mcp shell         call the tools that lines of stdin name
//	chrome-mcp completion bash|zsh|fish
//	                         print the completion for a shell
//	chrome-mcp stop          make every server let go of every extension
//	chrome-mcp help [flags]  print a short help, or every flag
//	chrome-mcp version       print the version
//
// A browser starts it with the origin of an extension as its only argument, as
// its native messaging host.
//
// Each flag is also an environment variable: CHROME_MCP_ and its name in
// capitals. Stdout carries JSON-RPC and nothing else; the log goes to stderr
// or to --log-file.
//
// The exit code is 0 when all went well, which for the server means that the
// client went away or a signal asked it to end; 1 when something failed while
// running; 2 when a flag, a variable or the policy is wrong, and then nothing
// was started.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// Whatever prints to os.Stdout by mistake must not get into the protocol.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	tuneMemory()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: it returns the exit code when it has ended, which is
// soon after ctx is done.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if call, ok := asNativeHost(args); ok {
		if err := nativeHost(call, stdin, stdout); err != nil {
			return fail(stderr, err)
		}
		return exitOK
	}
	s, err := parse(args, os.Environ())
	if err != nil {
		return fail(stderr, err)
	}
	command := "" // serve
	if len(s.command) > 0 {
		command = s.command[0]
	}
	switch {
	case s.version:
		command = "version"
	case s.help:
		command = "help"
	case (s.printPairing || s.printExtensionPath) && command != "":
		return fail(stderr, usagef("", "--print-pairing and --print-extension-path go alone"))
	case s.printPairing && s.printExtensionPath:
		return fail(stderr, usagef("", "--print-pairing and --print-extension-path exclude each other"))
	case s.printPairing:
		command = "print-pairing"
	case s.printExtensionPath:
		command = "print-extension-path"
	}
	if s.launch && command != "doctor" {
		return fail(stderr, usagef("", "--launch goes with doctor only"))
	}
	if s.follow && command != "audit" {
		return fail(stderr, usagef("", "--follow goes with audit only"))
	}
	if s.json && command != "audit" && command != "call" && command != "shell" {
		return fail(stderr, usagef("", "--json goes with audit, call and shell only"))
	}
	if command == "true" || command == "false" {
		if hint := argumentHint(args, command); hint != "" {
			return fail(stderr, usagef(hint, "unexpected argument %q", command))
		}
	}
	if len(s.command) > 1 && !slices.Contains([]string{"audit", "call", "completion", "extension", "help"}, command) {
		return fail(stderr, usagef(cmp.Or(argumentHint(args, s.command[1]), "Flags begin with --."), "unexpected argument %q", s.command[1]))
	}

	switch command {
	case "":
		err = serve(ctx, s, stdin, stdout, stderr)
	case "doctor":
		err = doctor(ctx, s, stdout)
	case "extension":
		err = extensionCommand(s, s.command[1:], stdout)
	case "audit":
		err = auditCommand(ctx, s, stdout)
	case "call":
		err = call(ctx, s, s.command[1:], stdin, stdout, stderr)
	case "shell":
		err = shell(ctx, s, stdin, stdout, stderr)
	case "completion":
		err = completion(ctx, s.command[1:], stdout)
	case "stop":
		err = stop(s, stdout)
	case "print-pairing":
		err = printPairing(s, stdout, stderr)
	case "print-extension-path":
		err = printExtensionPath(s, stdout)
	case "native-host":
		err = usagef("chrome-mcp extension install tells browsers of it.", "native-host is for browsers to start")
	case "version":
		fmt.Fprintf(stdout, "chrome-mcp %s\n", programVersion())
	case "help":
		err = help(s.command, stdout)
	default:
		err = usagef("The commands are call, shell, doctor, extension, audit, stop, completion, help and version; without one it serves MCP on stdin and stdout.",
			"unknown command %q", command)
	}
	if err != nil {
		return fail(stderr, err)
	}
	return exitOK
}

// errReported is an error that the user has been told of already.
var errReported = errors.New("reported")

// fail tells the user of err and returns the exit code for it.
func fail(stderr io.Writer, err error) int {
	if errors.Is(err, errReported) {
		return exitFailed
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	if usage, ok := errors.AsType[*usageError](err); ok {
		if usage.hint != "" {
			fmt.Fprintf(stderr, "hint: %s\n", usage.hint)
		}
		return exitUsage
	}
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", e.Hint)
	}
	return exitFailed
}
