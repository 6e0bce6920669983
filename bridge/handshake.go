package bridge

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// rejectionMessages are the messages to the user of the extension, by reason.
var rejectionMessages = map[string]string{
	wire.ReasonBadProof:  "The extension and the server do not have the same key. Reload the extension. If that does not help, pair it again.",
	wire.ReasonTimeout:   "Handshake timed out.",
	wire.ReasonBadHello:  "Invalid handshake. Update chrome-mcp and reload the extension.",
	wire.ReasonNotPaired: "The extension is not paired with this server. Pair it in the extension's options.",
}

// stopped is the message of a server that the user stopped.
const stopped = "This server was stopped: its handshake file was removed. Restart it to continue."

// A handshakeError reports why a handshake failed.
type handshakeError struct {
	reason       string // one of wire.Reasons
	message      string // for the user; empty means the default message of the reason
	cause        string // for the log; contains nothing that the client sent
	peerNotified bool   // the client was notified and its connection is closed
	expected     bool   // not logged as a warning: a browser tries its keys on every port
}

// handshake authenticates both sides of st. It returns the registered connection. If the handshake
// fails, it rejects and closes st and returns nil.
func (s *Server) handshake(st stream, port int) *Conn {
	sequence := s.nextSequence() // before its hello

	st.SetReadLimit(wire.MaxHandshakeMessage)
	c, r := s.handshakeSteps(st, port, sequence)
	if r == nil {
		return c
	}
	if r.expected {
		s.log.Debug("connection rejected: "+r.cause, "reason", r.reason)
	} else {
		s.log.once("connection rejected: "+r.cause, "reason", r.reason)
	}
	if !r.peerNotified {
		s.reject(st, r)
	}
	return nil
}

// reject sends the reason to the client and closes the connection.
func (s *Server) reject(st stream, r *handshakeError) {
	message := r.message
	if message == "" {
		message = rejectionMessages[r.reason]
	}
	if data, err := wire.Encode(&wire.Rejection{Reason: r.reason, Message: message}); err == nil {
		_ = st.Write(s.ctx, data)
	}
	st.Close(wire.CloseRefused, r.reason)
}

func (s *Server) handshakeSteps(st stream, port int, sequence int64) (*Conn, *handshakeError) {
	m, r := s.receive(st, "hello")
	if r != nil {
		return nil, r
	}
	hello, ok := m.(*wire.Hello)
	switch {
	case !ok:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "first message is not hello"}
	case !slices.Contains(s.opts.extensionIDs(), hello.Ext.ID):
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "hello has the id of another extension"}
	}
	key, r := s.key(hello)
	if r != nil {
		return nil, r
	}
	t := &wire.Transcript{ExtensionID: hello.Ext.ID, Installation: hello.Installation, Port: port, NonceS: wire.NewKey()}
	t.NonceC, _ = wire.DecodeKey(hello.Nonce) // Decode checked it
	if r := s.sendHandshake(st, &wire.Challenge{Nonce: wire.EncodeKey(t.NonceS), MAC: t.ServerMAC(key)}); r != nil {
		return nil, r
	}
	m, r = s.receive(st, "proof")
	if r != nil {
		return nil, r
	}
	proof, ok := m.(*wire.Proof)
	switch {
	case !ok:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "second message is not proof"}
	case !t.VerifyClient(key, proof.MAC):
		return nil, &handshakeError{reason: wire.ReasonBadProof, cause: "invalid proof"}
	}

	welcome := &wire.Welcome{
		Session:     s.instanceIDFor(hello.Installation, hello.Run),
		Server:      wire.Server{Version: s.opts.Version, PID: os.Getpid(), Name: s.opts.Name},
		HeartbeatMs: wire.Heartbeat.Milliseconds(),
		Policy:      s.policy(),
	}
	if hello.Key == wire.KeyPairing {
		newKey, err := s.dataDir.usePairingString(key, hello)
		if err != nil {
			s.log.Error("saving the pairing failed", "error", err)
			return nil, &handshakeError{
				reason: wire.ReasonNotPaired, cause: "the pairing string was already used, or saving the pairing failed",
			}
		}
		welcome.Pairing = &wire.Pairing{Key: t.Seal(key, newKey)}
		s.log.Info("extension paired", "installation", hello.Installation)
	}
	c := s.newConn(st, hello, welcome.Session, sequence)
	c.policy = welcome.Policy
	c.send(welcome) // the first message in its queue
	if !s.register(c) {
		c.cancel()
		st.Close(wire.CloseDisplaced, "displaced")
		return nil, &handshakeError{
			peerNotified: true, cause: "a newer connection of the same browser exists, or the server is closed",
		}
	}
	if r := s.revalidateKey(hello, key); r != nil { // the key may have been revoked during the handshake
		c.end(errors.New("key revoked"), wire.CloseRefused, r.reason)
	}
	return c, nil // even if it has ended: it is registered, so the caller must run it, which returns immediately
}

