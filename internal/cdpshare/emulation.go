package cdpshare

import (
	"bytes"
	"encoding/json"
)

// An Emulation is what one client at a time emulates in a session. C is a client; its zero value means
// no client. An Emulation is not safe for concurrent use.
type Emulation[C comparable] struct {
	owner    C
	commands map[string]json.RawMessage // parameters, by method
}

// Set records that client c emulates. It returns false and the owner if another client does: that one
// may only repeat what the owner has set. The caller must call undo if the command fails.
func (e *Emulation[C]) Set(c C, command Command) (undo func(), owner C, ok bool) {
	var none C
	if e.owner != none && e.owner != c {
		before, same := e.commands[command.Method]
		return func() {}, e.owner, same && bytes.Equal(before, command.Params)
	}
	if e.owner == none {
		e.owner, e.commands = c, make(map[string]json.RawMessage)
	}
	_, had := e.commands[command.Method]
	e.commands[command.Method] = command.Params
	return func() {
		if e.owner != c || had {
			return
		}
		if delete(e.commands, command.Method); len(e.commands) == 0 {
			e.owner, e.commands = none, nil
		}
	}, c, true
}

// End forgets what client c emulates, and returns the commands that undo it.
func (e *Emulation[C]) End(c C) (undo []Command) {
	var none C
	if c == none || e.owner != c {
		return nil
	}
	for method := range e.commands {
		if c, ok := Neutral(method); ok {
			undo = append(undo, c)
		}
	}
	e.owner, e.commands = none, nil
	return undo
}
