package mcp

import "github.com/chrome-mcp/chrome-mcp/internal/mcptext"

// CleanPageText returns page text without control characters and other invisible characters, as in
// the results of tools.
func CleanPageText(text string) string { return mcptext.Clean(text) }

// FencePageText returns page text, cleaned, between two marker lines as in the results of tools. The
// first line names the origin of the text. The markers have a random nonce that does not occur in
// the text.
func FencePageText(origin, text string) string { return mcptext.NewFence("").Wrap(origin, text) }
