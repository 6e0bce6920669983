package page

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/entered"
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
	shared   map[string]*Tab        // by target
	unshared map[string]unsharedTab // by target
}

// An unsharedTab is a tab that is no longer shared, may still be open, and may be shared again.
type unsharedTab struct {
	secret   bool            // a secret was typed in a page of its opener group
	scripted bool            // a script of a client has run there
	entered  *entered.Values // what the user entered in it; nil if no tab of the group was handed over
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

// share records a tab that is shared. It returns the state that the tab had when it was shared before.
func (g *SecretGuard) share(t *Tab) unsharedTab {
	target := string(t.main)
	g.mu.Lock()
	if g.shared == nil {
		g.shared, g.unshared = make(map[string]*Tab), make(map[string]unsharedTab)
	}
	earlier, before := g.shared[target], g.unshared[target]
	g.shared[target] = t
	delete(g.unshared, target)
	g.mu.Unlock()
	if earlier != nil { // its end has not been handled yet
		return earlier.openerGroup.unshared(earlier)
	}
	return before
}

// unshare records that a tab is no longer shared, and stores its state unless it was closed.
func (g *SecretGuard) unshare(t *Tab, closed bool) {
	target, state := string(t.main), t.openerGroup.unshared(t)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shared[target] != t {
		return // it is shared again, and has taken the state
	}
	delete(g.shared, target)
	if !closed && state != (unsharedTab{}) {
		g.unshared[target] = state
	}
}

// Unshared returns the targets of the tabs that are no longer shared, and whose state is stored.
func (g *SecretGuard) Unshared() (targets []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.unshared))
}

// Closed records that tabs which are no longer shared were closed.
func (g *SecretGuard) Closed(targets []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, target := range targets {
		delete(g.unshared, target)
	}
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
