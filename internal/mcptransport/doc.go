// Package mcptransport has what the transports of MCP need in addition to the SDK: stdio that
// survives invalid lines, and for HTTP bounded MCP sessions and events, and reports of undelivered
// results.
package mcptransport
