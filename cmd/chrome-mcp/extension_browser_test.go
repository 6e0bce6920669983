package main

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// startUserBrowser starts a browser in the state after `extension install`: with the extension
// loaded and the native messaging host registered.
func startUserBrowser(t *testing.T, data string) *userBrowser {
	t.Helper()
	b := newUserBrowser(t)
	b.register(t, data)
	b.open()
	return b
}

// connected waits for a new connection of an extension.
func connected(t *testing.T, server *bridge.Server) *bridge.Conn {
	t.Helper()
	for {
		changed := server.Changed()
		if list := server.Connections(); len(list) > 0 {
			return list[0]
		}
		await.Receive(t, "an extension to connect", changed)
	}
}

// driven calls the extension: it responds, and no tab is shared.
func driven(t *testing.T, i *bridge.Conn) {
	t.Helper()
	var tabs wire.TabsList
	if err := i.Call(await.Context(t), wire.MethodTabsList, nil, &tabs); err != nil || len(tabs.Tabs) != 0 {
		t.Errorf("tabs %+v, %v", tabs, err)
	}
}

// TestRealExtension checks that the extension in a real browser finds the server with the real
// native messaging host, also after the server restarts, and then a second one, and that both
// connections stay open.
func TestRealExtension(t *testing.T) {
	early, data, rules := openTestBridge(t)
	b := startUserBrowser(t, data)
	before := connected(t, early)
	driven(t, before)
	if before.Chrome() == "" || before.InstallationID() == "" {
		t.Errorf("browser %q, installation %q", before.Chrome(), before.InstallationID())
	}
	// The native messaging host reports servers. No alarm finds them.
	b.Worker(t, "chrome.alarms.create = async () => {}; chrome.alarms.clearAll()", nil)
	early.Close()
	<-before.Done()

	open := func() (*bridge.Server, *bridge.Conn) {
		t.Helper()
		server := startTestBridge(t, data, rules)
		return server, connected(t, server)
	}
	first, one := open()
	if one.InstallationID() != before.InstallationID() {
		t.Error("the installation id changed")
	}
	second, two := open()
	driven(t, one)
	driven(t, two)
	first.Close()
	<-one.Done()
	driven(t, two)
	if i := connected(t, second); i != two {
		t.Error("the second server was connected again")
	}
}
