package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// A limitedValue is a flag value that accepts a fixed set of words, or a list of them.
type limitedValue interface{ allowed() []string }

// A choice is a flag value that is one of a few words. The first is the default.
type choice struct {
	value *string
	words []string
}

// NewChoice returns a flag value that is one of the words, and sets value to the first.
func NewChoice(value *string, words ...string) pflag.Value {
	*value = words[0]
	return &choice{value, words}
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "WORD" }

func (c *choice) allowed() []string { return c.words }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("%q is not %s", s, phrase.List(c.words, "or"))
	}
	*c.value = s
	return nil
}

// A number is an integer from 1 to 1,000,000.
type number struct{ value *int }

// NewNumber returns a flag value that is a number, and sets value to the default.
func NewNumber(value *int, def int) pflag.Value {
	*value = def
	return &number{value}
}

func (n *number) Type() string   { return "N" }
func (n *number) String() string { return strconv.Itoa(*n.value) }

func (n *number) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > 1_000_000 {
		return fmt.Errorf("%q is not a number from 1 to 1000000", s)
	}
	*n.value = v
	return nil
}

// A toolsets is a list of toolsets. Its zero value means the core toolset only.
type toolsets []mcp.Toolset

func (t *toolsets) Type() string { return "LIST" }

func (t *toolsets) allowed() []string {
	names := []string{"all"}
	for _, set := range mcp.Toolsets() {
		names = append(names, string(set))
	}
	return names
}

func (t *toolsets) String() string {
	var names []string
	for _, set := range *t {
		names = append(names, string(set))
	}
	return cmp.Or(strings.Join(names, ","), string(mcp.ToolsCore))
}

func (t *toolsets) Set(s string) (err error) {
	*t, err = mcp.ParseToolsets(s)
	return err
}

// A byteSize is a number of bytes, written with a unit: 512B, 500KB, 20MB or 1GB. Units are powers
// of 1024; KiB, MiB and GiB mean the same. A number without a unit is rejected, because users
// usually mean megabytes.
type byteSize int64

var byteUnits = []struct {
	suffix string // upper case; String uses the first suffix of each size
	size   byteSize
}{
	{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10},
	{"GIB", 1 << 30}, {"MIB", 1 << 20}, {"KIB", 1 << 10}, {"B", 1},
}

func (b *byteSize) Type() string { return "SIZE" }

func (b *byteSize) String() string {
	for _, unit := range byteUnits {
		if *b > 0 && *b%unit.size == 0 {
			return strconv.FormatInt(int64(*b/unit.size), 10) + unit.suffix
		}
	}
	return "0"
}

func (b *byteSize) Set(s string) error {
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(strings.ToUpper(s), unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > (1<<62)/int64(unit.size) {
			break
		}
		*b = byteSize(n) * unit.size
		return nil
	}
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return fmt.Errorf("%q has no unit; write %sMB, or %sB for bytes", s, s, s)
	}
	return fmt.Errorf("%q is not a size such as 20MB", s)
}

// A viewport is the viewport size in CSS pixels.
type viewport struct{ Width, Height int }

func (v *viewport) Type() string   { return "WxH" }
func (v *viewport) String() string { return fmt.Sprintf("%dx%d", v.Width, v.Height) }

func (v *viewport) Set(s string) error {
	w, h, _ := strings.Cut(s, "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if errW != nil || errH != nil || min(width, height) < 100 || max(width, height) > 10_000 {
		return fmt.Errorf("%q is not a size such as 1280x720, of 100 to 10000 pixels", s)
	}
	*v = viewport{width, height}
	return nil
}

// A portFlag is the port of the bridge. Its zero value means the first free port of the default
// range.
type portFlag struct {
	given  bool
	number int
}

func (p *portFlag) Type() string { return "PORT" }

func (p *portFlag) String() string {
	if !p.given {
		return ""
	}
	return strconv.Itoa(p.number)
}

func (p *portFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a port from 0 to 65535", s)
	}
	*p = portFlag{true, int(n)}
	return nil
}

// Option returns the value for bridge.Options.Port.
func (p *portFlag) Option() int {
	if p.given && p.number == 0 {
		return bridge.AnyPort
	}
	return p.number
}

// A logLevel is a log level. Its zero value is warn.
type logLevel struct{ above slog.Level } // relative to warn

func (l *logLevel) Type() string      { return "LEVEL" }
func (l *logLevel) String() string    { return strings.ToLower(l.Level().String()) }
func (l *logLevel) Level() slog.Level { return slog.LevelWarn + l.above }

var logLevels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func (l *logLevel) allowed() []string {
	var names []string
	for _, level := range logLevels {
		names = append(names, strings.ToLower(level.String()))
	}
	return names
}

func (l *logLevel) Set(s string) error {
	for _, level := range logLevels {
		if strings.EqualFold(s, level.String()) {
			l.above = level - slog.LevelWarn
			return nil
		}
	}
	return fmt.Errorf("%q is not debug, info, warn or error", s)
}

// FormatBytes returns a size as a number of the largest unit that is not larger than it.
func FormatBytes(size int64) string {
	for _, unit := range byteUnits {
		if size >= int64(unit.size) {
			return fmt.Sprintf("%.3g %s", float64(size)/float64(unit.size), unit.suffix)
		}
	}
	return fmt.Sprintf("%d B", size)
}
