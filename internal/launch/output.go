package launch

import (
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// maxOutput bounds the stored output of a browser. The end is stored. A browser can run and print
// for a long time.
const maxOutput = 16 << 10

// output stores the end of what is written to it. It is safe for concurrent use. The zero value is
// empty.
type output struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails, so that a browser never blocks on its output.
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

// noise lists substrings of lines that browsers also print without a failure.
var noise = []string{
	": unexpected operator",        // Debian's wrapper, always
	"dbus/",                        // no session bus, as in any container
	"zygote_linux.cc",              // a helper process that noticed the exit
	"Connection terminated while ", // because we closed the pipe
	"DevTools listening on",
	"Created TensorFlow Lite",
}

// lastErrorLines returns the last lines of text, at most limit, that may explain why the browser
// exited, without Chromium's log prefixes.
func lastErrorLines(text string, limit int) []string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		if slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(line, n) }) {
			continue
		}
		line = withoutStamp(strings.TrimSpace(line))
		if line == "" {
			continue
		}
		lines = append(lines, pagetext.Truncate(line, 300))
	}
	return lines[max(0, len(lines)-limit):]
}

// withoutStamp removes a prefix such as "[123:123:1121/140858.188251:ERROR:content/x.cc:103] ".
func withoutStamp(line string) string {
	if rest, ok := strings.CutPrefix(line, "["); ok {
		if stamp, text, ok := strings.Cut(rest, "] "); ok &&
			(strings.Contains(stamp, ":ERROR:") || strings.Contains(stamp, ":FATAL:") || strings.Contains(stamp, ":WARNING:")) {
			return text
		}
	}
	return line
}
