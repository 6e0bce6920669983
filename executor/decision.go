package executor

import "context"

// A Decision is what was decided on one [Access], by a [Gate] or by what stands
// around an Executor: for a log of what was done, and by whose leave.
type Decision struct {
	Access Access
	// Rule names what decided in a few characters, such as "allow:example.com".
	Rule string
	Err  error // the denial; nil when it was allowed
}

type decisionKey struct{}

// WithDecisions returns a context whose calls tell each decision that is made on
// them, if their Gate tells its decisions as policy.Guard does. tell may be called
// from several goroutines at once.
func WithDecisions(ctx context.Context, tell func(Decision)) context.Context {
	return context.WithValue(ctx, decisionKey{}, tell)
}

// Tell tells the caller whose context it is, and reports whether it wants to
// know: for Gates.
func (d Decision) Tell(ctx context.Context) bool {
	tell, ok := ctx.Value(decisionKey{}).(func(Decision))
	if ok {
		tell(d)
	}
	return ok
}

// WantsDecisions reports whether the caller whose context it is wants to know
// of decisions. Where nobody does, a Gate need not find out which rule allowed.
func WantsDecisions(ctx context.Context) bool {
	_, ok := ctx.Value(decisionKey{}).(func(Decision))
	return ok
}
