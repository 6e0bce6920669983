// Package policy decides where an agent may go and what it may do there.
//
// A [Policy] is made by [New] from a [Config], which comes from flags, from a
// policy file ([ParseFile]) or from both ([Config.Merge]). Its zero value
// denies everything. It answers three kinds of question:
//
//   - [Policy.CheckURL]: may a caller name this URL?
//   - [Policy.CheckOrigin]: may a document of this effective origin be read
//     and acted on?
//   - [Policy.CheckHost], [Policy.CheckPath] and [Policy.CheckAddr]: may a
//     page's request go to this host, with this path, and to this address? A
//     filtering proxy asks these.
//
// A [Guard] puts a Policy in front of an executor.Executor: it is the
// executor.Gate that a backend asks about each document, and [Guard.Wrap]
// adds what a gate cannot see: the grants, the URLs in a call's arguments and
// the URLs in its results.
//
// Everything here is safe for concurrent use.
//
// # Patterns
//
// A pattern is [scheme://]host[:port][/path-prefix].
//
//	example.com               https://example.com on port 443, nothing else
//	*.example.com             its subdomains, at any depth, and not itself
//	http://example.com        http on port 80, nothing else
//	example.com:8443          https on port 8443
//	example.com:*             https on any port
//	localhost, 127.0.0.1      http and https on any port but our own
//	[::1]:3000                http and https on port 3000
//
// A pattern that blocks covers subdomains, both schemes and all ports,
// whatever it says of them; a path narrows it to what begins with that path,
// in upper or lower case, and to the ambiguous paths of the host, which servers
// may read differently: paths with escapes of letters, digits, / \ . ; or %, with
// malformed UTF-8 or characters that resemble ASCII, or with a dot segment.
// A path on a pattern that allows is no boundary: documents of one origin can
// read each other, so the whole origin is allowed and [Policy.Notes] says so.
// A block beats what allows.
//
// Public suffixes (com, co.uk, github.io), a * anywhere but as the whole first
// label, user names, queries, fragments, upper case and non-ASCII are errors,
// never quietly normalised.
package policy
