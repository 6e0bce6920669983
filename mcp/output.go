package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

const (
	// maxOutputFile is the maximum size of one saved result, in bytes. Page text has fewer
	// characters than bytes, so this is also the limit of characters without maxChars.
	maxOutputFile = 64 << 20
	// maxOutputFiles limits the saved results, because empty files use disk space too.
	maxOutputFiles = 10_000
)

// fileArg is the file in which a result is saved.
type fileArg struct {
	File outputPath `json:"file,omitempty" jsonschema:"save result here"`
}

func (a fileArg) outputPath() outputPath { return a.File }

// textLimit returns the maximum length of the page text of a call, in characters. maxChars is the
// argument, and 0 means the executor's default.
func (a fileArg) textLimit(maxChars int) int {
	if a.File != "" && maxChars == 0 {
		return maxOutputFile
	}
	return maxChars
}

// An outputPath is the path of a file below the output directory. It is empty or passes
// download.CheckPath.
type outputPath string

func (*outputPath) ArgSchema() string { return `"type":"string"` }
func (*outputPath) Expected() string  { return download.PathRule }

func (p *outputPath) DecodeArg(raw json.RawMessage) error {
	s, ok := toolschema.JSONString(raw)
	if !ok {
		return fmt.Errorf("must be %s, got %s", p.Expected(), toolschema.JSONKind(raw))
	}
	if err := download.CheckPath(s); err != nil {
		return fmt.Errorf("%w: %s", err, mcptext.QuoteShort(s))
	}
	*p = outputPath(s)
	return nil
}

// outputPathOf returns the file in which the result of a call is saved, or "".
func outputPathOf(args any) outputPath {
	if a, ok := args.(interface{ outputPath() outputPath }); ok {
		return a.outputPath()
	}
	return ""
}

// A savable result can be saved in a file.
type savable interface {
	mcptext.Result
	// file returns the content of the file. It reports false if there is nothing to save; then the
	// result is returned as without a file.
	file(path outputPath) (fileContent, bool)
	// warnings renders what the reader of the file must know, such as that the text is truncated.
	warnings(*mcptext.Text)
}

// A fileContent is a result in the form in which it is saved.
type fileContent struct {
	data  []byte
	ext   string      // appended to a name without an extension
	facts mcptext.Own // for the text of the result, after the size
	field string      // of the structured result that the file replaces; may be empty
}

// pageFile returns the content of a file with page text: as in the text of a result, but without a
// fence.
func pageFile(content, ext, field string) fileContent {
	return fileContent{data: []byte(mcptext.Clean(content)), ext: ext, field: field}
}

// A fileResult is a result that was saved in a file.
type fileResult struct {
	of    savable
	field string
	facts mcptext.Own
	path  string
	bytes int64
}

func (r fileResult) Render(t *mcptext.Text) {
	facts := mcptext.ByteCount(r.bytes)
	if r.facts != "" {
		facts += ", " + r.facts
	}
	t.Line("saved %s, %s", mcptext.Quote(r.path, mcptext.MaxURL), facts)
	r.of.warnings(t)
}

// MarshalJSON implements json.Marshaler. It returns the structured result with path and bytes in
// place of the content.
func (r fileResult) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(r.of)
	return pagetext.RewriteJSON(raw, func(v any) any {
		fields := v.(map[string]any)
		delete(fields, r.field)
		fields["path"], fields["bytes"] = r.path, r.bytes
		return fields
	}), err
}

// An outputDir is the directory in which a session saves results. It is safe for concurrent use.
type outputDir struct {
	path   string // empty means that results cannot be saved
	max    int64  // bytes in total
	usage  executor.FileUsage
	shared bool // usage is that of Options

	mu  sync.Mutex    // guards dir
	dir *download.Dir // nil until the first result is saved
}

// newOutputDir returns the directory for a new session.
func newOutputDir(opts *Options) *outputDir {
	o := &outputDir{path: opts.OutputDir, max: opts.MaxOutputBytes, usage: opts.OutputUsage, shared: opts.OutputUsage != nil}
	if !o.shared {
		o.usage = new(download.Usage)
	}
	return o
}

// open creates and opens the directory, and checks that only the user can access it and that the
// quota is not used up.
func (o *outputDir) open() error {
	if o.path == "" {
		return toolschema.BadArgs("Omit file.", "file is not available: there is no output directory")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.usage.Reserve(0, 0, o.max-1, maxOutputFiles-1) {
		return o.full()
	}
	if o.dir != nil {
		return nil
	}
	dir, err := download.Open(o.path, maxOutputFile)
	if err == nil {
		if err = owneronly.MakePrivateDir(dir.Path()); err != nil {
			dir.Close()
		}
	}
	if err != nil {
		return outputError(err, "output directory "+o.path)
	}
	o.dir = dir
	return nil
}

// full returns the error of a file that exceeds the total.
func (o *outputDir) full() error {
	if o.shared {
		return executor.Errorf(executor.ErrBackpressure, "Omit file, and read less. The user can remove files, or allow more with Options.MaxOutputBytes.",
			"the saved results of all sessions, such as those in %s, would exceed %s or %d files in total", o.path, mcptext.ByteCount(o.max), maxOutputFiles)
	}
	return executor.Errorf(executor.ErrBackpressure, "Omit file, and read less. A new session can save files again.",
		"the saved results would exceed %s or %d files in total", mcptext.ByteCount(o.max), maxOutputFiles)
}

// save saves a file. open must have succeeded.
func (o *outputDir) save(path outputPath, c fileContent) (f download.File, err error) {
	n := int64(len(c.data))
	if n > maxOutputFile {
		return f, toolschema.BadArgs("Save less. "+executor.HintReadLess, "result of %d bytes exceeds the limit of %d for a file", n, maxOutputFile)
	}
	o.mu.Lock()
	dir := o.dir
	o.mu.Unlock()
	if dir == nil {
		return f, errors.New("the session has ended")
	}
	if !o.usage.Reserve(n, 1, o.max, maxOutputFiles) {
		return f, o.full()
	}
	if f, err = dir.SaveAt(string(path), c.ext, bytes.NewReader(c.data)); err != nil {
		o.usage.Release(n, 1, 0, 0)
		return f, outputError(err, "saving the result")
	}
	o.usage.Release(n, 1, n, 1)
	return f, nil
}

// outputError returns err, an error of package download, for a result that was to be saved.
func outputError(err error, what string) error {
	if e, ok := errors.AsType[*executor.Error](err); ok { // its text is about downloads
		err = cmp.Or(errors.Unwrap(e.Err), e.Err)
	}
	return executor.Errorf(executor.ErrDownloadFailed,
		"Omit file, or ask the user to check that the output directory is a directory that only they can access and that the disk is not full.",
		"%s: %w", what, err)
}

// close closes the directory. Its files remain.
func (o *outputDir) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dir != nil {
		o.dir.Close()
		o.dir = nil
	}
}

// saveResult saves the result of a call in the file at path, and returns the result that names the
// file.
func (s *toolSession) saveResult(path outputPath, out mcptext.Result) (mcptext.Result, error) {
	of, ok := out.(savable)
	if !ok || path == "" {
		return out, nil
	}
	c, ok := of.file(path)
	if !ok {
		return out, nil
	}
	c = s.maskFile(c)
	f, err := s.output.save(path, c)
	if err != nil {
		return nil, err
	}
	return fileResult{of: of, field: c.field, facts: c.facts, path: f.Path, bytes: f.Bytes}, nil
}
