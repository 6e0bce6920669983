package chromium

import (
	"strings"
	"sync"
)

// maxOutput is how much of what a browser prints is kept: its last words.
// Browsers print all the time, for years.
const maxOutput = 16 << 10

// output keeps the end of what is written to it. It is safe for concurrent
// use; the zero value is empty.
type output struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails: a browser must not block on what it prints.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p[max(0, len(p)-maxOutput):]...)
	if extra := len(o.buf) - maxOutput; extra > 0 {
		o.buf = o.buf[:copy(o.buf, o.buf[extra:])]
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf)
}

// noise is what browsers print when all is well, and what says nothing about
// a failure.
var noise = []string{
	": unexpected operator",        // Debian's wrapper, always
	"dbus/",                        // no session bus, as in any container
	"zygote_linux.cc",              // a helper that noticed the end
	"Connection terminated while ", // our own end of the pipe
	"DevTools listening on",
	"Created TensorFlow Lite",
}

// lastWords returns the last lines of text that may tell why the browser
// ended, without Chromium's time stamps, at most limit of them.
func lastWords(text string, limit int) []string {
	var lines []string
next:
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		for _, n := range noise {
			if strings.Contains(line, n) {
				continue next
			}
		}
		line = withoutStamp(strings.TrimSpace(line))
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > 300 {
			line = string(r[:300]) + "…"
		}
		lines = append(lines, line)
	}
	return lines[max(0, len(lines)-limit):]
}

// withoutStamp cuts "[123:123:1121/140858.188251:ERROR:content/x.cc:103] ".
func withoutStamp(line string) string {
	if rest, ok := strings.CutPrefix(line, "["); ok {
		if stamp, text, ok := strings.Cut(rest, "] "); ok &&
			(strings.Contains(stamp, ":ERROR:") || strings.Contains(stamp, ":FATAL:") || strings.Contains(stamp, ":WARNING:")) {
			return text
		}
	}
	return line
}
