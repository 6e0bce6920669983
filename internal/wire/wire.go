// Package wire declares the protocol between the bridge and the extension: messages, methods,
// events, codes, limits and the handshake. It is the source of truth; go generate writes the
// extension's copy.
//
// A message is a JSON object in a WebSocket text message. Each has the keys "type" and "v". Until
// the server sends welcome, only handshake messages are allowed:
//
//	hello      extension → server   identity of the extension, and which key it has
//	challenge  server → extension   proof that the server has the key
//	proof      extension → server   proof that the extension has the key
//	welcome    server → extension   the instance id and the policy
//	refused    server → extension   why the handshake failed; then the connection closes
//
// After the handshake:
//
//	command        server → extension
//	result, error  extension → server   the reply to the command with the same id
//	event          extension → server
//	policy         server → extension   the policy changed
//	servers        server → extension   another server started or stopped; search for servers
//	ping, pong     both directions
package wire

import (
	"time"

	"github.com/oklog/ulid/v2"
)

//go:generate go run ../gen wire . ../../extension/wire.js

// Version is the protocol version: "v" of each message. A side that receives another version
// reports it to the user and closes the connection. A change needs another version if an earlier
// extension or server would not do what the change says: that includes a command that it does not
// have, and a member that it ignores although it must enforce it.
const Version = 2

// NativeVersion is the version of the messages between the extension and the native messaging host.
// An extension of another protocol version still finds the servers, which then report the
// difference.
const NativeVersion = 1

// HostName is the name of the native messaging host.
const HostName = "com.chrome_mcp.host"

// A server listens on the first free port of this range by default, so that an extension without a
// native messaging host can find it.
const (
	FirstPort = 38017
	LastPort  = 38032
)

// Limits.
const (
	// MaxHandshakeMessage is the maximum size of a message before welcome, in bytes.
	MaxHandshakeMessage = 64 << 10
	// MaxMessage is the maximum size of a message to the server after welcome, in bytes. Only a
	// full-page screenshot that is too large to be useful exceeds it.
	MaxMessage = 64 << 20
	// MaxQueued is the maximum size of the send queue to the extension, in bytes. If it is full,
	// commands fail with BACKPRESSURE. One message in it may be larger.
	MaxQueued = 8 << 20
)

// Timeouts and intervals.
const (
	// HelloTimeout is how long the server waits for the hello, and again for the proof. Both sides
	// run on the same machine.
	HelloTimeout = 5 * time.Second
	// Heartbeat is the interval of the server's pings. A browser terminates an idle service worker
	// after 30 s.
	Heartbeat = 15 * time.Second
	// MissedHeartbeats is the number of missed pings after which the connection is closed.
	MissedHeartbeats = 2
)

// WebSocket close codes.
const (
	CloseDisplaced = 4000 // a newer connection of the same installation replaced this one
	CloseStopped   = 4002 // the user stopped the server; it accepts no connections until it is restarted
	CloseRefused   = 4401 // the handshake failed, and a Rejection reports why; or the key was revoked
)

// NewID returns a new command id. It is a ULID, so ids sort by time.
func NewID() string { return ulid.Make().String() }
