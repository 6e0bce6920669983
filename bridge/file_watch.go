package bridge

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// watchInterval is how often the files are looked at, so that a session ends
// well within a second. Two stats cost less than a watch that every system
// does differently.
const watchInterval = 250 * time.Millisecond

// ErrStoppedByUser is in the chain of the errors of a connection that the user ended
// with chrome-mcp stop, or by removing the handshake file. None begins until the
// server is started again, or told to start afresh.
var ErrStoppedByUser = errors.New("the user stopped it with chrome-mcp stop, or removed its handshake file")

// ErrUnpaired is in the chain of the errors of a connection whose key was taken
// away.
var ErrUnpaired = errors.New("the extension was unpaired")

// watch ends sessions whose file or key was taken away, and tells the
// extensions when other servers come and go.
func (s *Server) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	servers := s.folder.recordPaths()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		s.watchHandshake()
		s.watchPairings()
		if now := s.folder.recordPaths(); !slices.Equal(now, servers) {
			servers = now
			s.notifyServersChanged()
		}
	}
}

// notifyServersChanged has every extension look for servers. One without a native
// messaging host hears of a new one in no other way before its next round.
func (s *Server) notifyServersChanged() {
	for _, i := range s.Instances() {
		i.send(&wire.ServersChange{})
	}
}

func (s *Server) watchHandshake() {
	s.mu.Lock()
	gone := s.published != nil && s.published.removed()
	if gone {
		s.published = nil
	}
	s.mu.Unlock()
	if gone {
		s.log.Warn("handshake file removed: closed all connections; restart the server to accept new ones")
		s.closeAll(ErrStoppedByUser, wire.CloseStopped)
	}
}

func (s *Server) watchPairings() {
	path := s.folder.pairingPath(os.Getpid())
	if info, err := os.Lstat(path); err == nil && expired(info, time.Now()) {
		os.Remove(path)
	}
	for _, i := range s.Instances() {
		if i.key != wire.KeyToken && s.folder.pairedKey(i.id) == nil {
			s.log.Info("an extension was unpaired", "instance", i.id)
			i.end(ErrUnpaired, wire.CloseRefused, wire.ReasonNotPaired)
		}
	}
}