// revalidateKey returns an error if key is no longer the key that hello refers to.
func (s *Server) revalidateKey(hello *wire.Hello, key []byte) *handshakeError {
	if hello.Key == wire.KeyPairing {
		return nil // this connection already used it
	}
	now, r := s.key(hello)
	if r == nil && string(now) != string(key) {
		r = &handshakeError{reason: wire.ReasonNotPaired}
	}
	return r
}

// key returns the key that hello refers to.
func (s *Server) key(hello *wire.Hello) ([]byte, *handshakeError) {
	s.mu.Lock()
	file := s.published
	s.mu.Unlock()
	if file.File == nil {
		return nil, &handshakeError{reason: wire.ReasonNotPaired, message: stopped, cause: "the handshake file was removed"}
	}
	if only := s.opts.Installation; only != "" && (hello.Installation != only || hello.Key != wire.KeyToken) {
		return nil, &handshakeError{
			reason: wire.ReasonNotPaired, cause: "a server of given tabs accepts only the installation that lists it",
		}
	}
	switch hello.Key {
	case wire.KeyToken:
		return file.token, nil
	case wire.KeyPaired:
		if key := s.dataDir.pairedKey(hello.Installation); key != nil {
			return key, nil
		}
		return nil, &handshakeError{reason: wire.ReasonNotPaired, cause: "installation is not paired", expected: true}
	}
	if secret := s.dataDir.pairingSecret(time.Now()); secret != nil {
		return secret, nil
	}
	return nil, &handshakeError{
		reason: wire.ReasonNotPaired, cause: "no active pairing string",
		message: "This pairing string was already used or is older than 5 minutes. Get a new one.",
	}
}

// receive reads the next handshake message, which should be of type want. If none arrives within
// [wire.HelloTimeout], it closes the connection.
func (s *Server) receive(st stream, want string) (wire.Message, *handshakeError) {
	late := &handshakeError{reason: wire.ReasonTimeout, cause: "no " + want + " within the timeout", peerNotified: true}
	// The timer rejects the connection. An expired context would close it without a message.
	rejected := make(chan struct{})
	timer := time.AfterFunc(wire.HelloTimeout, func() { s.reject(st, late); close(rejected) })
	data, err := st.Read(s.ctx)
	if !timer.Stop() {
		<-rejected
		return nil, late
	}
	switch {
	case errors.Is(err, errBinary), errors.Is(err, errTooLong):
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: err.Error()}
	case err != nil:
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: "connection closed before " + want}
	}
	m, err := wire.Decode(data)
	version, ok := errors.AsType[*wire.VersionError](err)
	s.mu.Lock()
	s.mismatch = nil
	if ok && len(s.conns) == 0 {
		s.mismatch = mismatchError(version.Got)
	}
	s.mu.Unlock()
	if ok {
		return nil, &handshakeError{
			reason: wire.ReasonBadVersion, cause: "protocol version mismatch",
			message: "Update chrome-mcp and reload its extension: " + version.Error() + ".",
		}
	}
	if err != nil {
		return nil, &handshakeError{reason: wire.ReasonBadHello, cause: want + " is malformed"}
	}
	return m, nil
}

// mismatchError returns the error of calls after a program that tried to connect as the extension
// reported another protocol version, or nil if got is not a version. Only an extension of our version
// can prove that it is the extension, so any program on this machine can report one.
func mismatchError(got string) error {
	version, err := strconv.Atoi(got)
	if err != nil {
		return nil
	}
	difference, hint := "older", "If it is the extension, ask the user to run chrome-mcp extension install, and then to click the reload icon of the extension in chrome://extensions."
	if version > wire.Version {
		difference, hint = "newer", "If it is the extension, ask the user to update chrome-mcp, and then to restart the program that runs it."
	}
	return &errs.Error{Code: errs.ErrNoBackend, Retryable: true, Hint: hint, Err: fmt.Errorf(
		"no extension is connected: the last program that tried to connect as the extension reported protocol version %d, which is %s than version %d of this program",
		version, difference, wire.Version)}
}

func (s *Server) sendHandshake(st stream, m wire.Message) *handshakeError {
	data, err := wire.Encode(m)
	if err == nil {
		err = st.Write(s.ctx, data)
	}
	if err != nil {
		return &handshakeError{reason: wire.ReasonBadHello, cause: "connection closed during the handshake"}
	}
	return nil
}
