// Package ownchrome opens a session in the user's own Chrome. It connects the parts that such a program
// needs: the server for the extension, its backend, and a policy, which it enforces in this process and
// in the browser.
package ownchrome

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	backend "github.com/chrome-mcp/chrome-mcp/executor/extension"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// Options are the options of [Open].
type Options struct {
	// Policy decides on everything that the session does. nil denies everything.
	Policy *policy.Policy
	// Name is the name of the program, which the extension shows to its user.
	Name string
	// DataDir is the data directory, in which the extension finds the server. The default is
	// .chrome-mcp in the home directory.
	DataDir string
	Logger  *slog.Logger // nil discards
}

// A Chrome is a session in the user's own Chrome. Its methods are those of the guarded
// [executor.Executor], and are safe for concurrent use.
type Chrome struct {
	executor.Executor
	server  *bridge.Server
	backend *backend.Backend
}

// Open starts a server for the extension, and waits until the extension of a browser has connected. If
// ctx is done first, it returns ErrNoBackend or another error that says why no extension is connected, and
// whose hint says what the user can do. The caller closes the Chrome. A nil opts means the defaults.
func Open(ctx context.Context, opts *Options) (*Chrome, error) {
	o := *cmp.Or(opts, new(Options))
	rules := o.Policy
	if rules == nil {
		var err error
		if rules, err = policy.New(policy.Config{}); err != nil {
			return nil, err
		}
	}
	if o.DataDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, executor.Errorf(executor.ErrBadArgs, "Set Options.DataDir.", "home directory is unknown: %w", err)
		}
		o.DataDir = filepath.Join(home, ".chrome-mcp")
	}
	var server *bridge.Server
	guard := policy.NewGuard(rules, &policy.GuardOptions{Logger: o.Logger, OnChange: func() { server.PolicyChanged() }})
	server, err := bridge.New(&bridge.Options{
		DataDir: o.DataDir, ExtensionID: extension.ID(), StoreID: extension.StoreID, Name: o.Name, Logger: o.Logger,
		Policy: func() bridge.Policy { return Rules(guard.Policy()) },
	})
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	rules.AddOwnPort(server.Port()) // pages must not connect to the server
	server.PolicyChanged()
	c := &Chrome{server: server}
	c.backend, err = backend.New(&backend.Options{Server: server, DataDir: o.DataDir, Network: guard.Network(), Logger: o.Logger})
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	if err := c.connected(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	session, err := c.backend.NewSession(&executor.SessionOptions{Gate: guard})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.Executor = guard.Wrap(session)
	return c, nil
}

// Rules returns the part of a policy that the extension enforces. Everything else is enforced in this
// process: by a [policy.Guard].
func Rules(p *policy.Policy) bridge.Policy {
	c := p.Config()
	return bridge.Policy{
		Allow:        c.AllowDomains,
		Block:        c.BlockDomains,
		Subresources: string(c.Subresources),
		Resources:    c.SubresourceDomains,
		Private:      c.AllowPrivate,
		UnsafeAll:    c.AllDomains,
		OwnPorts:     c.OwnPorts,
	}
}

// connected waits until the extension has connected.
func (c *Chrome) connected(ctx context.Context) error {
	for {
		changed := c.backend.Changed()
		if c.backend.Connected() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return c.backend.DisconnectedError()
		}
	}
}

// Close closes the session and the server. The tabs that the session opened are closed.
func (c *Chrome) Close() error { return errors.Join(c.Executor.Close(), c.close()) }

func (c *Chrome) close() error { return errors.Join(c.backend.Close(), c.server.Close()) }
