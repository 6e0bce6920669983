package wire

// The keys that a hello can name.
const (
	KeyToken   = "boot"    // the token of the handshake file
	KeyPaired  = "paired"  // this instance's own key
	KeyPairing = "pairing" // the secret of a pairing string, good for one use
)

// The reasons for which a server refuses a client.
const (
	ReasonBadProof   = "bad_proof"   // the client does not hold the key
	ReasonBadVersion = "bad_version" // it speaks another version of the protocol
	ReasonTimeout    = "timeout"     // it was silent
	ReasonBadHello   = "bad_hello"   // what it said is no handshake, or it is not our extension
	ReasonNotPaired  = "not_paired"  // its key was revoked, or the pairing string is used up
)

// Reasons returns every reason.
func Reasons() []string {
	return []string{ReasonBadProof, ReasonBadVersion, ReasonTimeout, ReasonBadHello, ReasonNotPaired}
}
