package executor

// A NoActiveTabError is the cause of the [ErrTabNotFound] of a call that names no tab, while no tab
// is active although tabs are open. The call has changed nothing.
type NoActiveTabError struct {
	Reason string // why no tab is active
	Tabs   []Tab  // the open tabs
	List   string // describes the first tabs, in one line
}

// Error returns the reason and the list.
func (e *NoActiveTabError) Error() string { return e.Reason + "; " + e.List }
