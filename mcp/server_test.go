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

// hangingNavigation returns a fake whose Navigate returns only when its context is done. started is
// closed when Navigate is called. ended receives the error of its context.
func hangingNavigation() (f *fake, started chan struct{}, ended chan error) {
	started, ended = make(chan struct{}), make(chan error, 1)
	f = &fake{navigate: func(ctx context.Context, _ executor.TabID, _ string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}
	return f, started, ended
}

var toShop = &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(`{"url":"https://user:secret@shop.example/cart?token=1"}`)}

func TestClientCancelsCall(t *testing.T) {
	f, started, ended := hangingNavigation()
	cs := connect(t, NewServer(f, nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
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
			f, started, ended := hangingNavigation()
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
			<-started
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

func TestOneExecutorPerSession(t *testing.T) {
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
			t.Errorf("tabs of the sessions: %s", got)
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
	f, started, ended := hangingNavigation()
	f.listTabs = func(context.Context) ([]executor.Tab, error) { return nil, nil }
	cs := connect(t, NewServer(f, nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { cs.CallTool(ctx, toShop) })
	<-started
	if got := textOf(callTool(t, cs, "tabs_list", "{}")); got != "no tabs are open" {
		t.Errorf("during a hanging call: %q", got)
	}
	cancel()
	<-ended
	wg.Wait()
}

// TestProgress checks that progress notifications arrive once per second, name only the host of the
// URL, and stop when the call returns.
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
			time.Sleep(5 * time.Second) // fake time: no notification may follow
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
			t.Errorf("quick call: %q, want none", got)
		}
		if got := call("5000", nil); got != nil {
			t.Errorf("without a token: %q, want none", got)
		}
	})
}
