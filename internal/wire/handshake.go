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

// Labels precede the transcript in the input of a MAC, so that a MAC of one kind is not valid as
// another kind.
const (
	LabelServer = "chrome-mcp server"
	LabelClient = "chrome-mcp client"
	LabelSeal   = "chrome-mcp seal"
)

// PairingPrefix is the prefix of pairing strings.
const PairingPrefix = "cm1-"

// A Transcript contains the values that both sides of a handshake authenticate.
type Transcript struct {
	ExtensionID  string
	Installation string
	Port         int    // server port that the client connected to
	NonceC       []byte // nonce of the hello, decoded
	NonceS       []byte // nonce of the challenge, decoded
}

// Bytes returns the encoding of t: Version in decimal, extension id, installation, port in decimal,
// NonceC and NonceS. Each value is preceded by its length as a big-endian uint32.
func (t *Transcript) Bytes() []byte {
	var out []byte
	for _, field := range [][]byte{
		[]byte(strconv.Itoa(Version)), []byte(t.ExtensionID), []byte(t.Installation),
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

// ServerMAC returns the server's proof that it has key: the MAC of a challenge.
func (t *Transcript) ServerMAC(key []byte) string { return EncodeKey(t.mac(key, LabelServer)) }

// ClientMAC returns the client's proof that it has key: the MAC of a proof.
func (t *Transcript) ClientMAC(key []byte) string { return EncodeKey(t.mac(key, LabelClient)) }

// VerifyServer reports whether mac is the ServerMAC of key, in constant time.
func (t *Transcript) VerifyServer(key []byte, mac string) bool {
	return verify(t.mac(key, LabelServer), mac)
}

// VerifyClient reports whether mac is the ClientMAC of key, in constant time.
func (t *Transcript) VerifyClient(key []byte, mac string) bool {
	return verify(t.mac(key, LabelClient), mac)
}

func verify(want []byte, mac string) bool {
	got, err := DecodeKey(mac)
	return err == nil && hmac.Equal(want, got)
}

// Seal encrypts key, of KeySize bytes, with secret. A secret must be used for one key in one
// handshake only.
func (t *Transcript) Seal(secret, key []byte) string {
	pad := t.mac(secret, LabelSeal)
	for i := range pad {
		pad[i] ^= key[i]
	}
	return EncodeKey(pad)
}

// Unseal decrypts a key that Seal encrypted.
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

// NewKey returns KeySize random bytes, for use as a key or nonce.
func NewKey() []byte {
	key := make([]byte, KeySize)
	rand.Read(key) // never fails
	return key
}

var base64url = base64.RawURLEncoding.Strict()

// EncodeKey returns the encoding of a key, nonce or MAC in messages: base64url without padding.
func EncodeKey(key []byte) string { return base64url.EncodeToString(key) }

// DecodeKey decodes the result of EncodeKey. Its error does not contain s.
func DecodeKey(s string) ([]byte, error) {
	if len(s) != base64url.EncodedLen(KeySize) {
		return nil, errors.New("is not 32 bytes in base64url")
	}
	key, err := base64url.DecodeString(s) // skips line breaks, which make the key too short
	if err != nil || len(key) != KeySize {
		return nil, errors.New("is not 32 bytes in base64url")
	}
	return key, nil
}

// PairingString returns the pairing string for port and secret. The user pastes it into the
// extension's options page.
func PairingString(port int, secret []byte) string {
	raw := binary.BigEndian.AppendUint16(nil, uint16(port))
	return PairingPrefix + base64url.EncodeToString(append(raw, secret...))
}

// ParsePairingString parses a pairing string, which may be surrounded by white space. Its error
// does not contain s.
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
