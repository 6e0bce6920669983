package server

import (
	"crypto/sha256"
	"maps"
	"net"
	"net/http"
	"slices"
)

const (
	// maxEnded bounds the sessions whose end a server remembers. At the limit, it forgets one of the
	// principal that has the most.
	maxEnded = 256
	// maxClients bounds the clients of a session that each learn about its end.
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

// clients are clients that made calls in a session.
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

// An endedSession is a session that has ended.
type endedSession struct {
	key      sessionKey
	reason   string
	clients  clients // those that used it and have not learned about its end
	reported bool    // whether a client has learned about its end
}

// report reports whether a client must learn about the end of a session that it used, and marks
// that it has. e may be nil.
func (e *endedSession) report(client clientID) bool {
	if e == nil || !e.clients[client] {
		return false
	}
	delete(e.clients, client)
	e.reported = true
	return true
}

// endedSessions are the sessions that ended last, the oldest first. A session that is open again
// remains until its clients have learned about its end. Its zero value is ready to use.
type endedSessions []*endedSession

// find returns the end of a session, or nil if none is remembered.
func (e endedSessions) find(key sessionKey) *endedSession {
	if i := e.index(key); i >= 0 {
		return e[i]
	}
	return nil
}

func (e endedSessions) index(key sessionKey) int {
	return slices.IndexFunc(e, func(ses *endedSession) bool { return ses.key == key })
}

// add adds a session that has ended, and those who used it.
func (e *endedSessions) add(key sessionKey, reason string, users clients) {
	ended := &endedSession{key: key, reason: reason, clients: maps.Clone(users)}
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

// forgetOne removes the oldest session of the principal that has the most.
func (e *endedSessions) forgetOne() {
	count, most := map[string]int{}, ""
	for _, ses := range *e {
		if count[ses.key.principal]++; count[ses.key.principal] > count[most] {
			most = ses.key.principal
		}
	}
	i := slices.IndexFunc(*e, func(ses *endedSession) bool { return ses.key.principal == most })
	*e = slices.Delete(*e, i, i+1)
}

// reopen marks a session as open again.
func (e *endedSessions) reopen(key sessionKey) {
	i := e.index(key)
	switch {
	case i < 0:
	case len((*e)[i].clients) == 0:
		*e = slices.Delete(*e, i, i+1)
	default:
		(*e)[i].reported = true
	}
}
