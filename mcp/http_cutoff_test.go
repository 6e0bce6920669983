package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A cuttable server serves a session whose connections the test can break.
type cuttable struct {
	url    string
	client *http.Client  // all connections of a client
	ended  chan struct{} // receives once for each call that the server has finished with
	broken chan struct{} // receives once for each call whose connection broke
	clicks atomic.Int32  // the beacon: completed actions

	fileName string // of a file that each click downloads; may be empty

	mu       sync.Mutex // guards the fields below
	dialed   []net.Conn // the client's ends
	accepted []net.Conn // the server's ends

	started, proceed chan struct{} // a click has begun; it may end
}

// openCuttable serves a session whose clicks wait for proceed.
func openCuttable(t *testing.T) *cuttable {
	c := &cuttable{ended: make(chan struct{}, 100), broken: make(chan struct{}, 100), started: make(chan struct{}, 1), proceed: make(chan struct{})}
	s := NewServer(&fake{click: func(ctx context.Context, _ executor.TabID, _ executor.Target, _ *executor.ClickOptions) (*executor.Action, error) {
		c.started <- struct{}{}
		select {
		case <-c.proceed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c.clicks.Add(1)
		if c.fileName != "" {
			executor.CallOptionsOf(ctx).OnDownload(executor.Download{SuggestedName: c.fileName, State: "completed"})
		}
		return &executor.Action{}, nil
	}}, nil)
	h, err := s.OpenWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" {
			h.ServeHTTP(w, r)
			return
		}
		defer context.AfterFunc(r.Context(), func() { c.broken <- struct{}{} })()
		h.ServeHTTP(w, r)
		c.ended <- struct{}{}
	}))
	web.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.accepted = append(c.accepted, conn)
		}
	}
	web.Start()
	c.url = web.URL
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			c.mu.Lock()
			c.dialed = append(c.dialed, conn)
			c.mu.Unlock()
		}
		return conn, err
	}}
	c.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		web.Close()
	})
	return c
}

// connect connects a client that reconnects up to retries times.
func (c *cuttable) connect(t *testing.T, version string, retries int) *sdk.ClientSession {
	t.Helper()
	transport := &sdk.StreamableClientTransport{Endpoint: c.url, HTTPClient: c.client, DisableStandaloneSSE: true, MaxRetries: retries}
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// cut breaks all connections, at the client's or at the server's ends. In the second case, the client
// still reads what was sent.
func (c *cuttable) cut(ends *[]net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range *ends {
		conn.Close()
	}
	*ends = nil
}

// loseClick makes a call whose connection breaks while it is running, and waits until the server has
// finished with it.
func (c *cuttable) loseClick(t *testing.T) {
	t.Helper()
	cs := c.connect(t, firstStateless, -1)
	failed := make(chan error, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), clickCall())
		if err == nil {
			err = fmt.Errorf("the result arrived: %s", textOf(res))
		} else {
			err = nil
		}
		failed <- err
	}()
	<-c.started
	c.cut(&c.dialed)
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	<-c.broken
	c.proceed <- struct{}{}
	<-c.ended
}

// clickCall returns a new call, because the SDK changes it.
func clickCall() *sdk.CallToolParams {
	return &sdk.CallToolParams{Name: "click", Arguments: rawArgs(`{"ref":"e1"}`)}
}

const lostClick = "the result of an earlier call of click was not delivered: ok"

// TestLostResultReported breaks the connection of a call. The call is completed once, and the next
// result of the session reports it once.
func TestLostResultReported(t *testing.T) {
	c := openCuttable(t)
	c.loseClick(t)
	if n := c.clicks.Load(); n != 1 {
		t.Errorf("%d clicks", n)
	}
	cs := c.connect(t, firstStateless, -1)
	res := callTool(t, cs, "click", `{"ref":"e1","tabId":"none"}`)
	if text := textOf(res); !res.IsError || strings.Count(text, lostClick) != 1 {
		t.Errorf("the next result: %s", text)
	}
	if note, _ := res.Meta[NoteKey].(string); !strings.HasPrefix(note, lostClick) {
		t.Errorf("_meta is %v", res.Meta)
	}
	if text := textOf(callTool(t, cs, "click", `{"ref":"e1","tabId":"none"}`)); strings.Contains(text, "not delivered") {
		t.Errorf("reported twice: %s", text)
	}
	if n := c.clicks.Load(); n != 1 {
		t.Errorf("%d clicks", n)
	}
}

