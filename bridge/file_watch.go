package bridge

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// watchInterval is how often watch checks the files, so that a connection closes well within a
// second. Two stat calls are cheap, and file notifications differ between operating systems.
const watchInterval = 250 * time.Millisecond

// ErrStoppedByUser is in the error chain of a connection that the user closed with chrome-mcp stop,
// or by removing the handshake file. The server accepts no further connections until it is
// restarted or [Server.Rotate] is called.
var ErrStoppedByUser = errors.New("the user stopped the server with chrome-mcp stop or removed its handshake file")

// ErrUnpaired is in the error chain of a connection whose key was revoked.
var ErrUnpaired = errors.New("the extension was unpaired")

// watch closes connections whose handshake file was removed or whose key was revoked, and notifies
// the extensions when other servers start or stop and when the policy changes. servers are the files
// of the servers at the start.
func (s *Server) watch(servers []string) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		s.watchHandshake()
		s.watchPairings()
		if now := s.dataDir.recordPaths(); !slices.Equal(now, servers) {
			servers = now
			s.notifyServersChanged()
		}
		s.sendPolicy(func(c *Conn, policy wire.Policy) bool { return !reflect.DeepEqual(c.policy, policy) })
	}
}

// notifyServersChanged makes each extension search for servers. Without a native messaging host, an
// extension otherwise finds a new server only in its next periodic search.
func (s *Server) notifyServersChanged() {
	for _, c := range s.Connections() {
		c.send(&wire.ServersChange{})
	}
}

func (s *Server) watchHandshake() {
	s.mu.Lock()
	removed := s.published.Replaced()
	if removed {
		s.published = handshakeFile{}
	}
	s.mu.Unlock()
	if removed {
		s.log.Warn("handshake file removed: closed all connections; restart the server to accept new ones")
		s.closeAll(ErrStoppedByUser, wire.CloseStopped)
	}
}

func (s *Server) watchPairings() {
	path := s.dataDir.pairingPath(os.Getpid())
	if info, err := os.Lstat(path); err == nil && expired(info, time.Now()) {
		os.Remove(path)
	}
	for _, c := range s.Connections() {
		if c.key != wire.KeyToken && s.dataDir.pairedKey(c.installation) == nil {
			s.log.Info("extension unpaired", "installation", c.installation)
			c.end(ErrUnpaired, wire.CloseRefused, wire.ReasonNotPaired)
		}
	}
}
