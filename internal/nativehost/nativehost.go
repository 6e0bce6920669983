// Package nativehost is the program that browsers start for the extension: it reports running servers, or
// serves the chats of side panels.
package nativehost

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/nativemessage"
	"github.com/chrome-mcp/chrome-mcp/internal/sidepanel"
)

// An Invocation describes a start of this program by a browser as its native messaging
// host.
type Invocation struct {
	origin string // of the calling extension
	data   string // data directory; empty for the default
}

// Parse reports whether a browser started the program. Browsers pass the caller's origin as
// the first argument, and on Windows a window handle after it. A data directory other than the
// default comes from the script that `extension install` wrote.
//
// Flags are not parsed, because the user would not see errors about them.
func Parse(args []string) (Invocation, bool) {
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "chrome-extension://") })
	switch {
	case at == 0:
		return Invocation{origin: args[0]}, true
	case at == 1 && args[0] == "native-host":
		return Invocation{origin: args[1]}, true
	case at == 3 && args[0] == "--data" && args[2] == "native-host":
		return Invocation{args[3], args[1]}, true
	}
	return Invocation{}, false
}

// Command responds to a user; browsers do not get here.
func Command(s *cli.Settings) *cobra.Command {
	cmd := s.Command("native-host", "", func(context.Context, *cli.Settings, io.Writer) error {
		return cli.Usagef("Register it with chrome-mcp extension install.", "native-host can only be started by a browser")
	})
	cmd.Hidden = true
	return cmd
}

// Serve answers the extension's requests for running servers, or serves its side panels, until
// the browser closes stdin.
func Serve(version string, call Invocation, stdin io.Reader, stdout io.Writer) error {
	data := cmp.Or(call.data, os.Getenv("CHROME_MCP_DATA"), os.Getenv("CHROME_MCP_USERDATA"))
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		data = filepath.Join(home, cli.DefaultDataName)
	}
	in := bufio.NewReaderSize(stdin, maxFirstMessage)
	var first sidepanel.Hello
	if nativemessage.Peek(in, &first) == nil && first.Type == sidepanel.HelloType {
		return serveChats(version, data, call.origin, in, stdout)
	}
	return bridge.ServeNative(data, extension.IDs(), call.origin, in, stdout)
}

// maxFirstMessage is the maximum size of the first message for the side panel, in bytes.
const maxFirstMessage = 4 << 10
