package readable

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestConvertIn checks that ConvertIn returns the result of ConvertAs.
func TestConvertIn(t *testing.T) {
	for contentType, text := range map[string]string{
		"":                 "<title>Title</title><h1>A page</h1><p>It has <a href=/x>a link</a> &lt;and&gt; text.",
		"application/json": `{"a": "<b>"}`,
	} {
		want, err := ConvertAs(contentType, text, "http://a.example/", Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ConvertIn(t.Context(), contentType, text, "http://a.example/", Options{})
		if err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
}

// endlessName is the name of a process that never responds.
const endlessName = "endless-converter"

func init() {
	child.Handle(endlessName, func(parent *child.Parent) error {
		parent.Receive()
		for n := 0; ; n++ { // like the libraries with some pages; nothing interrupts it
			_ = n
		}
	})
}

// TestConvertInEnds checks that a conversion ends with the context of its caller,
// and uses neither CPU nor memory afterwards.
func TestConvertInEnds(t *testing.T) {
	for name, limit := range map[string]time.Duration{"deadline": 300 * time.Millisecond, "canceled": time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		want := context.DeadlineExceeded
		if name == "canceled" {
			time.AfterFunc(300*time.Millisecond, cancel)
			want = context.Canceled
		}
		ended := make(chan error, 1)
		go func() {
			_, err := convertIn(ctx, endlessName, job{Text: "x"})
			ended <- err
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: the conversion is still running", name)
		}
		cancel()
	}
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	if children, err := self.Children(); err != nil && !errors.Is(err, process.ErrorNoChildren) || len(children) > 0 {
		t.Errorf("processes are left: %v, %v", children, err)
	}
}

// TestConvertInMemory checks that a conversion that needs too much memory returns
// an error.
func TestConvertInMemory(t *testing.T) {
	tier.Slow(t)
	_, err := ConvertIn(t.Context(), "", "<table>"+strings.Repeat("<tr><td colspan=1000>x</td></tr>", 200_000), "", Options{WholePage: true})
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// TestBrackets converts texts for which the library without our escaping needs hours.
func TestBrackets(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", testlog.FloodLength()), strings.Repeat("![", testlog.FloodLength()), strings.Repeat("`", testlog.FloodLength())} {
		for _, contentType := range []string{"", "text/css"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := ConvertIn(ctx, contentType, text, "", Options{WholePage: true}); err != nil {
				t.Errorf("%q in %q: %v", text[:2], contentType, err)
			}
			cancel()
		}
	}
	for text, want := range map[string]string{"[a": "[a", "[a]": `\[a]`, "[a [b] [c": `\[a \[b] [c`, "<p>[a<p>b]": "[a\n\nb]", "[[a](b)": `\[\[a](b)`} {
		if got, err := ConvertAs("", text, "", Options{WholePage: true}); err != nil || got.Markdown != want {
			t.Errorf("%s: %s, %v; want %s", text, got.Markdown, err, want)
		}
	}
}

// TestFloods checks that the conversion of repetitive pages ends at the deadline, together with its
// process, and that this process retains no memory. TestConvertInMemory checks the memory limit of
// the process.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _ = ConvertIn(ctx, "", text, "http://a.example/", Options{})
		_ = tidy(text)
		_ = language(text)
		_ = parseURL(text)
	})
}
