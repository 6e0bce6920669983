// Package extension is the backend of the user's own Chrome: it drives the
// tabs that its user shares, with the user's logins, and tabs of its own
// beside them, through the extension that is connected to a [bridge.Server].
//
// What happens in a page is package page's, as for every backend. This package
// makes a browser of the extension: tabs that are shared appear, tabs that are
// not any more end their calls in progress at once and say why, and protocol
// messages travel as commands and events of the bridge, in one order.
//
// The debugger is attached to a tab by the first call that needs it, so that a
// tab which nobody uses shows no bar; the extension lets go when it was idle.
// Refs outlive that as long as their document does. A browser that disconnects
// and comes back has the tabs it had, under their old ids.
package extension
