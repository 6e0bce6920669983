package bridge

import (
	"errors"
	"os"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// refusals are the sentences that a user of the extension reads.
var refusals = map[string]string{
	wire.ReasonBadProof:  "The extension and the server do not hold the same key. Reload the extension; if that does not help, pair it again.",
	wire.ReasonTimeout:   "The extension was silent for too long.",
	wire.ReasonBadHello:  "What the extension said is no handshake. Update chrome-mcp and reload its extension.",
	wire.ReasonNotPaired: "The extension is not paired with this server, or no longer. Pair it in the extension's options.",
}

// stopped is for a server whose sessions were ended by its user.
const stopped = "This server was told to stop: its handshake file was removed. Start it again to go on."

// A refusal is why a handshake failed.
type refusal struct {
	reason  string
	message string // for the user; the reason's own when empty
	cause   string // for the log: one of our texts
	told    bool   // the other side knows, and its connection is closed
	usual   bool   // nothing to warn of: a browser tries its keys on every port
}

// handshake proves both sides to each other over st. It returns the
// connection, which has joined the server's instances, or nil after it has
// refused and closed it.
func (s *Server) handshake(st stream, port int) *Instance {
	s.mu.Lock()
	s.dialed++
	dial := s.dialed
	s.mu.Unlock()

	st.SetReadLimit(wire.MaxHandshakeFrame)
	i, r := s.shake(st, port, dial)
	if r == nil {
		return i
	}
	if r.usual {
		s.log.Debug("a connection was refused: "+r.cause, "reason", r.reason)
	} else {
		s.log.once("a connection was refused: "+r.cause, "reason", r.reason)
	}
	if !r.told {
		s.refuse(st, r)
	}
	return nil
}

// refuse tells st why, and closes it.
func (s *Server) refuse(st stream, r *refusal) {
	message := r.message
	if message == "" {
		message = refusals[r.reason]
	}
	if data, err := wire.Encode(&wire.Refused{Reason: r.reason, Message: message}); err == nil {
		_ = st.Write(s.ctx, data)
	}
	st.Close(wire.CloseRefused, r.reason)
}

func (s *Server) shake(st stream, port int, dial int64) (*Instance, *refusal) {
	frame, r := s.receive(st, "hello")
	if r != nil {
		return nil, r
	}
	hello, ok := frame.(*wire.Hello)
	switch {
	case !ok:
		return nil, &refusal{reason: wire.ReasonBadHello, cause: "the first frame was no hello"}
	case hello.Ext.ID != s.opts.ExtensionID:
		return nil, &refusal{reason: wire.ReasonBadHello, cause: "hello names another extension"}
	}
	key, r := s.key(hello)
	if r != nil {
		return nil, r
	}
	t := &wire.Transcript{ExtensionID: hello.Ext.ID, Instance: hello.Instance, Port: port, NonceS: wire.NewKey()}
	t.NonceC, _ = wire.DecodeKey(hello.Nonce) // the decoder has checked it
	if r := s.tell(st, &wire.Challenge{Nonce: wire.EncodeKey(t.NonceS), MAC: t.ServerMAC(key)}); r != nil {
		return nil, r
	}
	frame, r = s.receive(st, "proof")
	if r != nil {
		return nil, r
	}
	proof, ok := frame.(*wire.Proof)
	switch {
	case !ok:
		return nil, &refusal{reason: wire.ReasonBadHello, cause: "the second frame was no proof"}
	case !t.VerifyClient(key, proof.MAC):
		return nil, &refusal{reason: wire.ReasonBadProof, cause: "the proof is wrong"}
	}

	welcome := &wire.Welcome{
		Session:     s.sessionOf(hello.Instance, hello.Run),
		Server:      wire.Server{Version: s.opts.Version, PID: os.Getpid(), Name: s.opts.Name},
		HeartbeatMs: wire.Heartbeat.Milliseconds(),
		Policy:      s.opts.Policy(),
	}
	if hello.Key == wire.KeyPairing {
		newKey, err := s.folder.redeem(key, hello)
		if err != nil {
			s.log.Error("a pairing was not kept", "error", err)
			return nil, &refusal{reason: wire.ReasonNotPaired, cause: "a pairing string was used up, or the pairing could not be kept"}
		}
		welcome.Pairing = &wire.Pairing{Key: t.Seal(key, newKey)}
		s.log.Info("an extension was paired", "instance", hello.Instance)
	}
	i := s.newInstance(st, hello, welcome.Session, dial)
	i.send(welcome) // the first frame of its queue
	if !s.join(i) {
		i.cancel()
		st.Close(wire.CloseDisplaced, "displaced")
		return nil, &refusal{told: true, cause: "a newer connection of the same browser was there first, or the server ended"}
	}
	if r := s.stillWelcome(hello, key); r != nil { // the key may have been taken back meanwhile
		i.end(errors.New("the key was taken back"), wire.CloseRefused, r.reason)
	}
	return i, nil
}

// stillWelcome reports whether the key of a connection is still good.
func (s *Server) stillWelcome(hello *wire.Hello, key []byte) *refusal {
	if hello.Key == wire.KeyPairing {
		return nil // it is used up, for this connection
	}
	now, r := s.key(hello)
	if r == nil && string(now) != string(key) {
		r = &refusal{reason: wire.ReasonNotPaired}
	}
	return r
}

// key returns the key that a hello names.
func (s *Server) key(hello *wire.Hello) ([]byte, *refusal) {
	s.mu.Lock()
	file := s.published
	s.mu.Unlock()
	if file == nil {
		return nil, &refusal{reason: wire.ReasonNotPaired, message: stopped, cause: "the handshake file was removed"}
	}
	switch hello.Key {
	case wire.KeyBoot:
		return file.token, nil
	case wire.KeyPaired:
		if key := s.folder.pairedKey(hello.Instance); key != nil {
			return key, nil
		}
		return nil, &refusal{reason: wire.ReasonNotPaired, cause: "it is not paired", usual: true}
	}
	if secret := s.folder.pairingSecret(time.Now()); secret != nil {
		return secret, nil
	}
	return nil, &refusal{
		reason: wire.ReasonNotPaired, cause: "no pairing string is open",
		message: "This pairing string was used, or is older than 5 minutes. Get a new one with chrome-mcp --print-pairing.",
	}
}

// receive reads the next frame of a handshake, in time.
func (s *Server) receive(st stream, what string) (wire.Frame, *refusal) {
	late := &refusal{reason: wire.ReasonTimeout, cause: "no " + what + " came in time", told: true}
	// The timer refuses by itself: a context that expired would close the
	// connection without a word.
	told := make(chan struct{})
	timer := time.AfterFunc(wire.HelloTimeout, func() { s.refuse(st, late); close(told) })
	data, err := st.Read(s.ctx)
	if !timer.Stop() {
		<-told
		return nil, late
	}
	switch {
	case errors.Is(err, errBinary), errors.Is(err, errTooLong):
		return nil, &refusal{reason: wire.ReasonBadHello, cause: err.Error()}
	case err != nil:
		return nil, &refusal{reason: wire.ReasonBadHello, cause: "it ended before its " + what}
	}
	frame, err := wire.Decode(data)
	if version, ok := errors.AsType[*wire.VersionError](err); ok {
		return nil, &refusal{
			reason: wire.ReasonBadVersion, cause: "it speaks another version of the protocol",
			message: "Update chrome-mcp and reload its extension: " + version.Error() + ".",
		}
	}
	if err != nil {
		return nil, &refusal{reason: wire.ReasonBadHello, cause: "its " + what + " is malformed"}
	}
	return frame, nil
}

func (s *Server) tell(st stream, f wire.Frame) *refusal {
	data, err := wire.Encode(f)
	if err == nil {
		err = st.Write(s.ctx, data)
	}
	if err != nil {
		return &refusal{reason: wire.ReasonBadHello, cause: "it ended during the handshake"}
	}
	return nil
}
