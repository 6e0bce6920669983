package page

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// beginSecret records that a secret is being typed in a page of the group: from then on, no script
// of a client runs there. It returns ErrPolicyDenied if a script has already run there, because it
// could pass the secret on. The caller must call cancel if the secret was not typed.
func (g *openerGroup) beginSecret() (cancel func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	denied := func(hint, what string) error {
		return &executor.Error{Code: executor.ErrPolicyDenied, Rule: "secret-after-script", Hint: hint,
			Err: fmt.Errorf("%s, and could read the secret; nothing was typed", what)}
	}
	if g.secretGuard.unencrypted.Load() {
		return nil, &executor.Error{Code: executor.ErrPolicyDenied, Rule: "secret-unencrypted",
			Hint: "Ask the user to type it, or to use a wss:// or https:// address for the browser.",
			Err:  errors.New("the connection to the browser on another machine is not encrypted, so others could read the secret; nothing was typed")}
	}
	if g.scripted {
		return nil, denied("Open the page in a new tab, and run no script there.", "a script of a client has run in this tab or one that is related to it")
	}
	if !g.secretGuard.add(g) {
		return nil, denied("Ask the user to type it, or to restart the browser without CDP clients.", "a CDP client was connected to this browser")
	}
	g.secrets++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.secrets--; g.secrets == 0 {
			g.secretGuard.remove(g)
		}
	}, nil
}

// A SecretGuard ensures that no secret is typed in a browser to which a CDP client was connected,
// and that none connects while a secret is in a page: it could read the secret, or prepare a script
// or a service worker that does. The zero value is ready to use.
type SecretGuard struct {
	unencrypted atomic.Bool // others on the network can read the connection to the browser

	mu       sync.Mutex // guards the fields below; may be locked while openerGroup.mu is held
	clients  int        // that are or were connected, or are being connected
	groups   map[*openerGroup]bool
	unshared map[string]unsharedTab // by target
}

// An unsharedTab is a tab that is no longer shared, is still open, and may be shared again.
type unsharedTab struct {
	secret   bool // a secret was typed in a page of its opener group
	scripted bool // a script of a client has run there
}

// SetUnencrypted records that others on the network can read the connection to the browser. From then
// on, no secret is typed in it.
func (g *SecretGuard) SetUnencrypted() { g.unencrypted.Store(true) }

// ConnectClient is called before a CDP client connects. It returns ErrPolicyDenied if a secret is
// in a page. Otherwise no secret can be typed from now on, unless the connection is only for a
// query. The caller must call cancel if the client could not connect.
func (g *SecretGuard) ConnectClient(opts *executor.CDPOptions) (cancel func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	secret := len(g.groups) > 0
	for _, t := range g.unshared {
		secret = secret || t.secret
	}
	if secret {
		return nil, &executor.Error{Code: executor.ErrPolicyDenied, Rule: afterSecret, Hint: "Close these tabs first.",
			Err: errors.New("a secret was typed in a page of this browser, so no CDP client can connect until the tab, and those that are related to it, are closed")}
	}
	if opts != nil && opts.Query {
		return func() {}, nil
	}
	g.clients++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.clients--
	}, nil
}

// add records that a secret is typed in a page of a group. It returns false if that is not allowed.
func (g *SecretGuard) add(group *openerGroup) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clients > 0 {
		return false
	}
	if g.groups == nil {
		g.groups = make(map[*openerGroup]bool)
	}
	g.groups[group] = true
	return true
}

// remove records that a group in which a secret was typed has ended.
func (g *SecretGuard) remove(group *openerGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, group)
}

// setUnshared stores the state of a tab that is no longer shared.
func (g *SecretGuard) setUnshared(target string, t unsharedTab) {
	if t == (unsharedTab{}) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unshared == nil {
		g.unshared = make(map[string]unsharedTab)
	}
	g.unshared[target] = t
}

// takeUnshared returns the stored state of a tab that is shared again, and removes it.
func (g *SecretGuard) takeUnshared(target string) unsharedTab {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.unshared[target]
	delete(g.unshared, target)
	return t
}

// beginScript records that a script of a client, or a raw command, runs in a page of the group. It
// returns ErrPolicyDenied if a secret was typed there.
func (g *openerGroup) beginScript() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.secrets == 0 {
		g.scripted = true
		return nil
	}
	return afterSecretError("a script is")
}

// hasSecret reports whether a secret was typed in a page of the group.
func (g *openerGroup) hasSecret() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.secrets > 0
}
