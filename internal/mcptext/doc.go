// Package mcptext writes the text of results for a model: lines of the server, with the text of
// pages cleaned, bounded, and in fences or quotes.
package mcptext
