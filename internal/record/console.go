package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/redact"
)

// A scriptLocation is a position in a script. The zero value means that it is unknown.
type scriptLocation struct {
	url  string
	line int64
}

func newScriptLocation(url string, line int64) scriptLocation {
	if url == "" {
		return scriptLocation{}
	}
	return scriptLocation{pagetext.Truncate(url, maxRecordText), line + 1}
}

// redactedString returns the URL and the line. It returns only the origin of a URL that visible
// rejects.
func (l scriptLocation) redactedString(visible func(url string) bool) string {
	switch {
	case l.url == "":
		return ""
	case !visible(l.url):
		return frames.OriginOfURL(l.url)
	}
	return fmt.Sprintf("%s:%d", redact.Secrets(l.url), l.line)
}

type consoleRecord struct {
	level  executor.ConsoleLevel
	text   string
	at     scriptLocation
	time   runtime.Timestamp
	nested *nestedArguments // nil if text is complete
}

type errorRecord struct {
	text      string
	rejection bool
	at        scriptLocation
	source    scriptSource
	time      runtime.Timestamp
}

// levels are the console levels in order of increasing severity.
var levels = []executor.ConsoleLevel{executor.ConsoleDebug, executor.ConsoleInfo, executor.ConsoleWarning, executor.ConsoleError}

// ConsoleCalled records a console message.
func (r *Recorder) ConsoleCalled(s *frames.State, sess *cdpconn.Session, e runtime.EventConsoleAPICalled) {
	level := executor.ConsoleInfo
	switch e.Type {
	case "debug":
		level = executor.ConsoleDebug
	case "warning":
		level = executor.ConsoleWarning
	case "error", "assert":
		level = executor.ConsoleError
	case "clear", "endGroup", "profile", "profileEnd":
		return
	}
	r.record(s, sess, e.ExecutionContextID, e.Timestamp, func(l *activityLog, path []*frames.Document) {
		parts := consoleParts(e.Args)
		m := consoleRecord{level, joinParts(parts), stackLocation(e.StackTrace), e.Timestamp, newNestedArguments(e.Args, parts)}
		l.console.put(m, len(m.text)+len(m.at.url)+m.nested.size(), path)
	})
}

// ExceptionThrown records an uncaught error. scripts are those of the tab.
func (r *Recorder) ExceptionThrown(s *frames.State, sess *cdpconn.Session, e runtime.EventExceptionThrown, scripts *Scripts) {
	d := e.ExceptionDetails
	if d == nil {
		return
	}
	r.record(s, sess, d.ExecutionContextID, e.Timestamp, func(l *activityLog, path []*frames.Document) {
		text := d.Text
		if d.Exception != nil {
			text = remoteText(d.Exception)
		}
		at := cmp.Or(stackLocation(d.StackTrace), newScriptLocation(d.URL, d.LineNumber))
		m := errorRecord{pagetext.Truncate(text, maxRecordText), strings.Contains(d.Text, "(in promise)"), at, scripts.sourceOf(d), e.Timestamp}
		l.errors.put(m, len(m.text)+len(m.at.url), path)
	})
}

// record calls add for a console message or error with the time at, if it must be
// recorded. path is the document that it is from and the documents around it.
func (r *Recorder) record(s *frames.State, sess *cdpconn.Session, context runtime.ExecutionContextID, at runtime.Timestamp, add func(l *activityLog, path []*frames.Document)) {
	if !r.accepts(at) {
		return
	}
	path := s.Path(s.FrameOf(sess, context, false))
	if path == nil {
		return
	}
	r.update(func(l *activityLog) {
		if !l.alreadyRecorded(at) {
			add(l, path)
		}
	})
}

// stackLocation returns the position of the newest call on a stack.
func stackLocation(s *runtime.StackTrace) scriptLocation {
	if s == nil || len(s.CallFrames) == 0 {
		return scriptLocation{}
	}
	return newScriptLocation(s.CallFrames[0].URL, s.CallFrames[0].LineNumber)
}

// A consolePart is the text of one argument of a call. The first argument is a format if it is a
// string.
type consolePart struct {
	text     string
	isString bool
}

