package executor

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// Aliases of what an [Error] contains.
type (
	// A PermissionKind is a kind of permission that the user can grant at run time.
	PermissionKind = errs.PermissionKind
	// A Permission is something that a policy denies and the user can grant.
	Permission = errs.Permission
)

// The kinds.
const (
	PermitSite      = errs.PermitSite      // Permission.Origin is treated as if it were in the allow list
	PermitMutations = errs.PermitMutations // changing pages, on all allowed sites
	PermitDownloads = errs.PermitDownloads // saving files, from all allowed sites
	PermitClipboard = errs.PermitClipboard // copying from and pasting into pages of Permission.Origin with the user's clipboard
)

// A PermissionGranter accepts grants while it is in use. The Executor that policy.Guard's Wrap
// returns is one. Its methods are safe for concurrent use.
type PermissionGranter interface {
	// WithCall returns a context for one call of a client for which the user can be prompted: its
	// denials name the site if it is known, and the grants of other clients and the once grants of
	// other calls do not apply to it.
	WithCall(ctx context.Context, client string) context.Context
	// Grant grants p: if once is set, to the call of ctx, which WithCall returned, otherwise to
	// every call of its client or, if ctx has no call, to every call. The grant is valid until revoke
	// is called. revoke may be called more than once. In any case the browser's network, which cannot
	// distinguish calls, is open until then. Grant returns ErrBadArgs for a permission that cannot be
	// granted at run time.
	Grant(ctx context.Context, p Permission, once bool) (revoke func(), err error)
}

// A PolicyReporter reports the policy in force without the cost of [Lifecycle.Status]. The Executor
// that policy.Guard's Wrap returns is one. Its method is safe for concurrent use.
type PolicyReporter interface {
	// PolicyStatus returns the policy for the call of ctx, with what was granted to its client. It
	// does not block.
	PolicyStatus(ctx context.Context) *PolicyStatus
}

// A PromptAnswer is the user's answer to a permission prompt.
type PromptAnswer string

// The answers.
const (
	AnswerOnce    PromptAnswer = "once"    // for the denied call
	AnswerSession PromptAnswer = "session" // for the client's session
	AnswerNo      PromptAnswer = "no"      // denied for the client's session
)

// A PermissionPrompt is a prompt for a [Permission].
type PermissionPrompt struct {
	Permission
	Site string // the origin that the call is about; Permission.Origin if that is set
	Tool string // the name of the called tool
	Tab  TabID  // that the call names; may be empty
}

// A PermissionPrompter prompts users without the help of the client. The extension does so in its
// popup. Its methods are safe for concurrent use.
type PermissionPrompter interface {
	// Connected reports whether a user can be prompted. It does not block.
	Connected() bool
	// Prompt prompts the user about the call that the [CallOptions] in ctx identify,
	// and waits for a limited time. It returns ErrConsentRequired if there is no
	// answer yet; the prompt stays open. A later answer for the session, or a
	// later no, is returned by the next Prompt of the client. AnswerOnce is
	// returned only to a call that is waiting when the user answers.
	Prompt(ctx context.Context, q PermissionPrompt) (PromptAnswer, error)
}
