package timing

import "time"

// Patience has the waits whose end is a correct answer: nothing more is going to happen, or the
// caller need not wait for it. Tests keep them, or set shorter ones.
type Patience struct {
	// Settle bounds the wait for requests that an action started.
	Settle time.Duration
	// Commit bounds the wait for the navigations that an action started, until the page is quiet:
	// a server may be slow.
	Commit time.Duration
	// Content bounds the wait for the content of a document that an action navigated to.
	Content time.Duration
	// Quiet is the time without a DOM mutation after which a document that has changed counts as
	// settled.
	Quiet time.Duration
	// TimedChange is how long after input a page may take to change whose handlers of that input
	// started a timer, if it has not changed before.
	TimedChange time.Duration
	// Download bounds the wait for a download to start if a navigation did not commit, and
	// LinkDownload if a download link was clicked.
	Download, LinkDownload time.Duration
	// NewTabContent bounds the wait for the content of the tabs that a page opens.
	NewTabContent time.Duration
	// NewTabReady is how long a newly opened page may take to respond to its first commands, before
	// the tab is returned anyway: a page that waits for a slow server does not respond yet.
	NewTabReady time.Duration
	// NetworkIdle is how long a page must have no request to be idle, as in Chromium's networkIdle
	// event.
	NetworkIdle time.Duration

	// Actionability is how long an actionability failure must persist, with nothing in progress,
	// before it is returned. Overlays and validations often end with a timer, which cannot be
	// observed.
	Actionability time.Duration
	// RequestActionability is how long the page may take, while requests are in flight, to resolve
	// a failure after one of them has ended.
	RequestActionability time.Duration
	// ChangesElsewhere is how long changes elsewhere in the document count as something in progress
	// that may resolve a failure. After it, only changes near the element do, so that a ticking
	// clock does not.
	ChangesElsewhere time.Duration
	// Recheck is the time that must be left of a call for another check of an element.
	Recheck time.Duration
	// Selector is how long an action waits for a match of its selector after the document has been
	// parsed, if the caller set no timeout.
	Selector time.Duration
	// Option bounds the wait for an option that pending requests may add to a list.
	Option time.Duration
	// Checked is how long a component may take to show its new state after it was checked.
	Checked time.Duration
	// Rewrite is how long after text was entered a page that has started a timer may take to replace
	// it.
	Rewrite time.Duration
	// NextField is how long a page that has started a timer may take to move the focus out of a
	// short field after a key.
	NextField time.Duration
	// LogFloodEnd is how long a page must lose no log message before its throttling ends.
	LogFloodEnd time.Duration
	// DragDelay is how long the button is held at the start of a drag if the page has started a timer at
	// the press. Such a page starts the drag after a delay, which is 250 ms in the examples of dnd-kit.
	DragDelay time.Duration
	// DropRepeat is the time between two moves of the pointer at the drop point, and DropLayout how long
	// it may take until they no longer change the page's layout.
	DropRepeat, DropLayout time.Duration
	// FileChooser is how long after a click the page may open a file chooser: some pages send a
	// request first.
	FileChooser time.Duration
	// TapClick is how long after a touch its click may arrive. The browser waits 300 ms for a second tap
	// if that would zoom.
	TapClick time.Duration
	// DownloadStart bounds the time between a click and the start of a download that the caller
	// requested. The server's response comes first.
	DownloadStart time.Duration
	// ViewportChange is how long a page may take to be resized: the size may be the same.
	ViewportChange time.Duration

	// DialogCheck is how long a page may take to respond before it is checked for a dialog from
	// before the attachment, the time between the checks, and the duration of one. If the check
	// finds no dialog, it is repeated.
	DialogCheck time.Duration
	// OtherTabDialog is how long a response may take while another tab of the opener group shows a
	// dialog, before the page is probed.
	OtherTabDialog time.Duration
	// ConsecutiveDialogs is how soon after an answer a dialog must open to count as consecutive: a
	// user would not have acted yet.
	ConsecutiveDialogs time.Duration

	// Consent is how long a call waits for the user's answer. After it, the prompt stays in the
	// popup, and the call can be repeated.
	Consent time.Duration
	// ProfileInUse is how long a call waits for a profile that another session or process uses.
	ProfileInUse time.Duration
}

func defaultPatience() Patience {
	return Patience{
		Settle:        500 * time.Millisecond,
		Commit:        10 * time.Second,
		Content:       2 * time.Second,
		Quiet:         20 * time.Millisecond,
		TimedChange:   300 * time.Millisecond,
		Download:      400 * time.Millisecond,
		LinkDownload:  time.Second,
		NewTabContent: time.Second,
		NewTabReady:   300 * time.Millisecond,
		NetworkIdle:   500 * time.Millisecond,

		Actionability:        3 * time.Second,
		RequestActionability: 500 * time.Millisecond,
		ChangesElsewhere:     1500 * time.Millisecond,
		Recheck:              300 * time.Millisecond,
		Selector:             700 * time.Millisecond,
		Option:               3 * time.Second,
		Checked:              500 * time.Millisecond,
		Rewrite:              150 * time.Millisecond,
		NextField:            30 * time.Millisecond,
		LogFloodEnd:          2 * time.Second,
		DragDelay:            300 * time.Millisecond,
		DropRepeat:           50 * time.Millisecond,
		DropLayout:           time.Second,
		FileChooser:          2 * time.Second,
		TapClick:             2 * time.Second,
		DownloadStart:        10 * time.Second,
		ViewportChange:       500 * time.Millisecond,

		DialogCheck:        300 * time.Millisecond,
		OtherTabDialog:     150 * time.Millisecond,
		ConsecutiveDialogs: time.Second,

		Consent:      20 * time.Second,
		ProfileInUse: 5 * time.Second,
	}
}
