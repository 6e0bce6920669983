package executor

import (
	"context"
	"time"
)

// An IdleClose reports that a browser was closed because no call used it. The next browser does not
// open its tabs again.
type IdleClose struct {
	After time.Duration // time without calls
	URLs  []string      // of the client's tabs that the Gate allows, in the order in which they were opened
	// Downloads are those of these tabs that have ended since the last result that reported them, at most
	// as many as one result lists. MoreDownloads is the number of the others.
	Downloads     []Download
	MoreDownloads int
}

// Report passes c to the observer in ctx, if there is one, and returns the error of the call, which
// was meant for the closed browser. Sessions call it.
func (c *IdleClose) Report(ctx context.Context, hint string) error {
	if observe := CallOptionsOf(ctx).OnIdleClose; observe != nil {
		observe(*c)
	}
	return Errorf(ErrTargetGone, hint, "the browser was closed after %v without calls, with its tabs", c.After)
}
