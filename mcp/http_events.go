package mcp

import (
	"context"
	"iter"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxEventBytes bounds the messages that a session stores for clients that reconnect.
	maxEventBytes = 8 << 20
	// maxEventStreams bounds the streams whose messages it stores.
	maxEventStreams = 1024
)

// An eventStore keeps the last messages to the clients of one session, for clients that reconnect
// with Last-Event-ID. It keeps those that belong to a request. sdk.MemoryEventStore keeps an entry
// for each response until the client ends its MCP session; clients that never do that would fill
// the memory.
type eventStore struct {
	mu      sync.Mutex // guards the fields below
	bytes   int
	streams map[eventStream]*streamEvents
	order   []eventStream // the streams with an entry, the oldest first
}

// An eventStream is the stream of messages in the responses to one request.
type eventStream struct{ session, stream string }

// standalone is the name of the stream of messages that belong to no request.
const standalone = ""

// streamEvents are the messages of a stream.
type streamEvents struct {
	data  [][]byte
	bytes int
}

func newEventStore() *eventStore { return &eventStore{streams: map[eventStream]*streamEvents{}} }

// Open implements sdk.EventStore.
func (e *eventStore) Open(_ context.Context, session, stream string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := eventStream{session, stream}
	if stream == standalone || e.streams[key] != nil {
		return nil
	}
	e.streams[key] = &streamEvents{}
	e.order = append(e.order, key)
	e.trim()
	return nil
}

// Append implements sdk.EventStore.
func (e *eventStore) Append(_ context.Context, session, stream string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stream == standalone {
		return nil
	}
	s := e.streams[eventStream{session, stream}]
	if s == nil {
		return sdk.ErrEventsPurged
	}
	s.data = append(s.data, data)
	s.bytes += len(data)
	e.bytes += len(data)
	e.trim()
	return nil
}

// trim removes the oldest streams until the limits are met. e.mu must be held.
func (e *eventStore) trim() {
	for len(e.order) > 0 && (e.bytes > maxEventBytes || len(e.order) > maxEventStreams) {
		e.remove(e.order[0])
		e.order = e.order[1:]
	}
}

func (e *eventStore) remove(key eventStream) {
	e.bytes -= e.streams[key].bytes
	delete(e.streams, key)
}

// After implements sdk.EventStore.
func (e *eventStore) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	e.mu.Lock()
	defer e.mu.Unlock()
	var events [][]byte
	switch s := e.streams[eventStream{session, stream}]; {
	case stream == standalone:
	case s == nil:
		return func(yield func([]byte, error) bool) { yield(nil, sdk.ErrEventsPurged) }
	default:
		events = slices.Clone(s.data[min(index+1, len(s.data)):])
	}
	return func(yield func([]byte, error) bool) {
		for _, data := range events {
			if !yield(data, nil) {
				return
			}
		}
	}
}

// SessionClosed implements sdk.EventStore.
func (e *eventStore) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order = slices.DeleteFunc(e.order, func(key eventStream) bool { return key.session == session })
	for key := range e.streams {
		if key.session == session {
			e.remove(key)
		}
	}
	return nil
}
