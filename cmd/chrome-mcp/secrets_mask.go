package main

import (
	"io"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// A maskedRecorder masks secrets in the entries of an audit log.
type maskedRecorder struct {
	audit.Recorder
	mask func(string) string
}

// Record implements audit.Recorder.
func (r maskedRecorder) Record(e audit.Entry) {
	for _, text := range []*string{&e.Client, &e.Origin, &e.Rule, &e.Tab, &e.Detail} {
		*text = r.mask(*text)
	}
	r.Recorder.Record(e)
}

// A maskedWriter masks secrets in a log. Each Write must contain complete lines.
type maskedWriter struct {
	io.Writer
	mask func(string) string
}

func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, w.mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
