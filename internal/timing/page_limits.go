package timing

import "time"

// PageLimits has the hang limits of a page and of the renderer processes of its frames.
type PageLimits struct {
	// Script is how long a page script may take to return the reason after its timeout.
	Script time.Duration
	// Input bounds the browser's response to input. The browser responds when the page has handled
	// the event. A page in an endless loop never handles it.
	Input time.Duration
	// PressDelivery is how long the browser and the page may take to deliver a press to its element
	// before the press is blocked and sent again. BusyPress is how long the second press may take,
	// because pages can be that slow. Both are shorter than Input, the wait for a press, so no press
	// takes effect that was reported as failed.
	PressDelivery, BusyPress time.Duration
	// InputPerByte is the additional time that the browser may take for each byte of inserted text:
	// an editor with many lines is slow.
	InputPerByte time.Duration
	// Stroke is how long one character may take if each is a key press.
	Stroke time.Duration
	// TextBlock is the maximum time for which text input for other elements is blocked, in case the
	// action never ends it.
	TextBlock time.Duration
	// OtherDocuments bounds preparing the documents for which an input is not meant. One that is busy
	// or loading must not prevent the input.
	OtherDocuments time.Duration
	// StaleFrame is how long the browser may route input by an outdated compositor frame.
	StaleFrame time.Duration
	// ParentDocument is how long the check of a point in a parent document may take to be repeated
	// if it fails. A check that took longer has waited itself.
	ParentDocument time.Duration
	// Drop is how long the browser may take to deliver a drop to the page.
	Drop time.Duration
	// PasteBlock bounds preparing the documents for the middle button. A document that does not
	// respond receives no input either. PasteRelease is the time in which the button is released
	// after that.
	PasteBlock, PasteRelease time.Duration
	// LineBreak is how long a document may take to render a line break that was typed into an editor.
	// HiddenLineBreak applies once it has not rendered one, as a document that is not displayed.
	LineBreak, HiddenLineBreak time.Duration
	// Upload bounds the transfer of all files of one upload to the page.
	Upload time.Duration

	// Block is how long a renderer may take to confirm that it blocks input. Without the
	// confirmation no input is sent. The browser delays commands for an out-of-process iframe while
	// the iframe navigates.
	Block time.Duration
	// InputEnd bounds the wait, at the end of a call, for its input to be handled and for blocked
	// documents to report it.
	InputEnd time.Duration
	// PendingInput is how long documents stay blocked after an input was sent that the browser does
	// not confirm.
	PendingInput time.Duration
	// ResizedPage is how long a page may take to respond while the browser resizes it for a screenshot,
	// before others no longer wait for it.
	ResizedPage time.Duration
	// Hide bounds hiding the denied frames of a screenshot, and separately drawing them hidden.
	Hide time.Duration

	// HungPage is how long a page may take to respond before it counts as hung. It is measured when
	// the tab is about to navigate, so a page that is only busy loses little.
	HungPage time.Duration
	// BusyPage is how much more time a page gets if its scripts cannot be terminated, because the
	// only other remedy is to crash its renderer.
	BusyPage time.Duration
	// NewTab is how long the renderer process of a new tab may take to start.
	NewTab time.Duration
	// Terminate is how long terminating the scripts of an unresponsive page may take before its
	// renderer is crashed. A renderer that is only starting, or that waits for the CPU, responds in
	// that time.
	Terminate time.Duration
	// EarlyDialog is how much longer a page gets when it seems to be blocked by a dialog from before
	// the attachment. Input for a page whose renderer process is starting is dropped, too; on a busy
	// machine that takes seconds.
	EarlyDialog time.Duration
	// OtherTabProbe is how long a page may take to respond to a probe while another tab of its
	// opener group shows a dialog, before it counts as blocked by that dialog.
	OtherTabProbe time.Duration
	// DialogClosed is how long the browser may take to report that a dialog closed that it did not
	// let us answer.
	DialogClosed time.Duration

	// NewWindow bounds the wait for the tabs that a page opens.
	NewWindow time.Duration
	// Frames is how long the document of an out-of-process iframe may take to appear. The browser
	// reports the process of the iframe first.
	Frames time.Duration
	// World is how long the isolated world of a document may take to appear whose navigation has
	// committed: the browser reports its origin right afterwards.
	World time.Duration
	// ErrorPage bounds the wait for the browser's error page.
	ErrorPage time.Duration
	// StopLoading bounds the command that stops loading a page after a call.
	StopLoading time.Duration
	// Title bounds reading a title: a page that is busy after loading must not delay the result.
	// EarlierTitle is the same for the title of the document before an action.
	Title, EarlierTitle time.Duration
	// ConsoleObjects bounds reading the objects in console messages. A page that is busy cannot
	// respond, and its messages must be readable.
	ConsoleObjects time.Duration
	// Read bounds a read. A page that takes longer is hung.
	Read time.Duration
	// Emulate bounds a change of the emulation.
	Emulate time.Duration
	// Reattach bounds attaching to a target again. A responsive page takes milliseconds. A page that
	// is blocked by a dialog from before the attachment never responds.
	Reattach time.Duration

	// LiveView is how long the page may take to respond before the live view reports that it hangs.
	LiveView time.Duration
	// LiveInput bounds one event of the user in a live view: a hung page does not respond to it.
	LiveInput time.Duration
	// Mask bounds masking what the user entered in the documents of a tab. Documents that need more
	// time cannot be read until they are masked.
	Mask time.Duration
	// WatchFields bounds preparing one document for a handover. A hung page can be handed over.
	WatchFields time.Duration
	// OtherCalls bounds waiting for the calls on other tabs of the group at the start of a handover.
	OtherCalls time.Duration
	// Front bounds bringing a tab to the front.
	Front time.Duration
	// Resume bounds attaching to a tab again at the end of a handover, and separately the commands
	// that restore its emulation.
	Resume time.Duration
}

