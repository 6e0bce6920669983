// Package leaktest tests that no connection reaches a host that the policy denies.
//
// [Routes] is a table of routes from a page on an allowed host to another host. The tests of each
// backend pass a [Harness] to [Run], which tests all routes in a real browser, once for each
// [Tier]. The result depends only on what arrives: the target of each visit is a separate listener,
// and every connection that it accepts and every packet that it receives until the browser has
// exited is a hit, regardless of what the browser or the page reports.
//
// A route that never reaches its target proves nothing. So the same run also tests each route
// without enforcement, as a positive control, and reports the routes that do not fire as not
// tested.
package leaktest

//go:generate go run ../gen egress-matrix ../../docs/security.md
