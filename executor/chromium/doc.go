// Package chromium is the backend that drives a Chromium over the Chrome DevTools Protocol. It
// launches the browser, or attaches to a running one.
//
// The package owns a browser that it launches. It connects to it over a pipe, so that no port is
// open to other programs. The browser exits when the pipe is closed, even if this process is
// killed. The next launch, or [Sweep], removes what is left behind anyway. The package never
// terminates a browser that it attached to (Options.CDPEndpoint).
//
// The data directory contains
//
//	profiles/<name>/   named profiles, which are kept
//	tmp/profile-…/     temporary profiles of Options.Isolated
//
// A profile in use contains a lock file that identifies the process that uses it.
package chromium
