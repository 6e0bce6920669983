package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// responseGrace is how much longer the server waits than the timeout that it sends to the extension,
// so that the extension reports a timeout first.
const responseGrace = 500 * time.Millisecond

// A pending is a command without a response.
type pending struct {
	done    func(json.RawMessage, error)
	ordered bool // done is called from Next
	timer   *time.Timer
	stop    func() bool // of the caller's context
}

// Call sends a command, waits for its response, and decodes it into result unless result is nil. It
// does not wait until earlier events are read; [Conn.Queue] does.
//
// Call returns ErrTimeout after the timeout of the method, the error of ctx if ctx is done, and
// ErrExtensionDisconnected if the connection ends. A call that ends early does not end the
// connection. If the command fails in the extension, the error wraps a *[CommandError].
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	type response struct {
		data json.RawMessage
		err  error
	}
	responses := make(chan response, 1)
	err := c.begin(ctx, method, params, false, func(data json.RawMessage, err error) { responses <- response{data, err} })
	if err != nil {
		return err
	}
	r := <-responses
	if r.err != nil || result == nil {
		return r.err
	}
	if err := json.Unmarshal(r.data, result); err != nil {
		return errs.Errorf(errs.ErrInternal, "Update chrome-mcp and reload its extension.",
			"the extension's response to %s is malformed: %w", method, err)
	}
	return nil
}

// Queue sends a command and does not wait. [Conn.Next] calls done exactly once, in the order in which
// the response arrived among the events. done must not wait for a call of the same Conn. The errors
// are those of [Conn.Call]. If Queue returns an error, done is not called.
func (c *Conn) Queue(ctx context.Context, method string, params any, done func(json.RawMessage, error)) error {
	return c.begin(ctx, method, params, true, done)
}

// begin sends a command. If it returns nil, done is called exactly once.
func (c *Conn) begin(
	ctx context.Context, method string, params any, ordered bool, done func(json.RawMessage, error),
) error {
	if ctx.Err() != nil {
		return contextError(ctx, method)
	}
	raw, err := encodeParams(params)
	if err != nil {
		return errs.Errorf(errs.ErrInternal, "", "params of %s: %w", method, err)
	}
	timeout := wire.Timeout(method, params)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(deadline)), time.Millisecond)
	}
	id := wire.NewID()
	msg, err := wire.Encode(&wire.Command{ID: id, Method: method, Params: raw, TimeoutMs: max(timeout.Milliseconds(), 1)})
	if err != nil {
		return errs.Errorf(errs.ErrInternal, "", "%s: %w", method, err)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.enqueue(msg); err != nil {
		return err
	}
	p := &pending{done: done, ordered: ordered}
	c.pending[id] = p
	p.timer = time.AfterFunc(timeout+responseGrace, func() {
		c.finish(id, nil, &errs.Error{
			Code: errs.ErrTimeout, Retryable: true, Hint: errs.HintExtensionHung,
			Err: fmt.Errorf("the extension did not respond to %s within %v", method, timeout.Round(time.Millisecond)),
		})
	})
	p.stop = context.AfterFunc(ctx, func() { c.finish(id, nil, contextError(ctx, method)) })
	return nil
}

// finish completes a pending command. It reports whether the command was pending.
func (c *Conn) finish(id string, data json.RawMessage, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	if p == nil {
		return false
	}
	delete(c.pending, id)
	c.complete(p, data, err)
	return true
}

// complete passes a response to its command. c.mu must be held, so that no response is queued after
// the end of the events.
func (c *Conn) complete(p *pending, data json.RawMessage, err error) {
	p.timer.Stop()
	p.stop()
	if p.ordered {
		c.events.Put(item{answer: func() { p.done(data, err) }})
	} else {
		p.done(data, err) // does not block
	}
}

// contextError returns the error of a call whose context is done.
func contextError(ctx context.Context, method string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &errs.Error{
			Code: errs.ErrTimeout, Retryable: true, Hint: errs.HintExtensionHung,
			Err: fmt.Errorf("the extension did not respond to %s in time", method),
		}
	}
	return fmt.Errorf("%s: %w", method, cause)
}

// encodeParams encodes params as JSON without HTML escapes. It encodes nil as {}.
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
