package bridge

import (
	"context"
	"encoding/json"
)

// An Event reports something that happened in the browser.
type Event struct {
	Name string
	Data json.RawMessage
}

// Next returns the next event of the extension. Before that, it calls the done functions of the
// queued commands whose results arrived before that event. When the connection has ended and every
// event has been read, Next returns the error of [Conn.Err]. When ctx is done, it returns the error
// of ctx. Only one goroutine may call Next at a time.
//
// Events are queued without a limit until they are read, so every Conn must be read.
func (c *Conn) Next(ctx context.Context) (*Event, error) {
	for {
		it, err := c.events.Next(ctx)
		if err != nil {
			return nil, err
		}
		if it.answer == nil {
			return it.event, nil
		}
		it.answer()
	}
}

// An item is an event, or the result of a queued command at its place among the events.
type item struct {
	event  *Event
	answer func()
}
