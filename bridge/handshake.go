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
	wire.ReasonTimeout:   "Handshake timed out.",
	wire.ReasonBadHello:  "Invalid handshake. Update chrome-mcp and reload the extension.",
	wire.ReasonNotPaired: "The extension is not paired with this server, or no longer. Pair it in the extension's options.",
}

// stopped is for a server whose sessions were ended by its user.
const stopped = "This server was told to stop: its handshake file was removed. Start it again to go on."

// A handshakeError is why a handshake failed.
type handshakeError struct {
	reason       string
	message      string // for the user; the reason's own when empty
	cause        string // for the log: one of our texts
	peerNotified bool   // the other side knows, and its connection is closed
	expected     bool   // nothing to warn of: a browser tries its keys on every port
}

// handshake proves both sides to each other over st. It returns the
// connection, which has joined the server's instances, or nil after it has
// refused and closed it.
func (s *Server) handshake(st stream, port int) *Conn {
	s.mu.Lock()
	s.dialed++
	dial := s.dialed
	s.mu.Unlock()

	st.SetReadLimit(wire.MaxHandshakeFrame)
	i, r := s.handshakeSteps(st, port, dial)
	if r == nil {
		return i
	}
	if r.expected {
		s.log.Debug("a connection was refused: "+r.cause, "reason", r.reason)
	} else {
		s.log.once("a connection was refused: "+r.cause, "reason", r.reason)
	}
	if !r.peerNotified {
		s.refuse(st, r)
	}
	return nil
}

// refuse tells st why, and closes it.
func (s *Server) refuse(st stream, r *handshakeError) {
	message := r.message
	if message == "" {
		message = refusals[r.reason]
	}
	if data, err := wire.Encode(&wire.RejectedMessage{Reason: r.reason, Message: message}); err == nil {
		_ = st.Write(s.ctx, data)
	}
	st.Close(wire.CloseRefused, r.reason)
}

func (s *Server) handshakeSteps(st stream, port int, dial int64) (*Conn, *handshakeError) {
	frame, r := s.receive(st, "hello")
	if r != nil {
		return nil, r
	}
	hello, ok := frame.(*wire.Hello)
	switch {
	case !ok:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "first message is not hello"}
	case hello.Ext.ID != s.opts.ExtensionID:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "hello names another extension"}
	}
	key, r := s.key(hello)
	if r != nil {
		return nil, r
	}
	t := &wire.Transcript{ExtensionID: hello.Ext.ID, Instance: hello.Instance, Port: port, NonceS: wire.NewKey()}
	t.NonceC, _ = wire.DecodeKey(hello.Nonce) // the decoder has checked it
	if r := s.sendHandshake(st, &wire.Challenge{Nonce: wire.EncodeKey(t.NonceS), MAC: t.ServerMAC(key)}); r != nil {
		return nil, r
	}
	frame, r = s.receive(st, "proof")
	if r != nil {
		return nil, r
	}
	proof, ok := frame.(*wire.Proof)
	switch {
	case !ok:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "second message is not proof"}
	case !t.VerifyClient(key, proof.MAC):
		return nil, &handshakeError{reason: wire.ReasonBadProof, cause: "the proof is wrong"}
	}

	welcome := &wire.Welcome{
		Session:     s.instanceIDFor(hello.Instance, hello.Run),
		Server:      wire.Server{Version: s.opts.Version, PID: os.Getpid(), Name: s.opts.Name},
		HeartbeatMs: wire.Heartbeat.Milliseconds(),
		Policy:      s.policy(),
	}
	if hello.Key == wire.KeyPairing {
		newKey, err := s.folder.redeem(key, hello)
		if err != nil {
			s.log.Error("saving the pairing failed", "error", err)
			return nil, &handshakeError{reason: wire.ReasonNotPaired, cause: "a pairing string was used up, or the pairing could not be kept"}
		}
		welcome.Pairing = &wire.Pairing{Key: t.Seal(key, newKey)}
		s.log.Info("an extension was paired", "instance", hello.Instance)
	}
	i := s.newInstance(st, hello, welcome.Session, dial)
	i.send(welcome) // the first frame of its queue
	if !s.register(i) {
		i.cancel()
		st.Close(wire.CloseDisplaced, "displaced")
		return nil, &handshakeError{peerNotified: true, cause: "a newer connection of the same browser was there first, or the server ended"}
	}
	if r := s.revalidateKey(hello, key); r != nil { // the key may have been taken back meanwhile
		i.end(errors.New("key revoked"), wire.CloseRefused, r.reason)
	}
	return i, nil
}

// revalidateKey reports whether the key of a connection is still good.
func (s *Server) revalidateKey(hello *wire.Hello, key []byte) *handshakeError {
	if hello.Key == wire.KeyPairing {
		return nil // it is used up, for this connection
	}
	now, r := s.key(hello)
	if r == nil && string(now) != string(key) {
		r = &handshakeError{reason: wire.ReasonNotPaired}
	}
	return r
}

// key returns the key that a hello names.
func (s *Server) key(hello *wire.Hello) ([]byte, *handshakeError) {
	s.mu.Lock()
	file := s.published
	s.mu.Unlock()
	if file == nil {
		return nil, &handshakeError{reason: wire.ReasonNotPaired, message: stopped, cause: "the handshake file was removed"}
	}
	switch hello.Key {
	case wire.KeyToken:
		return file.token, nil
	case wire.KeyPaired:
		if key := s.folder.pairedKey(hello.Instance); key != nil {
			return key, nil
		}
		return nil, &handshakeError{reason: wire.ReasonNotPaired, cause: "it is not paired", expected: true}
	}
	if secret := s.folder.pairingSecret(time.Now()); secret != nil {
		return secret, nil
	}
	return nil, &handshakeError{
		reason: wire.ReasonNotPaired, cause: "no active pairing string",
		message: "This pairing string was used, or is older than 5 minutes. Get a new one with chrome-mcp --print-pairing.",
	}
}

// receive reads the next frame of a handshake, in time.
func (s *Server) receive(st stream, what string) (wire.Message, *handshakeError) {
	late := &handshakeError{reason: wire.ReasonTimeout, cause: "no " + what + " came in time", peerNotified: true}
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
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: err.Error()}
	case err != nil:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "it ended before its " + what}
	}
	frame, err := wire.Decode(data)
	if version, ok := errors.AsType[*wire.VersionError](err); ok {
		return nil, &handshakeError{
			reason: wire.ReasonBadVersion, cause: "it speaks another version of the protocol",
			message: "Update chrome-mcp and reload its extension: " + version.Error() + ".",
		}
	}
	if err != nil {
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "its " + what + " is malformed"}
	}
	return frame, nil
}

func (s *Server) sendHandshake(st stream, f wire.Message) *handshakeError {
	data, err := wire.Encode(f)
	if err == nil {
		err = st.Write(s.ctx, data)
	}
	if err != nil {
		return &handshakeError{reason: wire.ReasonBadHello, cause: "it ended during the handshake"}
	}
	return nil
}
