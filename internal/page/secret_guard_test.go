package page

import (
	"context"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestSecretGuard checks that a CDP client can connect after the tabs with a secret were closed,
// and not while one is open and may be shared again.
func TestSecretGuard(t *testing.T) {
	shared := func(g *SecretGuard) *Tab {
		tab := offlineTab("T1")
		tab.opts = Options{SecretGuard: g, Attach: func(context.Context) error { return nil }}
		tab.openerGroup.add(tab)
		return tab
	}
	var queried SecretGuard
	if _, err := queried.ConnectClient(&executor.CDPOptions{Query: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := shared(&queried).openerGroup.beginSecret(); err != nil {
		t.Errorf("after a query of the version: %v", err)
	}
	if _, err := queried.ConnectClient(&executor.CDPOptions{Query: true}); err == nil {
		t.Error("a query while a secret is in a page")
	}
	var readable SecretGuard
	readable.SetUnencrypted()
	if _, err := shared(&readable).openerGroup.beginSecret(); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("a secret over a connection that is not encrypted: %v", err)
	}
	for _, closed := range []bool{true, false} {
		var g SecretGuard
		tab := shared(&g)
		if _, err := tab.openerGroup.beginSecret(); err != nil {
			t.Fatal(err)
		}
		tab.openerGroup.remove(tab, closed)
		if _, err := g.ConnectClient(nil); (err == nil) != closed {
			t.Errorf("closed %v: connecting a client: %v", closed, err)
		}
		if again := shared(&g); again.openerGroup.hasSecret() == closed {
			t.Errorf("closed %v: shared again, the tab has a secret: %v", closed, !closed)
		}

		var scripts SecretGuard
		tab = shared(&scripts)
		if err := tab.openerGroup.beginScript(); err != nil {
			t.Fatal(err)
		}
		tab.openerGroup.remove(tab, closed)
		if cancel, err := scripts.ConnectClient(nil); err != nil {
			t.Errorf("connecting a client without a secret: %v", err)
		} else {
			cancel()
		}
		if _, err := shared(&scripts).openerGroup.beginSecret(); (err == nil) != closed {
			t.Errorf("closed %v: a secret in a tab that is shared again after a script: %v", closed, err)
		}
	}
}

// TestSecretGuardFailedClient checks that no secret can be typed while a client connects and after
// it has connected, and that one can be typed after it could not connect.
func TestSecretGuardFailedClient(t *testing.T) {
	var g SecretGuard
	cancel, err := g.ConnectClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	if g.add(new(openerGroup)) {
		t.Error("a secret while a client connects")
	}
	if _, err := g.ConnectClient(nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if g.add(new(openerGroup)) {
		t.Error("a secret after another client has connected")
	}
	g = SecretGuard{}
	if cancel, err = g.ConnectClient(nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if !g.add(new(openerGroup)) {
		t.Error("no secret after a client could not connect")
	}
}
