package executor

import (
	"cmp"
	"context"
)

// CallOptions describe one call of a client to the layers below: the policy, the Manager and the
// backends. All of them see the call, so its context carries the options.
type CallOptions struct {
	Client      string      // id of the client
	Hash        string      // of the operation and all its arguments; a once grant applies only to equal calls of a client
	AfterAction AfterAction // overrides SessionOptions.AfterAction

	// OnDecision is called with each decision, if the Gate reports decisions as policy.Guard does.
	// Several goroutines can call it at the same time.
	OnDecision func(Decision)
	// OnSwitch is called with the backend switch since the last call of a [Manager]. OnSharedTab is
	// called with each tab that the user has shared since the last call, OnSentElement with each
	// element that the user has sent. The goroutine of the call calls them, before the operation.
	OnSwitch      func(BackendSwitch)
	OnSharedTab   func(SharedTab)
	OnSentElement func(SentElement)
	// OnDownload is called with each download of the session's tabs that has started or ended since
	// the last result that reported it. The goroutine of the call calls it, after the operation.
	// OnMoreDownloads is called after it with the number of further ones, which are not listed.
	OnDownload      func(Download)
	OnMoreDownloads func(n int)
	// OnIdleClose is called if the browser of the session was closed because no call used it. The
	// goroutine of the call calls it; the call returns ErrTargetGone.
	OnIdleClose func(IdleClose)
}

type callOptionsKey struct{}

// WithCallOptions returns a context with o. Where a field of o is zero, the option in ctx remains.
func WithCallOptions(ctx context.Context, o CallOptions) context.Context {
	old := CallOptionsOf(ctx)
	o.Client, o.Hash = cmp.Or(o.Client, old.Client), cmp.Or(o.Hash, old.Hash)
	o.AfterAction = cmp.Or(o.AfterAction, old.AfterAction)
	if o.OnDecision == nil {
		o.OnDecision = old.OnDecision
	}
	if o.OnSwitch == nil {
		o.OnSwitch = old.OnSwitch
	}
	if o.OnSharedTab == nil {
		o.OnSharedTab = old.OnSharedTab
	}
	if o.OnSentElement == nil {
		o.OnSentElement = old.OnSentElement
	}
	if o.OnDownload == nil {
		o.OnDownload = old.OnDownload
	}
	if o.OnMoreDownloads == nil {
		o.OnMoreDownloads = old.OnMoreDownloads
	}
	if o.OnIdleClose == nil {
		o.OnIdleClose = old.OnIdleClose
	}
	return context.WithValue(ctx, callOptionsKey{}, o)
}

// CallOptionsOf returns the options in ctx, or the zero CallOptions.
func CallOptionsOf(ctx context.Context) CallOptions {
	o, _ := ctx.Value(callOptionsKey{}).(CallOptions)
	return o
}
