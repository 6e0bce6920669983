package executor

import "context"

// A PermissionKind is what can be permitted while a program runs. What a
// policy blocks, private addresses and the caller's own scripts cannot.
type PermissionKind string

// The kinds.
const (
	PermitSite      PermissionKind = "site"      // Permission.Origin is as if it were in the allow list
	PermitMutations PermissionKind = "mutations" // changing pages, of all sites that are allowed
	PermitDownloads PermissionKind = "downloads" // saving files, from all sites that are allowed
)

// A Permission is one thing that a policy denies and its user can permit.
type Permission struct {
	Kind PermissionKind
	// Origin is the site of PermitSite, in the browser's spelling: a scheme, an
	// ASCII host (in punycode where it has to be), and the port unless it is the
	// scheme's own. It is empty for the other kinds.
	Origin string
}

// A Permitter can be widened by its user while it is in use. The Executor that
// policy.Guard's Wrap returns is one. Its methods are safe for concurrent use.
type Permitter interface {
	// Call returns a context for one call whose user can be asked: its denials
	// name the site where one is known, and what is permitted for another call
	// is not for it.
	Call(ctx context.Context) context.Context
	// Permit permits p: to the call of ctx, which Call returned, if once is set,
	// else to every call. It holds until revoke is called, which may be done more
	// than once. The browser's network, which cannot tell calls apart, is opened
	// for as long in either case. It returns ErrBadArgs for what nobody can
	// permit like this.
	Permit(ctx context.Context, p Permission, once bool) (revoke func(), err error)
}

// An Answer is what a user says when asked for a [Permission].
type Answer string

// The answers.
const (
	AnswerOnce    Answer = "once"    // for the call that was denied
	AnswerSession Answer = "session" // for the client's session
	AnswerNo      Answer = "no"      // not in this session
)

// A Question asks a user for a [Permission].
type Question struct {
	Permission
	Site string // the origin of what the call is about; Permission.Origin where that is set
	Tool string // the name of what was called
	Tab  TabID  // that the call names; may be empty
}

// A UserAsker asks users itself, without the client: the extension does, in
// its popup. Its methods are safe for concurrent use.
type UserAsker interface {
	// Connected reports whether there is a user to ask. It does not block.
	Connected() bool
	// AskUser prompts the user about the call that [CallKeyOf] identifies, and
	// waits for a limited time. It returns ErrConsentRequired if there is no
	// answer yet; the prompt stays open. A later answer for the session, or a
	// later no, is returned by the next AskUser of the client. AnswerOnce is
	// returned only to a call that is waiting when the user answers.
	AskUser(ctx context.Context, q Question) (Answer, error)
}
