package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// answerGrace is how much longer the server waits than it tells the extension
// that it does, so that the extension's own word on a timeout comes first.
const answerGrace = 500 * time.Millisecond

// A pending command waits for its answer.
type pending struct {
	done    func(json.RawMessage, error)
	ordered bool // done is called from Next
	timer   *time.Timer
	stop    func() bool // of the caller's context
}

// Call sends a command and waits for its answer, which it decodes into result
// unless that is nil. It does not wait for events before the answer to be
// read; [Instance.Queue] does.
//
// A call ends with its context, with the timeout of its method ([wire.Timeout])
// or with the connection: ErrTimeout or the context's error, and
// ErrExtensionDisconnected. The connection outlives a call that ends early.
// What the extension says of a command that it did not do is a *Problem.
func (i *Conn) Call(ctx context.Context, method string, params, result any) error {
	type answer struct {
		data json.RawMessage
		err  error
	}
	answered := make(chan answer, 1)
	err := i.begin(ctx, method, params, false, func(data json.RawMessage, err error) { answered <- answer{data, err} })
	if err != nil {
		return err
	}
	a := <-answered
	if a.err != nil || result == nil {
		return a.err
	}
	if err := json.Unmarshal(a.data, result); err != nil {
		return executor.Errorf(executor.ErrInternal, "Update chrome-mcp and reload its extension.",
			"the extension's answer to %s is malformed: %w", method, err)
	}
	return nil
}

// Queue sends a command and does not wait. done is called exactly once, from
// [Instance.Next], in the place that the answer had among the events; it must
// not wait for a call of the same instance. The errors are those of
// [Instance.Call]. When Queue returns an error, done is not called.
func (i *Conn) Queue(ctx context.Context, method string, params any, done func(json.RawMessage, error)) error {
	return i.begin(ctx, method, params, true, done)
}

// begin sends a command. done is called exactly once if it returns nil.
func (i *Conn) begin(ctx context.Context, method string, params any, ordered bool, done func(json.RawMessage, error)) error {
	if ctx.Err() != nil {
		return contextError(ctx, method)
	}
	raw, err := encodeParams(params)
	if err != nil {
		return executor.Errorf(executor.ErrInternal, "", "params of %s: %w", method, err)
	}
	timeout := wire.Timeout(method, params)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(deadline)), time.Millisecond)
	}
	id := wire.NewID()
	frame, err := wire.Encode(&wire.Command{ID: id, Method: method, Params: raw, TimeoutMs: max(timeout.Milliseconds(), 1)})
	if err != nil {
		return executor.Errorf(executor.ErrInternal, "", "%s: %w", method, err)
	}

	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.enqueue(frame); err != nil {
		return err
	}
	p := &pending{done: done, ordered: ordered}
	i.pending[id] = p
	p.timer = time.AfterFunc(timeout+answerGrace, func() {
		i.finish(id, nil, &executor.Error{
			Code: executor.ErrTimeout, Retryable: true,
			Err: fmt.Errorf("the extension did not answer %s within %v", method, timeout.Round(time.Millisecond)),
		})
	})
	p.stop = context.AfterFunc(ctx, func() { i.finish(id, nil, contextError(ctx, method)) })
	return nil
}

// finish gives a pending command its answer. It reports whether somebody was
// waiting for it.
func (i *Conn) finish(id string, data json.RawMessage, err error) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := i.pending[id]
	if p == nil {
		return false
	}
	delete(i.pending, id)
	i.complete(p, data, err)
	return true
}

// complete hands over an answer. i.mu is held, so that no answer comes into the
// events after their end.
func (i *Conn) complete(p *pending, data json.RawMessage, err error) {
	p.timer.Stop()
	p.stop()
	if p.ordered {
		i.events.Put(item{answer: func() { p.done(data, err) }})
	} else {
		p.done(data, err) // only puts it where the call waits
	}
}

// contextError is the error of a call whose context is done.
func contextError(ctx context.Context, method string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: fmt.Errorf("the extension did not answer %s in time", method)}
	}
	return fmt.Errorf("%s: %w", method, cause)
}

// encodeParams writes params, nil as {}, without escapes that only pages need.
func encodeParams(params any) (json.RawMessage, error) {
	if params == nil {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(params)
	return bytes.TrimSpace(b.Bytes()), err
}
