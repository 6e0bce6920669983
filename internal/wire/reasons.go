package wire

// Values of Hello.Key.
const (
	KeyToken   = "boot"    // the token of the handshake file
	KeyPaired  = "paired"  // the paired key of this installation
	KeyPairing = "pairing" // the secret of a pairing string, valid once
)

// Values of Rejection.Reason.
const (
	ReasonBadProof   = "bad_proof"   // the client does not have the key
	ReasonBadVersion = "bad_version" // the client uses another protocol version
	ReasonTimeout    = "timeout"     // the client did not send a message in time
	ReasonBadHello   = "bad_hello"   // invalid handshake message, or not our extension
	ReasonNotPaired  = "not_paired"  // not paired, key revoked, or pairing string already used
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{ReasonBadProof, ReasonBadVersion, ReasonTimeout, ReasonBadHello, ReasonNotPaired}
}