// TestLostNoteReported breaks the connection of a call whose result reports a download. The next result
// reports the download, which no other call does.
func TestLostNoteReported(t *testing.T) {
	c := openCuttable(t)
	c.fileName = "late.pdf"
	c.loseClick(t)
	text := textOf(callTool(t, c.connect(t, firstStateless, -1), "click", `{"ref":"e1","tabId":"none"}`))
	if strings.Count(text, `download completed "late.pdf"; `+lostClick) != 1 {
		t.Errorf("the next result: %s", text)
	}
}

// TestLostReportIsReportedAgain breaks the connection of a call whose result reports a lost one. The
// next result reports both, to a client of any protocol version.
func TestLostReportIsReportedAgain(t *testing.T) {
	for _, version := range []string{legacy, firstStateless} {
		t.Run(version, func(t *testing.T) {
			c := openCuttable(t)
			c.loseClick(t)
			c.loseClick(t)
			cs := c.connect(t, version, -1)
			text := textOf(callTool(t, cs, "click", `{"ref":"e1","tabId":"none"}`))
			if strings.Count(text, lostClick) != 2 {
				t.Errorf("the next result: %s", text)
			}
			if n := c.clicks.Load(); n != 2 {
				t.Errorf("%d clicks", n)
			}
		})
	}
}

// TestDeliveredResultIsNotReported makes calls whose results arrive.
func TestDeliveredResultIsNotReported(t *testing.T) {
	c := openCuttable(t)
	close(c.proceed)
	cs := c.connect(t, firstStateless, -1)
	for range 20 {
		res, err := cs.CallTool(t.Context(), clickCall())
		if err != nil || res.IsError || strings.Contains(textOf(res), "note:") {
			t.Fatalf("%v, %s", err, textOf(res))
		}
		<-c.started
	}
	cs.Close()
	c.cut(&c.dialed)
	if text := textOf(callTool(t, c.connect(t, firstStateless, -1), "tabs_list", "")); strings.Contains(text, "not delivered") {
		t.Errorf("the next result: %s", text)
	}
}

// TestResumption breaks the connection of a call of a client with an earlier protocol version. The
// client reconnects and receives the result.
func TestResumption(t *testing.T) {
	c := openCuttable(t)
	cs := c.connect(t, legacy, 0)
	result := make(chan string, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), clickCall())
		if err != nil {
			result <- err.Error()
			return
		}
		result <- textOf(res)
	}()
	<-c.started
	c.cut(&c.accepted)
	c.proceed <- struct{}{} // possibly before the client has reconnected
	if got := <-result; !strings.HasPrefix(got, "ok") {
		t.Errorf("the result is %q", got)
	}
	if n := c.clicks.Load(); n != 1 {
		t.Errorf("%d clicks", n)
	}
	if text := textOf(callTool(t, cs, "tabs_list", "")); strings.Contains(text, "not delivered") {
		t.Errorf("the next result: %s", text)
	}
}

func TestOutcomeOf(t *testing.T) {
	for text, want := range map[string]string{
		"ok":                           "ok",
		"ok: \"Pay\"\n<page k x>\nhi":  "ok: \"Pay\"",
		"<page k7f3q2 https://x>\nhi":  "it succeeded",
		"":                             "it succeeded",
		"TIMEOUT: Too slow. Try again": "TIMEOUT: Too slow. Try again",
	} {
		if got := mcptransport.OutcomeOf(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
