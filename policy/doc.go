// Package policy decides which sites an agent may use and what it may do there.
//
// [New] creates a [Policy] from a [Config], which comes from flags, from a policy file
// ([ParseFile]) or from both ([Config.Merge]). The zero Policy denies everything. A Policy
// checks three kinds of things:
//
//   - [Policy.CheckURL]: a URL that a caller passes.
//   - [Policy.CheckOrigin]: a document, by its effective origin, before it is read or acted on.
//   - [Policy.CheckHost], [Policy.CheckPath] and [Policy.CheckAddr]: the host, the path and the
//     address of a page's request. The egress proxy calls these.
//
// A [Guard] enforces a Policy on an executor.Executor. It is the executor.Gate that a backend
// queries about each document, and [Guard.Wrap] adds the checks that a gate cannot make: of
// grants, and of the URLs in a call's arguments and results.
//
// All types are safe for concurrent use.
//
// # Patterns
//
// A pattern is [scheme://]host[:port][/path-prefix].
//
//	example.com               https://example.com on port 443, nothing else
//	*.example.com             its subdomains at any depth, but not example.com itself
//	http://example.com        http on port 80, nothing else
//	example.com:8443          https on port 8443
//	example.com:*             https on any port
//	localhost, 127.0.0.1      http and https on any port except chrome-mcp's own
//	[::1]:3000                http and https on port 3000
//
// A pattern of the block list covers subdomains, both schemes and all ports, even if it names a
// scheme or port. A path limits it to paths that begin with that path, in upper or lower case,
// and to the ambiguous paths of the host, which servers may read differently: paths with escapes
// of letters, digits, / \ . ; or %, with malformed UTF-8 or characters that resemble ASCII, or
// with a dot segment. A path in a pattern of the allow list is not a security boundary: documents
// of one origin can read each other, so the complete origin is allowed and [Policy.Notes] reports
// it. The block list overrides the allow list.
//
// Public suffixes (com, co.uk, github.io), a * that is not the complete first label, user names,
// queries, fragments, upper case and non-ASCII characters are errors. They are never normalized
// silently.
package policy
