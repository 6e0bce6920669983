package readable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
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
		got, err := ConvertIn(t.Context(), nil, contentType, text, "http://a.example/", Options{})
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

// children returns the child processes of this one.
func children(t *testing.T) []*process.Process {
	t.Helper()
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	list, err := self.Children()
	if err != nil && !errors.Is(err, process.ErrorNoChildren) {
		t.Fatal(err)
	}
	return list
}

// interrupt calls convert, and end when the process of the conversion runs. It returns the result of
// convert.
func interrupt(t *testing.T, end func(), convert func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- convert() }()
	await.Until(t, "the process of a conversion", func() bool { return len(ended) > 0 || len(children(t)) > 0 })
	end()
	return await.Receive(t, "the end of a conversion", ended)
}

// TestConvertInEnds checks that a conversion ends with the context of its caller,
// and uses neither CPU nor memory afterwards.
func TestConvertInEnds(t *testing.T) {
	for want, start := range map[error]func(context.Context) (context.Context, func()){
		context.DeadlineExceeded: await.Deadline,
		context.Canceled: func(parent context.Context) (context.Context, func()) {
			return context.WithCancel(parent)
		},
	} {
		ctx, end := start(t.Context())
		err := interrupt(t, end, func() error {
			_, err := convertIn(ctx, nil, endlessName, job{Text: "x"})
			return err
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if list := children(t); len(list) > 0 {
		t.Errorf("processes are left: %v", list)
	}
}

// TestConvertInMemory checks that a conversion that needs too much memory returns
// an error.
func TestConvertInMemory(t *testing.T) {
	tier.Slow(t)
	_, err := ConvertIn(t.Context(), nil, "", "<table>"+strings.Repeat("<tr><td colspan=1000>x</td></tr>", 200_000), "", Options{WholePage: true})
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// TestTooLargeCode checks that a page that is too large is not reported as an internal error.
func TestTooLargeCode(t *testing.T) {
	if code := errs.CodeOf(fmt.Errorf("convert: %w", ErrTooLarge)); code != errs.ErrBackpressure {
		t.Errorf("code %s", code)
	}
}

// TestBrackets converts texts for which the library without our escaping needs minutes or hours.
func TestBrackets(t *testing.T) {
	const n = 500_000
	for _, text := range []string{strings.Repeat("[", n), strings.Repeat("![", n), strings.Repeat("`", n)} {
		for _, contentType := range []string{"", "text/css"} {
			if _, err := ConvertIn(await.Context(t), nil, contentType, text, "", Options{WholePage: true}); err != nil {
				t.Errorf("%q in %q: %v", text[:2], contentType, err)
			}
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
		ctx, pass := await.Deadline(t.Context())
		_ = interrupt(t, pass, func() error {
			_, err := ConvertIn(ctx, nil, "", text, "http://a.example/", Options{})
			return err
		})
		_ = tidy(text)
		_ = language(text)
		_ = parseURL(text)
	})
}
