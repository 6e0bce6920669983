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

type decisionKey struct{}

// WithDecisionObserver returns a context whose calls report each decision to observe, if their Gate
// reports decisions as policy.Guard does. observe may be called from several goroutines at the same
// time.
func WithDecisionObserver(ctx context.Context, observe func(Decision)) context.Context {
	return context.WithValue(ctx, decisionKey{}, observe)
}

// Report passes d to the observer in ctx, and reports whether an observer is set. Gates call it.
func (d Decision) Report(ctx context.Context) bool {
	observe, ok := ctx.Value(decisionKey{}).(func(Decision))
	if ok {
		observe(d)
	}
	return ok
}

// HasDecisionObserver reports whether ctx has an observer of decisions. Without one, a Gate does
// not have to find out which rule allowed an access.
func HasDecisionObserver(ctx context.Context) bool {
	_, ok := ctx.Value(decisionKey{}).(func(Decision))
	return ok
}
