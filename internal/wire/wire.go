// Package wire declares what the bridge and the extension say to each other:
// frames, methods, events, codes, limits and the handshake. It is the one
// source of truth; go generate writes the extension's copy of it.
//
// A frame is one JSON object in one WebSocket text message. Each has "type"
// and "v". Until the server has sent welcome nothing but the handshake passes:
//
//	hello      extension → server   who I am, and which key I hold
//	challenge  server → extension   proof of the key
//	proof      extension → server   proof of the key
//	welcome    server → extension   the session, and the rules
//	refused    server → extension   why not; then the connection closes
//
// After it:
//
//	command        server → extension
//	result, error  extension → server   the answer to the command of that id
//	event          extension → server
//	policy         server → extension   the rules have changed
//	servers        server → extension   another server came or went: look again
//	ping, pong     both ways
package wire

import (
	"time"

	"github.com/oklog/ulid/v2"
)

//go:generate go run ../gen wire . ../../extension/wire.js

// Version is the version of the protocol: "v" of each frame. A side that gets
// another one says so in words and closes.
const Version = 1

// HostName is the name under which browsers know the native messaging host.
const HostName = "com.chrome_mcp.host"

// A server listens on the first free of these ports, so that an extension
// which has no native messaging host knows where to look.
const (
	FirstPort = 38017
	LastPort  = 38032
)

// The limits.
const (
	// MaxHandshakeFrame is the most bytes in a frame before welcome.
	MaxHandshakeFrame = 64 << 10
	// MaxFrame is the most bytes in a frame to the server after welcome.
	// What is larger is a full-page screenshot that nobody can use.
	MaxFrame = 64 << 20
	// MaxQueued is how many bytes may wait to be sent to the extension
	// before a command is refused with BACKPRESSURE.
	MaxQueued = 8 << 20
)

// The times.
const (
	// HelloTimeout is for the hello, and again for the proof. Both sides run
	// on one machine.
	HelloTimeout = 5 * time.Second
	// Heartbeat is between two pings of the server. A browser ends a silent
	// worker after 30 s.
	Heartbeat = 15 * time.Second
	// MissedHeartbeats end the connection.
	MissedHeartbeats = 2
)

// The codes with which a WebSocket closes.
const (
	CloseDisplaced = 4000 // the same instance has connected anew
	CloseStopped   = 4002 // the user stopped the server: nobody gets in until it starts afresh
	CloseRefused   = 4401 // the handshake failed; a refused frame said why
)

// NewID returns a new id for a command: a ULID, so that ids sort by time.
func NewID() string { return ulid.Make().String() }
