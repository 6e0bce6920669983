package mcp

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stuck returns a fake whose navigation ends with its context only, a channel
// that says that it began, and one that has the error it ended with.
func stuck() (f *fake, began chan struct{}, ended chan error) {
	began, ended = make(chan struct{}), make(chan error, 1)
	f = &fake{navigate: func(ctx context.Context, _ executor.TabID, _ string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}
	return f, began, ended
}

var toShop = &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(`{"url":"https://user:secret@shop.example/cart?token=1"}`)}

func TestClientCancelsACall(t *testing.T) {
	f, began, ended := stuck()
	cs := connect(t, NewServer(f, nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := cs.CallTool(ctx, toShop); !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the executor's context ended with %v", err)
	}
}

func TestRunEndsRunningCalls(t *testing.T) {
	for _, how := range []string{"context", "disconnect"} {
		t.Run(how, func(t *testing.T) {
			f, began, ended := stuck()
			closed := make(chan struct{})
			f.close = func() error { close(closed); return nil }
			open := func(context.Context) (executor.Executor, error) { return f, nil }
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			run := make(chan error, 1)
			go func() {
				run <- NewSessionServer(open, nil).Run(ctx, &sdk.IOTransport{Reader: inR, Writer: outW})
			}()
			var wg sync.WaitGroup
			wg.Go(func() { io.Copy(io.Discard, outR) })
			io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"navigate","arguments":{"url":"https://shop.example/"}}}
`)
			<-began
			want := error(nil)
			if how == "context" {
				want = context.Canceled
				cancel()
			} else {
				inW.Close()
			}
			if err := <-run; !errors.Is(err, want) {
				t.Errorf("Run: %v, want %v", err, want)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the call's context ended with %v", err)
			}
			<-closed // the session's executor is closed by the time Run returns
			inW.Close()
			outW.Close()
			wg.Wait()
		})
	}
}

func TestOneExecutorASession(t *testing.T) {
	var mu sync.Mutex
	var closed []int
	opened := 0
	open := func(context.Context) (executor.Executor, error) {
		mu.Lock()
		defer mu.Unlock()
		opened++
		n := opened
		return &fake{
			listTabs: func(context.Context) ([]executor.Tab, error) {
				return []executor.Tab{{ID: executor.NewTabID("cdp", "b7", string(rune('0'+n))), URL: shop}}, nil
			},
			close: func() error {
				mu.Lock()
				defer mu.Unlock()
				closed = append(closed, n)
				return nil
			},
		}, nil
	}
	t.Run("two", func(t *testing.T) {
		s := NewSessionServer(open, nil)
		a, b := connect(t, s, nil), connect(t, s, nil)
		if got := textOf(callTool(t, a, "tabs_list", "")) + textOf(callTool(t, b, "tabs_list", "")); got != `cdp:b7:1 "`+shop+`"cdp:b7:2 "`+shop+`"` {
			t.Errorf("the sessions see %s", got)
		}
	})
	slices.Sort(closed)
	if !slices.Equal(closed, []int{1, 2}) {
		t.Errorf("closed %v, want both", closed)
	}

	failed := errors.New("no more")
	s := NewSessionServer(func(context.Context) (executor.Executor, error) { return nil, failed }, nil)
	if err := s.Run(t.Context(), nil); !errors.Is(err, failed) {
		t.Errorf("Run without an executor: %v", err)
	}
}

func TestCallsRunInParallel(t *testing.T) {
	f, began, ended := stuck()
	f.listTabs = func(context.Context) ([]executor.Tab, error) { return nil, nil }
	cs := connect(t, NewServer(f, nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { cs.CallTool(ctx, toShop) })
	<-began
	if got := textOf(callTool(t, cs, "tabs_list", "{}")); got != "no tabs are open" {
		t.Errorf("beside a call that hangs: %q", got)
	}
	cancel()
	<-ended
	wg.Wait()
}

// Progress comes once a second after the first, names the host and no more of
// the URL, and stops with the call.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		var values []float64
		opts := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			if req.Params.ProgressToken != "p1" {
				t.Errorf("progress for %v", req.Params.ProgressToken)
			}
			got = append(got, req.Params.Message)
			values = append(values, req.Params.Progress)
		}}
		f := &fake{navigate: func(_ context.Context, _ executor.TabID, url string, o *executor.NavigateOptions) (*executor.Navigation, error) {
			time.Sleep(o.Timeout)
			return &executor.Navigation{TabID: tab1, URL: url}, nil
		}}
		cs := connect(t, NewServer(f, nil), opts)
		call := func(ms string, token any) []string {
			params := &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(`{"url":"https://user:secret@shop.example/cart?token=1","timeoutMs":` + ms + `}`)}
			if token != nil {
				params.SetProgressToken(token)
			}
			if _, err := cs.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second) // of the fake clock: nothing may follow
			mu.Lock()
			defer mu.Unlock()
			defer func() { got = nil }()
			return got
		}
		if got, want := call("2500", "p1"), []string{"waiting for the browser and load of shop.example, 1 s", "waiting for the browser and load of shop.example, 2 s"}; !slices.Equal(got, want) {
			t.Errorf("first call: %q, want %q", got, want)
		}
		if !slices.Equal(values, []float64{1, 2}) {
			t.Errorf("progress %v, want 1 and 2", values)
		}
		if got, want := call("1500", "p1"), []string{"waiting for load of shop.example, 1 s"}; !slices.Equal(got, want) {
			t.Errorf("second call: %q, want %q", got, want)
		}
		if got := call("900", "p1"); got != nil {
			t.Errorf("a quick call: %q, want none", got)
		}
		if got := call("5000", nil); got != nil {
			t.Errorf("without a token: %q, want none", got)
		}
	})
}
