package relay

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// executionContexts are the execution contexts of a session that the client knows. Our isolated world
// is hidden.
type executionContexts struct {
	mu         sync.Mutex // guards the fields below
	byID       map[int64]bool
	byUniqueID map[string]bool
}

func newExecutionContexts() *executionContexts {
	return &executionContexts{byID: map[int64]bool{}, byUniqueID: map[string]bool{}}
}

// created handles Runtime.executionContextCreated, and reports whether the event is for the client.
func (x *executionContexts) created(m *executor.CDPMessage) bool {
	var e struct {
		Context struct {
			ID       int64
			UniqueID string
			Name     string
			AuxData  struct{ IsDefault *bool }
		}
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	isDefault := e.Context.AuxData.IsDefault
	if e.Context.Name == frames.WorldName && isDefault != nil && !*isDefault {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[e.Context.ID] = true
	x.byUniqueID[e.Context.UniqueID] = true
	return true
}

// destroyed handles Runtime.executionContextDestroyed, and reports whether the event is for the
// client.
func (x *executionContexts) destroyed(m *executor.CDPMessage) bool {
	var e struct {
		ID       int64  `json:"executionContextId"`
		UniqueID string `json:"executionContextUniqueId"`
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.byID[e.ID]
	delete(x.byID, e.ID)
	delete(x.byUniqueID, e.UniqueID)
	return known
}

// add adds an execution context whose id is in the result of a command.
func (x *executionContexts) add(id int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[id] = true
}

// clear removes all execution contexts.
func (x *executionContexts) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.byID)
	clear(x.byUniqueID)
}

// knows reports whether the client knows the execution context that a parameter of a command names.
func (x *executionContexts) knows(value []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id, ok := text(value); ok {
		return x.byUniqueID[id]
	}
	if string(value) == "null" {
		return true
	}
	id, err := strconv.ParseFloat(string(value), 64)
	return err == nil && id == math.Trunc(id) && x.byID[int64(id)]
}
