package server

import (
	"crypto/sha256"
	"maps"
	"net"
	"net/http"
	"slices"
)

const (
	// maxEnded bounds the workspaces whose end a server remembers. At the limit, it forgets one of
	// the principal that has the most.
	maxEnded = 256
	// maxClients bounds the clients of a workspace that each learn about its end.
	maxClients = 256
)

// A clientID identifies a client of a principal: its MCP session or, for a client without one, its
// address and User-Agent.
type clientID [sha256.Size]byte

func clientOf(r *http.Request) clientID {
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		return sha256.Sum256([]byte("session\n" + id))
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return sha256.Sum256([]byte("client\n" + host + "\n" + r.UserAgent()))
}

// clients are clients that made calls in a workspace.
type clients map[clientID]bool

// add adds a client unless there are too many.
func (c *clients) add(client clientID) {
	if *c == nil {
		*c = clients{}
	}
	if len(*c) < maxClients {
		(*c)[client] = true
	}
}

// An endedWorkspace is a workspace that has ended.
type endedWorkspace struct {
	key     workspaceKey
	reason  string
	clients clients // those that used it and were not notified of its end
	noticed bool    // whether a client was notified of its end
}

// mustNotice reports whether client used the workspace and was not yet notified of its end. e may be nil.
func (e *endedWorkspace) mustNotice(client clientID) bool { return e != nil && e.clients[client] }

// markNoticed records that client was notified of the end, if it used the workspace. e may be nil.
func (e *endedWorkspace) markNoticed(client clientID) {
	if e.mustNotice(client) {
		delete(e.clients, client)
		e.noticed = true
	}
}

// endedWorkspaces are the workspaces that ended last, the oldest first. A workspace that is open
// again remains until its clients have learned about its end. Its zero value is ready to use.
type endedWorkspaces []*endedWorkspace

// find returns the end of a workspace, or nil if none is remembered.
func (e endedWorkspaces) find(key workspaceKey) *endedWorkspace {
	if i := e.index(key); i >= 0 {
		return e[i]
	}
	return nil
}

func (e endedWorkspaces) index(key workspaceKey) int {
	return slices.IndexFunc(e, func(ws *endedWorkspace) bool { return ws.key == key })
}

// add adds a workspace that has ended, and those who used it.
func (e *endedWorkspaces) add(key workspaceKey, reason string, users clients) {
	ended := &endedWorkspace{key: key, reason: reason, clients: maps.Clone(users)}
	if i := e.index(key); i >= 0 { // it ended before; some of its clients may not have called since
		for client := range (*e)[i].clients {
			ended.clients.add(client)
		}
		*e = slices.Delete(*e, i, i+1)
	}
	*e = append(*e, ended)
	if len(*e) > maxEnded {
		e.forgetOne()
	}
}

// forgetOne removes the oldest workspace of the principal that has the most.
func (e *endedWorkspaces) forgetOne() {
	count, most := map[string]int{}, ""
	for _, ws := range *e {
		if count[ws.key.principal]++; count[ws.key.principal] > count[most] {
			most = ws.key.principal
		}
	}
	i := slices.IndexFunc(*e, func(ws *endedWorkspace) bool { return ws.key.principal == most })
	*e = slices.Delete(*e, i, i+1)
}

// reopen marks a workspace as open again.
func (e *endedWorkspaces) reopen(key workspaceKey) {
	i := e.index(key)
	switch {
	case i < 0:
	case len((*e)[i].clients) == 0:
		*e = slices.Delete(*e, i, i+1)
	default:
		(*e)[i].noticed = true
	}
}
