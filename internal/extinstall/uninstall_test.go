package extinstall

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestUninstallDisconnects checks that uninstall disconnects a connected browser, if anything was
// installed.
func TestUninstallDisconnects(t *testing.T) {
	s, err := cli.Parse([]string{"--data", filepath.Join(t.TempDir(), "data")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := bridge.New(&bridge.Options{DataDir: s.Data, ExtensionID: extension.ID(), StoreID: extension.StoreID, Port: bridge.AnyPort, Policy: func() bridge.Policy { return bridge.Policy{} }})
	if err == nil {
		t.Cleanup(func() { server.Close() })
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	if Expected(s.Data) {
		t.Error("an extension is expected before one was installed")
	}
	var out bytes.Buffer
	if err := uninstall(t.Context(), s, &out); err != nil || !strings.HasPrefix(out.String(), "No extension was installed") || server.Err() != nil {
		t.Fatalf("without an installation: %q, %v, %v", out.String(), err, server.Err())
	}
	if err := extension.Write(Dir(s.Data)); err != nil {
		t.Fatal(err)
	}
	if !Expected(s.Data) {
		t.Error("extension installed, but not expected")
	}
	out.Reset()
	if err := uninstall(t.Context(), s, &out); err != nil || !strings.Contains(out.String(), "Disconnected 1 server from all browsers") {
		t.Fatalf("%q, %v", out.String(), err)
	}
	await.Until(t, "the connection to be closed", func() bool { return server.Err() != nil })
}
