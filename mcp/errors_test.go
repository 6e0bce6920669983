package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

// failingClicks returns a client of a server whose clicks fail with err, and the server's log.
func failingClicks(t *testing.T, err error) (*sdk.ClientSession, *bytes.Buffer) {
	var log bytes.Buffer
	f := &fake{click: func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
		return nil, err
	}}
	opts := &Options{Structured: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	return connect(t, NewServer(f, opts), nil), &log
}

// metaOf returns the machine-readable error of a result.
func metaOf(t *testing.T, res *sdk.CallToolResult) ErrorInfo {
	t.Helper()
	raw, err := json.Marshal(res.Meta[ErrorKey])
	if err != nil {
		t.Fatal(err)
	}
	var m ErrorInfo
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryCodeIsRendered(t *testing.T) {
	for _, code := range executor.Codes() {
		t.Run(string(code), func(t *testing.T) {
			err := &executor.Error{Op: "click", Tab: tab1, Code: code, Err: errors.New("the thing went wrong"), Hint: "Do this instead.", Retryable: true}
			cs, log := failingClicks(t, fmt.Errorf("wrapped: %w", err))
			res := callTool(t, cs, "click", `{"ref":"e1"}`)
			m := metaOf(t, res)
			if !res.IsError || res.StructuredContent != nil {
				t.Errorf("isError %t, structured content %v", res.IsError, res.StructuredContent)
			}
			text, id := textOf(res), ""
			if code == executor.ErrInternal {
				id = m.ID
				if len(id) != 10 || !strings.Contains(log.String(), id) {
					t.Errorf("id %q is not in the log %q", id, log)
				}
				if want := "INTERNAL: The thing went wrong (id " + id + "). Do this instead. The log entry with this id has the details."; text != want {
					t.Errorf("got %q, want %q", text, want)
				}
				return
			}
			if want := string(code) + ": The thing went wrong. Do this instead."; text != want {
				t.Errorf("got %q, want %q", text, want)
			}
			if m.Code != code || m.Message != "the thing went wrong" || m.Hint != "Do this instead." || !m.Retryable || m.ID != "" {
				t.Errorf("_meta has %+v", m)
			}
		})
	}
}

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"bare code", executor.ErrNoBackend, "NO_BACKEND: No backend."},
		{"wrapped code", fmt.Errorf("open the bridge: %w", executor.ErrNoBackend), "NO_BACKEND: Open the bridge: NO_BACKEND."},
		{"code without cause", &executor.Error{Code: executor.ErrTargetGone}, "TARGET_GONE: Target gone."},
		{"argument name is not capitalized", executor.Errorf(executor.ErrBadArgs, "", "button must be left"), "BAD_ARGS: button must be left."},
		{"element", executor.Errorf(executor.ErrNotActionable, "Dismiss it first.", `button "Pay" [ref=e6] is covered by dialog "Cookies" [ref=e20]`),
			`NOT_ACTIONABLE: button "Pay" [ref=e6] is covered by dialog "Cookies" [ref=e20]. Dismiss it first.`},
		{"network error", executor.Errorf(executor.ErrNavigationFailed, "", "net::ERR_NAME_NOT_RESOLVED at https://a/"), "NAVIGATION_FAILED: net::ERR_NAME_NOT_RESOLVED at https://a/."},
		{"newlines, colors and invisible characters", executor.Errorf(executor.ErrEvalFailed, "", "syntax \x1b[31merror\x1b[0m\n\tat\u200b line 1\n"), "EVAL_FAILED: Syntax error at line 1."},
		{"URL's scheme", executor.Errorf(executor.ErrBadArgs, "", "chrome: URLs cannot be opened"), "BAD_ARGS: chrome: URLs cannot be opened."},
		{"tool's name", executor.Errorf(executor.ErrNotActionable, "type takes selector, ref.", "navigate takes a URL"), "NOT_ACTIONABLE: navigate takes a URL. type takes selector, ref."},
		{"flag", executor.Errorf(executor.ErrNoBackend, "--browser names one.", "no browser found"), "NO_BACKEND: No browser found. --browser names one."},
		{"candidates", &executor.Error{
			Code: executor.ErrRefExpired, Err: errors.New("ref e3 is gone"), Hint: "Take a new snapshot.",
			Candidates: []executor.Candidate{{Role: "button", Name: "Pay \"now\"\nand obey", Item: "Ann's \"order\"\n1", Ref: "e7"}, {Role: "link", Name: strings.Repeat("x", 200), Ref: "e8"}},
		}, "REF_EXPIRED: Ref e3 is gone. Take a new snapshot.\nCandidates:\nbutton \"Pay \\\"now\\\"\\nand obey\" in \"Ann's \\\"order\\\" 1\" [ref=e7]\nlink \"" + strings.Repeat("x", 100) + "…\" [ref=e8]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs, _ := failingClicks(t, c.err)
			if got := textOf(callTool(t, cs, "click", `{"ref":"e1"}`)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestUnfinishedCalls checks that a call whose outcome is unknown is retryable only if that cannot do
// anything twice, and that its error says that it may have had effects.
func TestUnfinishedCalls(t *testing.T) {
	var fail error    // of a call
	var during func() // runs during a call
	f := &fake{
		snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
			return nil, fail
		},
		text: func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error) {
			during()
			return nil, fail
		},
		click: func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
			during()
			return &executor.Action{OK: true}, fail
		},
		eval: func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error) {
			during()
			return nil, fail
		},
	}
	const effects = ", and may have had effects. Check what it did before you try again."
	s := NewServer(f, &Options{Tools: Toolsets()}).newRunner(f)
	for _, c := range []struct {
		tool, args string
		cancel     bool // during the call, which then returns an unclassified error
		err        error
		retryable  bool
		want       string
	}{
		{"snapshot", `{}`, false, context.Canceled, true, "TIMEOUT: The call was canceled before it finished."},
		{"get_text", `{}`, true, io.EOF, true, "TIMEOUT: The call was canceled before it finished."},
		{"snapshot", `{}`, false, fmt.Errorf("call: %w", context.DeadlineExceeded), true, "TIMEOUT: The call did not finish in time. Try again."},
		{"click", `{"ref":"e1"}`, false, context.Canceled, false, "TIMEOUT: The call was canceled before it finished" + effects},
		{"click", `{"ref":"e1"}`, false, fmt.Errorf("call: %w", context.DeadlineExceeded), false, "TIMEOUT: The call did not finish in time" + effects},
		{"eval", `{"expression":"pay()"}`, true, io.EOF, false, "TIMEOUT: The call was canceled before it finished" + effects},
		{"batch", `{"calls":[{"tool":"click","args":{"ref":"e1"}},{"tool":"snapshot"}]}`, true, nil, false,
			"TIMEOUT: The call was canceled before it finished" + effects + "\nnote: 1 call within batch has run, 1 with success"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		fail, during = c.err, func() {}
		if c.cancel {
			during = cancel
		}
		res := s.runTool(ctx, s.tool(c.tool), json.RawMessage(c.args), false, nil)
		if got, m := textOf(res), metaOf(t, res); got != c.want || m.Retryable != c.retryable {
			t.Errorf("%s, %v: retryable %t, got %q, want %q", c.tool, c.err, m.Retryable, got, c.want)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before the call runs
	s.opts.Limit = func(ctx context.Context) (func(), error) { return nil, context.Cause(ctx) }
	res := s.runTool(ctx, s.tool("click"), json.RawMessage(`{"ref":"e1"}`), false, nil)
	if got, want := textOf(res), "TIMEOUT: The call was canceled before it finished."; got != want || !metaOf(t, res).Retryable {
		t.Errorf("before the call: got %q, want %q", got, want)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	err := &executor.Error{Code: executor.ErrSelectorNotFound, Err: errors.New(strings.Repeat("long ", 10000))}
	for range 50 {
		err.Candidates = append(err.Candidates, executor.Candidate{Role: "button", Name: "Pay\u200b", Ref: "e1"})
	}
	cs, _ := failingClicks(t, err)
	res := callTool(t, cs, "click", `{"ref":"e1"}`)
	if n := len(textOf(res)); n > mcptext.MaxErrorText+500 {
		t.Errorf("the error has %d bytes", n)
	}
	if c := metaOf(t, res).Candidates; len(c) != maxCandidates || c[0].Name != "Pay" {
		t.Errorf("candidates %v, want %d", c, maxCandidates)
	}
	if err.Candidates[0].Name != "Pay\u200b" {
		t.Error("the executor's error was changed")
	}
}

// TestUnexpectedErrorIsInternal checks that the details of an unexpected error are in the log and
// not in the result.
func TestUnexpectedErrorIsInternal(t *testing.T) {
	cs, log := failingClicks(t, errors.New("secret detail"))
	res := callTool(t, cs, "click", `{"ref":"e1"}`)
	text := textOf(res)
	if !regexp.MustCompile(`^INTERNAL: Internal error in chrome-mcp \(id [a-z2-7]{10}\)\. `).MatchString(text) || strings.Contains(text, "secret") {
		t.Errorf("got %q", text)
	}
	if m := metaOf(t, res); m.Code != executor.ErrInternal || !strings.Contains(log.String(), m.ID) || !strings.Contains(log.String(), "secret detail") {
		t.Errorf("_meta %+v, log %s", m, log)
	}
}

// TestCanceledCallIsNotInternalError checks that an error after the client disconnected, such as
// the EOF of its pipe, is not an internal error and is not logged as one.
func TestCanceledCallIsNotInternalError(t *testing.T) {
	for _, err := range []error{io.EOF, executor.Errorf(executor.ErrInternal, "", "no answer: %w", io.EOF)} {
		var log bytes.Buffer
		s := NewServer(&fake{}, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).newRunner(&fake{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		res := s.renderError(ctx, &coreTools[0], s.classifyError(ctx, &coreTools[0], true, err))
		if got, want := textOf(res), "TIMEOUT: The call was canceled before it finished."; got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
		if m := metaOf(t, res); m.Code != executor.ErrTimeout || log.Len() > 0 {
			t.Errorf("%v: code %s, log %q", err, m.Code, &log)
		}
		// A panic is always an internal error.
		if m := metaOf(t, s.renderError(ctx, &coreTools[0], s.classifyError(ctx, &coreTools[0], true, &panicError{value: "x"}))); m.Code != executor.ErrInternal || log.Len() == 0 {
			t.Errorf("panic: code %s, log %q", m.Code, &log)
		}
	}
}

func TestPanicIsAResult(t *testing.T) {
	var log bytes.Buffer
	calls := 0
	f := &fake{click: func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
		if calls++; calls > 1 {
			return &executor.Action{OK: true}, nil
		}
		panic("secret state")
	}}
	cs := connect(t, NewServer(f, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), nil)
	res := callTool(t, cs, "click", `{"ref":"e1"}`)
	text := textOf(res)
	if !res.IsError || !strings.HasPrefix(text, "INTERNAL: Internal error in chrome-mcp (id ") {
		t.Errorf("got %q", text)
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "goroutine") || strings.Contains(text, ".go:") {
		t.Errorf("the result reveals the panic: %q", text)
	}
	if out := log.String(); !strings.Contains(out, metaOf(t, res).ID) || !strings.Contains(out, "secret state") || !strings.Contains(out, "errors_test.go") {
		t.Errorf("the log lacks the id, the panic or its stack: %s", out)
	}
	if res := callTool(t, cs, "click", `{"ref":"e1"}`); res.IsError {
		t.Errorf("the call after a panic: %s", textOf(res))
	}
}

// TestNilResultIsInternal checks that a nil result without an error, which is a bug of an executor,
// does not end the server.
func TestNilResultIsInternal(t *testing.T) {
	cs, _ := failingClicks(t, nil)
	if text := textOf(callTool(t, cs, "click", `{"ref":"e1"}`)); !strings.HasPrefix(text, "INTERNAL: ") {
		t.Errorf("got %q", text)
	}
}
