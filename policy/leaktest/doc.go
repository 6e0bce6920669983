// Package leaktest proves that nothing gets to an origin that the policy
// denies.
//
// It has a table of [Routes]: the ways in which a page on an allowed host can
// reach another one. Each backend's tests hand it a [Harness], and [Run] walks
// the whole table through a real browser, once for each [Wall]. What counts is
// what arrives: the target of each visit is a listener of its own, and every
// connection that it accepts and every packet that it receives is a hit,
// whatever the browser or the page have to say about it, until the browser
// has ended.
//
// A route that reaches its target in no browser proves nothing when it does
// not under a wall either. So each is tried without one in the same run, and
// those that do not fire there are told as not tested.
package leaktest

//go:generate go run ./gen ../../docs/security.md