func defaultPageLimits() PageLimits {
	return PageLimits{
		Script:          1500 * time.Millisecond,
		Input:           5 * time.Second,
		PressDelivery:   300 * time.Millisecond,
		BusyPress:       4 * time.Second,
		InputPerByte:    300 * time.Microsecond,
		Stroke:          50 * time.Millisecond,
		TextBlock:       15 * time.Second,
		OtherDocuments:  100 * time.Millisecond,
		StaleFrame:      time.Second,
		ParentDocument:  time.Second,
		Drop:            2 * time.Second,
		PasteBlock:      500 * time.Millisecond,
		PasteRelease:    time.Second,
		LineBreak:       time.Second,
		HiddenLineBreak: 120 * time.Millisecond,
		ResizedPage:     time.Second,
		Upload:          60 * time.Second,

		Block:        2 * time.Second,
		InputEnd:     500 * time.Millisecond,
		PendingInput: 30 * time.Second,
		Hide:         3 * time.Second,

		HungPage:      time.Second,
		BusyPage:      5 * time.Second,
		NewTab:        10 * time.Second,
		Terminate:     4 * time.Second,
		EarlyDialog:   3 * time.Second,
		OtherTabProbe: 250 * time.Millisecond,
		DialogClosed:  time.Second,

		NewWindow:      time.Second,
		Frames:         300 * time.Millisecond,
		World:          250 * time.Millisecond,
		ErrorPage:      2 * time.Second,
		StopLoading:    time.Second,
		Title:          2 * time.Second,
		EarlierTitle:   time.Second,
		ConsoleObjects: 500 * time.Millisecond,
		Read:           15 * time.Second,
		Emulate:        10 * time.Second,
		Reattach:       10 * time.Second,

		LiveView:    2 * time.Second,
		LiveInput:   2 * time.Second,
		Mask:        2 * time.Second,
		WatchFields: time.Second,
		OtherCalls:  5 * time.Second,
		Front:       2 * time.Second,
		Resume:      2 * time.Second,
	}
}
