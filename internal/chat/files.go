package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"

	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

// maxFile bounds the files that agents read and write, in bytes.
const maxFile = 512 << 10

// readFile answers fs/read_text_file.
func (c *Chat) readFile(params json.RawMessage) (any, *acp.RequestError) {
	var r acp.ReadTextFileRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	var text string
	err := c.inDir(r.SessionId, r.Path, func(root *os.Root, name string) error {
		info, err := root.Stat(name) // first, because opening a pipe would wait
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errors.New("is not a regular file")
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		switch {
		case err != nil:
			return err
		case len(data) > maxFile:
			return fmt.Errorf("is larger than %d bytes", maxFile)
		case !utf8.Valid(data):
			return errors.New("is not text in UTF-8")
		}
		text = linesOf(string(data), r.Line, r.Limit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return acp.ReadTextFileResponse{Content: text}, nil
}

// linesOf returns limit lines of text from line, which is counted from 1. nil means the first line,
// and all lines.
func linesOf(text string, line, limit *int) string {
	lines := strings.SplitAfter(text, "\n")
	if line != nil {
		lines = lines[min(max(*line-1, 0), len(lines)):]
	}
	if limit != nil {
		lines = lines[:min(max(*limit, 0), len(lines))]
	}
	return strings.Join(lines, "")
}

// writeFile answers fs/write_text_file.
func (c *Chat) writeFile(params json.RawMessage) (any, *acp.RequestError) {
	var r acp.WriteTextFileRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	err := c.inDir(r.SessionId, r.Path, func(root *os.Root, name string) error {
		if len(r.Content) > maxFile {
			return fmt.Errorf("would be larger than %d bytes", maxFile)
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		return root.WriteFile(name, []byte(r.Content), 0o600)
	})
	if err != nil {
		return nil, err
	}
	return acp.WriteTextFileResponse{}, nil
}

// inDir calls f with the working directory and the path in it. A link that leads out of the
// directory is an error.
func (c *Chat) inDir(session acp.SessionId, path string, f func(root *os.Root, name string) error) *acp.RequestError {
	invalid := func(text string) *acp.RequestError { return acp.NewInvalidParams(map[string]any{"error": text}) }
	c.mu.Lock()
	known := session == c.session && session != ""
	c.mu.Unlock()
	if !known {
		return invalid("unknown session")
	}
	name, err := filepath.Rel(c.dir, path)
	if !filepath.IsAbs(path) || err != nil || !filepath.IsLocal(name) {
		return invalid("path is not in the working directory")
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return acp.NewInternalError(map[string]any{"error": patherror.Cause(err).Error()})
	}
	defer root.Close()
	if err := f(root, name); err != nil {
		return invalid(fmt.Sprintf("%s: %v", name, patherror.Cause(err)))
	}
	return nil
}
