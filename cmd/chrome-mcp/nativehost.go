package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
)

// A browserCall is a start of this program by a browser, as its native
// messaging host.
type browserCall struct {
	origin string // of the extension that asks
	data   string // the data folder; empty for the default
}

// asNativeHost reports whether a browser has started the program: with the
// caller's origin as its first argument, and on Windows a window's number
// after it. A data folder of the user's own comes from the script that
// `extension install` wrote for it.
//
// The flags are not parsed for it: nobody would see what is wrong with them.
func asNativeHost(args []string) (browserCall, bool) {
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "chrome-extension://") })
	switch {
	case at == 0:
		return browserCall{origin: args[0]}, true
	case at == 1 && args[0] == "native-host":
		return browserCall{origin: args[1]}, true
	case at == 3 && args[0] == "--data" && args[2] == "native-host":
		return browserCall{args[3], args[1]}, true
	}
	return browserCall{}, false
}

// nativeHost answers the extension with the servers that run, until the
// browser ends it.
func nativeHost(call browserCall, stdin io.Reader, stdout io.Writer) error {
	data := cmp.Or(call.data, os.Getenv("CHROME_MCP_DATA"), os.Getenv("CHROME_MCP_USERDATA"))
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		data = filepath.Join(home, defaultDataName)
	}
	return bridge.ServeNative(data, extension.ID(), call.origin, stdin, stdout)
}
