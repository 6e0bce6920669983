// Package panelport is the extension's end of the native port of the side panel, for tests.
package panelport

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/nativemessage"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A Port is connected to a host. Its methods are safe for concurrent use.
type Port struct {
	// Events receives the events of the host. It is closed when the host has closed its output.
	Events chan map[string]any

	t  testing.TB
	in io.Writer

	mu      sync.Mutex // guards the fields below, and writes
	sent    int
	pending map[int]chan map[string]any
}

// Open connects to a host that reads in and writes out.
func Open(t testing.TB, in io.Writer, out io.Reader) *Port {
	t.Helper()
	p := &Port{t: t, in: in, Events: make(chan map[string]any, 100_000), pending: map[int]chan map[string]any{}}
	if err := nativemessage.Write(in, map[string]any{"v": wire.Version, "type": "chats", "installation": "ours"}); err != nil {
		t.Fatal(err)
	}
	var hello map[string]any
	if err := nativemessage.Read(out, nativemessage.MaxToBrowser, &hello); err != nil || hello["type"] != "chats" {
		t.Fatalf("the first message is %v, %v", hello, err)
	}
	go p.read(out)
	return p
}

func (p *Port) read(out io.Reader) {
	defer close(p.Events)
	for {
		var m map[string]any
		if nativemessage.Read(out, nativemessage.MaxToBrowser, &m) != nil {
			return
		}
		id, isAnswer := m["id"].(float64)
		if !isAnswer {
			p.Events <- m
			continue
		}
		p.mu.Lock()
		p.pending[int(id)] <- m
		p.mu.Unlock()
	}
}

// Send sends a request, and returns a channel that receives the answer.
func (p *Port) Send(method string, params any) <-chan map[string]any {
	p.t.Helper()
	p.mu.Lock()
	p.sent++
	id, answer := p.sent, make(chan map[string]any, 1)
	p.pending[id] = answer
	p.mu.Unlock()
	data, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err == nil { // browsers send longer messages than they receive
		_, err = p.in.Write(append(binary.NativeEndian.AppendUint32(nil, uint32(len(data))), data...))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// Answer waits for an answer. It returns the result, or the code and the message of an error.
func (p *Port) Answer(sent <-chan map[string]any) (result map[string]any, failure string) {
	p.t.Helper()
	m := await.Receive(p.t, "the host to answer", sent)
	if e, ok := m["error"].(map[string]any); ok {
		return nil, fmt.Sprintf("%v: %v", e["code"], e["message"])
	}
	return m["result"].(map[string]any), ""
}

// Result waits for the result of a request.
func (p *Port) Result(sent <-chan map[string]any) map[string]any {
	p.t.Helper()
	result, failure := p.Answer(sent)
	if failure != "" {
		p.t.Fatal(failure)
	}
	return result
}

// Call sends a request, and returns its result.
func (p *Port) Call(method string, params any) map[string]any {
	p.t.Helper()
	return p.Result(p.Send(method, params))
}

// Fails sends a request that must fail with a code and a text.
func (p *Port) Fails(code, text, method string, params any) {
	p.t.Helper()
	_, failure := p.Answer(p.Send(method, params))
	if got, message, _ := strings.Cut(failure, ": "); got != code || !strings.Contains(message, text) {
		p.t.Errorf("%s: error %q, want %s with %q", method, failure, code, text)
	}
}

// Until waits for an event that matches.
func (p *Port) Until(what string, matches func(map[string]any) bool) map[string]any {
	p.t.Helper()
	for {
		e := await.Receive(p.t, what, p.Events)
		if e == nil {
			p.t.Fatalf("the host ended before %s", what)
		}
		if matches(e) {
			return e
		}
	}
}