// consoleParts returns the texts of the first arguments of a call.
func consoleParts(args []*runtime.RemoteObject) []consolePart {
	var parts []consolePart
	size := 0
	for _, a := range args {
		if a == nil {
			continue
		}
		part := consolePart{pagetext.Truncate(remoteText(a), maxRecordText), a.Type == "string"}
		parts = append(parts, part)
		if size += len(part.text); size > 4*maxRecordText {
			break
		}
	}
	return parts
}

// joinParts returns the text that a console shows for the arguments of a call.
func joinParts(parts []consolePart) string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.text)
	}
	if len(texts) > 1 && parts[0].isString && strings.Contains(texts[0], "%") {
		texts = fillFormat(texts)
	}
	return pagetext.Truncate(strings.Join(texts, " "), maxRecordText)
}

// fillFormat formats the arguments of a call. The first one is the format.
func fillFormat(parts []string) []string {
	var b strings.Builder
	format, rest := parts[0], parts[1:]
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		switch c := format[i+1]; {
		case c == '%':
			b.WriteByte('%')
		case strings.IndexByte("sdifoOc", c) < 0 || len(rest) == 0:
			b.WriteByte('%')
			continue
		default:
			if c != 'c' { // %c sets the style
				b.WriteString(rest[0])
			}
			rest = rest[1:]
		}
		i++
	}
	return append([]string{b.String()}, rest...)
}

// CheckLevel returns ErrBadArgs for an unknown level. "" means all.
func CheckLevel(level executor.ConsoleLevel) error {
	if level == "" || slices.Contains(levels, level) {
		return nil
	}
	return executor.Errorf(executor.ErrBadArgs, "Use debug, info, warning or error.", "level %q is unknown", string(level))
}

// Console returns the console messages after the one with the number after, and the number of the
// last one.
func (r *Recorder) Console(ctx context.Context, visible Visibility, after int, o executor.ConsoleOptions) (res *executor.Console, last int) {
	res, last = &executor.Console{Messages: []executor.ConsoleMessage{}}, after
	var items []numbered[consoleRecord]
	r.update(func(l *activityLog) {
		items, res.Dropped = l.console.since(after)
		last = l.console.last
	})
	minLevel := max(slices.Index(levels, o.Level), 0)
	items = slices.DeleteFunc(items, func(e numbered[consoleRecord]) bool {
		return slices.Index(levels, e.item.level) < minLevel || !visible.Records(e.path)
	})
	res.Matched = len(items)
	items = newestOf(items, o.Limit)
	r.readNested(ctx, visible, items)
	for _, e := range items {
		text := cmp.Or(e.item.nested.read(), e.item.text)
		res.Messages = append(res.Messages, executor.ConsoleMessage{Level: e.item.level, Text: redact.Secrets(text), At: e.item.at.redactedString(visible.URL), Time: timeOf(e.item.time)})
	}
	return res, last
}

// PageErrors returns uncaught errors of the page.
func (r *Recorder) PageErrors(visible Visibility, o executor.PageErrorsOptions) *executor.PageErrors {
	res := &executor.PageErrors{}
	var items []numbered[errorRecord]
	r.update(func(l *activityLog) { items, res.Dropped = l.errors.since(0) })
	list := []executor.PageError{}
	for _, e := range items {
		if visible.Records(e.path) {
			text := redact.Secrets(redactStack(e.item.source.visible(e.item.text, visible.URL), visible.URL))
			list = append(list, executor.PageError{Text: text, Rejection: e.item.rejection, At: e.item.at.redactedString(visible.URL), Time: timeOf(e.item.time)})
		}
	}
	res.Matched, res.Errors = len(list), newestOf(list, o.Limit)
	return res
}

// stackURL matches the URL in a line of a stack trace.
var stackURL = lazyregexp.New(`(?m)^(\s+at .*?)([a-z]+://[^\s()]+?)(:\d+:\d+)(\)?)$`)

// redactStack returns the text of an error, and replaces each URL in its stack trace that visible
// rejects with the origin of the URL.
func redactStack(text string, visible func(url string) bool) string {
	return stackURL().ReplaceAllStringFunc(text, func(line string) string {
		m := stackURL().FindStringSubmatch(line)
		if visible(m[2]) {
			return line
		}
		return m[1] + frames.OriginOfURL(m[2]) + m[4]
	})
}

func timeOf(t runtime.Timestamp) time.Time { return time.UnixMilli(int64(t)).UTC() }
