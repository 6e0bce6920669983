package page

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// sharedTab returns a tab of the user's Chrome that is shared now.
func sharedTab(g *SecretGuard, target cdp.FrameID) *Tab {
	tab := offlineTab(target)
	tab.opts = Options{SecretGuard: g, Attach: func(context.Context) error { return nil }}
	tab.openerGroup.add(tab)
	return tab
}

// TestSharedAgainAfterHandover checks that a tab which is shared again after, or since, a handover
// masks what the user entered, and cannot be read before its documents mask their fields, also if
// the end of the earlier session is handled only later. A closed tab leaves nothing behind.
func TestSharedAgainAfterHandover(t *testing.T) {
	for _, tt := range []struct {
		name          string
		closed, ended bool // the tab was closed; the handover has ended before
		late          bool // the earlier tab is removed after the tab is shared again
		masked        bool
	}{
		{"after the handover", false, true, false, true},
		{"during the handover", false, false, false, true},
		{"before the earlier session has ended", false, true, true, true},
		{"closed", true, true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g SecretGuard
			tab := sharedTab(&g, "T1")
			d := &frames.Document{World: "w"}
			v := &View{tab: tab}
			tab.openerGroup.beginHandover(v)
			tab.entered.Watched(d)
			tab.entered.Report("w", 0, "831942")
			if tt.ended {
				tab.openerGroup.endHandover(v)
			}
			if !tt.late {
				tab.openerGroup.remove(tab, tt.closed)
			}
			again := sharedTab(&g, "T1")
			tab.openerGroup.remove(tab, tt.closed)
			if got := again.openerGroup.wasHandedOver(); got != tt.masked {
				t.Errorf("handed over before: %v", got)
			}
			if got := len(again.entered.Of([]*frames.Document{d})) > 0; got != tt.masked {
				t.Errorf("the value is masked: %v", got)
			}
			if got := again.entered.CheckMasked(d, executor.OpRead) != nil; got != tt.masked {
				t.Errorf("the document cannot be read yet: %v", got)
			}
			again.openerGroup.remove(again, false)
			if third := sharedTab(&g, "T1"); third.openerGroup.wasHandedOver() != tt.masked {
				t.Error("unsharing it once more changes the masks")
			}
			if other := sharedTab(&g, "T2"); other.openerGroup.wasHandedOver() {
				t.Error("another tab counts as handed over")
			}
		})
	}
}

// TestSecretGuard checks that a CDP client can connect after the tabs with a secret were closed,
// and not while one is open and may be shared again.
func TestSecretGuard(t *testing.T) {
	shared := func(g *SecretGuard) *Tab { return sharedTab(g, "T1") }
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
