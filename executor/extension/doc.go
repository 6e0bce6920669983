// Package extension is the backend of the user's own Chrome. Through the extension that is connected
// to a [bridge.Server], it drives the tabs that the user shares, with the user's logins, and tabs
// that it opens itself.
//
// Package page implements what happens in a page, as for every backend. This package presents the
// extension as a browser: tabs appear when they are shared, calls on tabs that are no longer shared
// fail immediately with the reason, and CDP messages travel as commands and events of the bridge,
// in one order.
//
// The first call that needs a tab attaches the debugger to it, so that Chrome shows no debugging bar
// for tabs that are not used. The extension detaches the debugger after a period of inactivity. Refs
// stay valid as long as their document exists. A browser that disconnects and reconnects has the
// same tabs with the same ids.
package extension
