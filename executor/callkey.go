package executor

import "context"

// A CallKey identifies a call to a [PermissionPrompter]. Calls with equal keys have the
// same client, operation and arguments.
type CallKey struct {
	Client string // id of the client's session
	Hash   string // of the operation and all its arguments
}

type callKey struct{}

// WithCallKey returns a context for one call. A once grant applies only to calls
// with the same key. A call without a key equals no other call.
func WithCallKey(ctx context.Context, key CallKey) context.Context {
	return context.WithValue(ctx, callKey{}, key)
}

// CallKeyOf returns the call key in ctx, or the zero CallKey.
func CallKeyOf(ctx context.Context) CallKey {
	key, _ := ctx.Value(callKey{}).(CallKey)
	return key
}
