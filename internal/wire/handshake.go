package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// KeySize is the size of keys, nonces and MACs in bytes.
const KeySize = 32

// What is put before the transcript, so that no MAC of one kind can pass for
// one of another.
const (
	LabelServer = "chrome-mcp server"
	LabelClient = "chrome-mcp client"
	LabelSeal   = "chrome-mcp seal"
)

// PairingPrefix begins a pairing string.
const PairingPrefix = "cm1-"

// A Transcript is what both sides of a handshake agree on.
type Transcript struct {
	ExtensionID string
	Instance    string
	Port        int    // on which the client reached the server
	NonceC      []byte // of the hello, decoded
	NonceS      []byte // of the challenge, decoded
}

// Bytes returns the fields, each after its length as a big-endian uint32:
// Version in decimal, extension id, instance, port in decimal, both nonces.
func (t *Transcript) Bytes() []byte {
	var out []byte
	for _, field := range [][]byte{
		[]byte(strconv.Itoa(Version)), []byte(t.ExtensionID), []byte(t.Instance),
		[]byte(strconv.Itoa(t.Port)), t.NonceC, t.NonceS,
	} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(field)))
		out = append(out, field...)
	}
	return out
}

func (t *Transcript) mac(key []byte, label string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(label))
	h.Write(t.Bytes())
	return h.Sum(nil)
}

// ServerMAC returns the proof of a server that holds key, as a challenge
// carries it.
func (t *Transcript) ServerMAC(key []byte) string { return EncodeKey(t.mac(key, LabelServer)) }

// ClientMAC returns the proof of a client that holds key.
func (t *Transcript) ClientMAC(key []byte) string { return EncodeKey(t.mac(key, LabelClient)) }

// VerifyServer reports whether mac is the ServerMAC of key. It takes the same
// time whatever mac is.
func (t *Transcript) VerifyServer(key []byte, mac string) bool {
	return verify(t.mac(key, LabelServer), mac)
}

// VerifyClient reports whether mac is the ClientMAC of key. It takes the same
// time whatever mac is.
func (t *Transcript) VerifyClient(key []byte, mac string) bool {
	return verify(t.mac(key, LabelClient), mac)
}

func verify(want []byte, mac string) bool {
	got, err := DecodeKey(mac)
	return err == nil && hmac.Equal(want, got)
}

// Seal hides key, of KeySize bytes, from whoever does not hold secret. Each
// secret seals one key only, in one handshake.
func (t *Transcript) Seal(secret, key []byte) string {
	pad := t.mac(secret, LabelSeal)
	for i := range pad {
		pad[i] ^= key[i]
	}
	return EncodeKey(pad)
}

// Unseal returns the key that Seal hid.
func (t *Transcript) Unseal(secret []byte, sealed string) ([]byte, error) {
	key, err := DecodeKey(sealed)
	if err != nil {
		return nil, err
	}
	for i, b := range t.mac(secret, LabelSeal) {
		key[i] ^= b
	}
	return key, nil
}

// NewKey returns KeySize random bytes: a key or a nonce.
func NewKey() []byte {
	key := make([]byte, KeySize)
	rand.Read(key) // never fails
	return key
}

var base64url = base64.RawURLEncoding.Strict()

// EncodeKey writes a key, nonce or MAC as frames carry it.
func EncodeKey(key []byte) string { return base64url.EncodeToString(key) }

// DecodeKey reads what EncodeKey wrote. Its error does not repeat s.
func DecodeKey(s string) ([]byte, error) {
	if len(s) != base64url.EncodedLen(KeySize) {
		return nil, errors.New("is not 32 bytes in base64url")
	}
	key, err := base64url.DecodeString(s) // skips line ends, which make the key too short
	if err != nil || len(key) != KeySize {
		return nil, errors.New("is not 32 bytes in base64url")
	}
	return key, nil
}

// PairingString returns what a user pastes into the extension's options.
func PairingString(port int, secret []byte) string {
	raw := binary.BigEndian.AppendUint16(nil, uint16(port))
	return PairingPrefix + base64url.EncodeToString(append(raw, secret...))
}

// ParsePairingString reads a pairing string, with white space around it. Its
// error does not repeat s.
func ParsePairingString(s string) (port int, secret []byte, err error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(s), PairingPrefix)
	raw, decodeErr := base64url.DecodeString(text)
	if !ok || decodeErr != nil || len(raw) != 2+KeySize || strings.ContainsAny(text, "\r\n") {
		return 0, nil, errors.New("is not a pairing string")
	}
	port = int(binary.BigEndian.Uint16(raw))
	if port == 0 {
		return 0, nil, errors.New("is not a pairing string")
	}
	return port, bytes.Clone(raw[2:]), nil
}
