// Package chromium is the backend that drives a Chromium of its own, or one
// that it is told to join, over the Chrome DevTools Protocol.
//
// A browser that it launches is its to end: it talks to it over a pipe, so
// that no port is open to anyone else, and the browser ends when the pipe
// does, also when this process is killed. What is left behind nevertheless is
// cleared away by the next start, or by [Sweep]. A browser that it joins
// (Options.CDPEndpoint) is never ended.
//
// Below the data folder it keeps
//
//	profiles/<name>/   the named profiles, which stay
//	tmp/profile-…/     the temporary ones of Options.Isolated
//
// and in each of them, while it is in use, a lock file that tells who uses it.
package chromium
