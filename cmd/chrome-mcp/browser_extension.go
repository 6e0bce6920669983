package main

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// extensionBrowsers are the user's Chrome. There is at most one.
func extensionBrowsers() browserType {
	return browserType{
		name: browserExtension,
		keys: []browserKey{colorKey()},
		open: func(o *browserOpener, b *namedBrowser) (executor.Executor, error) {
			return executor.NewManager(executor.ManagerOptions{Extension: o.stack.extension, Session: o.session(b), Logger: o.log}), nil
		},
	}
}
