package input

import (
	"fmt"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// typography replaces the characters that editors make of typed ones by those, as the text
// transformations of CKEditor and the typography extension of TipTap do. A dash may be made of two
// or three hyphens.
var typography = strings.NewReplacer(
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "‘", "'", "’", "'", "‚", "'", "‛", "'", "«", "<<", "»", ">>",
	"---", "-", "--", "-", "—", "-", "–", "-", "…", "...", "→", "->", "←", "<-",
	"≤", "<=", "≥", ">=", "≠", "!=", "±", "+/-", "²", "^2", "³", "^3",
	"½", "1/2", "⅓", "1/3", "⅔", "2/3", "¼", "1/4", "¾", "3/4",
	"©", "(c)", "®", "(r)", "™", "(tm)", "℠", "(sm)",
)

// typographyNote returns the note on a line that contains want in typographic characters instead of
// the typed ones, or "".
func typographyNote(line, want string) string {
	if want == "" || strings.Contains(line, want) || !strings.Contains(typography.Replace(line), typography.Replace(want)) {
		return ""
	}
	return fmt.Sprintf("the editor changed punctuation: the text is now %q", pagetext.FirstLine(line))
}
