package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// maxOutputFiles limits the saved results, because empty files use disk space too.
const maxOutputFiles = 10_000

// A fileResult is a result that was saved in a file.
type fileResult struct {
	of    browsertools.Savable
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
	r.of.Warnings(t)
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

// errNoOutputDir is the error of calls that name a file if there is no output directory.
var errNoOutputDir = toolschema.BadArgs("Omit file.", "file is not available: there is no output directory")

// open creates and opens the directory, and checks that only the user can access it and that the
// quota is not used up.
func (o *outputDir) open() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.usage.Reserve(0, 0, o.max-1, maxOutputFiles-1) {
		return o.full()
	}
	if o.dir != nil {
		return nil
	}
	dir, err := download.Open(o.path, browsertools.MaxOutputFile)
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
	return executor.Errorf(executor.ErrBackpressure, "Omit file, and read less. A new session can save files again. The user can allow more with Options.MaxOutputBytes.",
		"the saved results would exceed %s or %d files in total", mcptext.ByteCount(o.max), maxOutputFiles)
}

// save saves a file. open must have succeeded.
func (o *outputDir) save(path browsertools.OutputPath, c browsertools.FileContent) (f download.File, err error) {
	n := int64(len(c.Data))
	if n > browsertools.MaxOutputFile {
		return f, toolschema.BadArgs("Save less. "+executor.HintReadLess, "result of %d bytes exceeds the limit of %d for a file", n, browsertools.MaxOutputFile)
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
	if f, err = dir.SaveAt(string(path), c.Ext, bytes.NewReader(c.Data)); err != nil {
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

// notSaved returns err, the reason why the result of a call of t was not saved. If calling t again may
// have effects again, it says that the call has run.
func (t *tool) notSaved(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || t.kind.hints.readOnly {
		return err
	}
	return executor.Errorf(e.Code, "Check what it did before you try again. "+e.Hint, "the call has run, but its result was not saved: %s", e.Message())
}

// saveResult saves the result of a call of t in the file at path, and returns the result that names the
// file.
func (r *toolRunner) saveResult(t *tool, path browsertools.OutputPath, out mcptext.Result) (mcptext.Result, error) {
	of, ok := out.(browsertools.Savable)
	if !ok || path == "" {
		return out, nil
	}
	c, ok := of.File(path)
	if !ok {
		return out, nil
	}
	c = r.maskFile(c)
	f, err := r.output.save(path, c)
	if err != nil {
		return nil, t.notSaved(err)
	}
	return fileResult{of: of, field: c.Field, facts: c.Facts, path: f.Path, bytes: f.Bytes}, nil
}
