package executor

import "context"

// A Decision is the result of a policy check of one [Access], by a [Gate] or by a wrapper of an
// Executor. Audit logs record it.
type Decision struct {
	Access Access
	// Rule identifies the rule that decided, such as "allow:example.com".
	Rule string
	Err  error // the denial; nil if allowed
}

// Report passes d to the observer in ctx, if there is one. Gates call it.
func (d Decision) Report(ctx context.Context) {
	if observe := CallOptionsOf(ctx).OnDecision; observe != nil {
		observe(d)
	}
}
