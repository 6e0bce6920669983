package timing

// HangLimits has the waits whose end is a failure, or a result with less in it, because something
// did not respond. A machine that is slow enough reaches them without a fault, so tests scale them.
type HangLimits struct {
	PageLimits
	BrowserLimits
	ProgramLimits
}

func defaultHangLimits() HangLimits {
	return HangLimits{defaultPageLimits(), defaultBrowserLimits(), defaultProgramLimits()}
}
