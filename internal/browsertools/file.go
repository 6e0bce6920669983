package browsertools

import (
	"encoding/json"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// MaxOutputFile is the maximum size of one saved result, in bytes. Page text has fewer characters
// than bytes, so this is also the limit of characters without maxChars.
const MaxOutputFile = 64 << 20

// fileArg is the file in which a result is saved.
type fileArg struct {
	File OutputPath `json:"file,omitempty" jsonschema:"save result here"`
}

func (a fileArg) outputPath() OutputPath { return a.File }

// textLimit returns the maximum length of the page text of a call, in characters. maxChars is the
// argument, and 0 means the executor's default.
func (a fileArg) textLimit(maxChars int) int {
	if a.File != "" && maxChars == 0 {
		return MaxOutputFile
	}
	return maxChars
}

// An OutputPath is the path of a file below the output directory. It is empty or passes
// download.CheckPath.
type OutputPath string

func (*OutputPath) ArgSchema() string { return `"type":"string"` }

func (*OutputPath) Expected() string { return download.PathRule }

func (p *OutputPath) DecodeArg(raw json.RawMessage) error {
	s, ok := toolschema.JSONString(raw)
	if !ok {
		return fmt.Errorf("must be %s, got %s", p.Expected(), toolschema.JSONKind(raw))
	}
	if err := download.CheckPath(s); err != nil {
		return fmt.Errorf("%w: %s", err, mcptext.QuoteShort(s))
	}
	*p = OutputPath(s)
	return nil
}

// OutputPathOf returns the file in which the result of a call is saved, or "".
func OutputPathOf(args any) OutputPath {
	if a, ok := args.(interface{ outputPath() OutputPath }); ok {
		return a.outputPath()
	}
	return ""
}

// A Savable result can be saved in a file.
type Savable interface {
	mcptext.Result
	// File returns the content of the file. It reports false if there is nothing to save; then the
	// result is returned as without a file.
	File(path OutputPath) (FileContent, bool)
	// Warnings renders what the reader of the file must know, such as that the text is truncated.
	Warnings(*mcptext.Text)
}

// A FileContent is a result in the form in which it is saved.
type FileContent struct {
	Data  []byte
	Ext   string      // appended to a name without an extension
	Facts mcptext.Own // for the text of the result, after the size
	Field string      // of the structured result that the file replaces; may be empty
}

// pageFile returns the content of a file with page text: as in the text of a result, but without a
// fence.
func pageFile(content, ext, field string) FileContent {
	return FileContent{Data: []byte(mcptext.Clean(content)), Ext: ext, Field: field}
}

// NonNil returns s, or an empty slice if s is nil, because JSON encodes nil as null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
