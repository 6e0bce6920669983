package mcptransport

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

// An EventStore keeps the last messages to the clients of one session, for clients that reconnect
// with Last-Event-ID. It keeps those that belong to a request. sdk.MemoryEventStore keeps an entry
// for each response until the client ends its MCP session; clients that never do that would fill
// the memory. The zero value is ready to use. It implements sdk.EventStore.
type EventStore struct {
	mu      sync.Mutex // guards the fields below
	bytes   int
	streams []*eventStream // the oldest first
}

// An eventStream is the messages in the responses to one request.
type eventStream struct {
	session, name string
	data          [][]byte
	bytes         int
}

// standalone is the name of the stream of messages that belong to no request.
const standalone = ""

func (e *EventStore) Open(_ context.Context, session, stream string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stream != standalone && e.find(session, stream) == nil {
		e.streams = append(e.streams, &eventStream{session: session, name: stream})
		e.trim()
	}
	return nil
}

func (e *EventStore) Append(_ context.Context, session, stream string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stream == standalone {
		return nil
	}
	s := e.find(session, stream)
	if s == nil {
		return sdk.ErrEventsPurged
	}
	s.data = append(s.data, data)
	s.bytes += len(data)
	e.bytes += len(data)
	e.trim()
	return nil
}

// find returns a stream, or nil. e.mu must be held.
func (e *EventStore) find(session, stream string) *eventStream {
	for _, s := range slices.Backward(e.streams) {
		if s.name == stream && s.session == session {
			return s
		}
	}
	return nil
}

// trim removes the oldest streams until the limits are met. e.mu must be held.
func (e *EventStore) trim() {
	for len(e.streams) > 0 && (e.bytes > maxEventBytes || len(e.streams) > maxEventStreams) {
		e.bytes -= e.streams[0].bytes
		e.streams = slices.Delete(e.streams, 0, 1)
	}
}

func (e *EventStore) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	e.mu.Lock()
	defer e.mu.Unlock()
	var events [][]byte
	switch s := e.find(session, stream); {
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

func (e *EventStore) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams = slices.DeleteFunc(e.streams, func(s *eventStream) bool {
		if s.session == session {
			e.bytes -= s.bytes
		}
		return s.session == session
	})
	return nil
}
