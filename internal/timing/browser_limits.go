package timing

import "time"

// BrowserLimits has the hang limits of a browser and of the extension.
type BrowserLimits struct {
	// Launch bounds the time to the first response of a browser. A cold start from a slow disk takes
	// several seconds.
	Launch time.Duration
	// StartupError bounds the wait for the output and exit of a browser that closed its pipe during
	// launch.
	StartupError time.Duration
	// BrowserExit is the time that a browser has to exit after its pipe is closed. It takes 0.1 s,
	// and more on a busy machine. The limit leaves the program time to exit within 3 s of a request
	// to do so.
	BrowserExit time.Duration
	// HelperOutput bounds how long helper processes that outlive the browser may keep its output
	// open before it counts as complete.
	HelperOutput time.Duration
	// HelperExit bounds killing the processes that use a profile.
	HelperExit time.Duration
	// OrphanExit is the time that an orphaned browser has to save its profile. An orphan that is
	// still running usually hangs, so it is short.
	OrphanExit time.Duration
	// ProfileLock bounds the wait for a lock that is not held by a running owner, but by a sweep that
	// checks the directory or by a start that has not written its record yet.
	ProfileLock time.Duration
	// RemoveProfile bounds the attempts to remove a temporary profile. Helper processes of the
	// browser may write to it for a short time after the browser has exited.
	RemoveProfile time.Duration
	// ProfileSocket bounds how long a killed browser may keep its socket open.
	ProfileSocket time.Duration
	// DisposeContext bounds the disposal of a browser context. A browser that takes longer does not
	// respond and is terminated.
	DisposeContext time.Duration
	// ProxyRequest bounds one request of a browser to our own proxy.
	ProxyRequest time.Duration
	// PausedPopup limits how long a popup window stays paused for a CDP client that does not resume
	// it. It is below AttachTab.
	PausedPopup time.Duration
	// MoveDownload limits how long a client waits until a download has been moved.
	MoveDownload time.Duration

	// Discover bounds the request for the WebSocket URL of an endpoint.
	Discover time.Duration
	// Connect bounds the TCP connection to an endpoint.
	Connect time.Duration
	// Dial bounds the WebSocket handshake with an endpoint. A Chrome that is configured to prompt
	// its user responds after the user has answered.
	Dial time.Duration
	// FirstResponse bounds the first response over the WebSocket.
	FirstResponse time.Duration
	// EndpointPing bounds the response to a ping of an endpoint. Its network thread responds, so a
	// busy browser does not delay it.
	EndpointPing time.Duration
	// PortCheck bounds the check whether a program listens on the port of a running browser, on this
	// machine.
	PortCheck time.Duration

	// AttachTab bounds attaching to one tab.
	AttachTab time.Duration
	// OpenTab bounds opening one tab in the user's Chrome.
	OpenTab time.Duration
	// CloseTabs bounds closing the tabs of one session.
	CloseTabs time.Duration
	// CloseAbandoned bounds closing a tab that the call that opened it no longer needs. No call
	// waits for that.
	CloseAbandoned time.Duration
	// CallQueue bounds the wait of a call in the call queue of a tab unless the call has its own
	// timeout.
	CallQueue time.Duration
	// StorageState bounds saving or loading of storage state.
	StorageState time.Duration
	// SharedTitles bounds how long a call waits for the titles of tabs that the user has shared.
	SharedTitles time.Duration
	// FindSent bounds the search for the element that the user sends, and DescribeSent how long a
	// call waits for its description.
	FindSent, DescribeSent time.Duration

	// ExtensionPing bounds the ping of the extension. A responsive extension answers within
	// milliseconds; one whose service worker must be started takes up to half a second.
	ExtensionPing time.Duration
	// ExtensionReconnect bounds the wait for an extension that has disconnected. If only the
	// connection broke, the extension was reloaded or the token was rotated, it reconnects within
	// half a second. Finding out that it does not must not make a call longer than two seconds,
	// including the launch of another browser.
	ExtensionReconnect time.Duration
	// HandoverReconnect is how long a question waits for a disconnected browser. The extension
	// reconnects within seconds unless the browser has exited.
	HandoverReconnect time.Duration
	// HandoverEnd bounds the command that removes a question.
	HandoverEnd time.Duration
	// OtherServers bounds the query for tabs that other servers drive.
	OtherServers time.Duration
	// DetachReason is how long a command whose tab is gone waits for the reason.
	DetachReason time.Duration
	// UndoCDP bounds undoing what a CDP client has changed in a tab. A page that responds takes
	// milliseconds.
	UndoCDP time.Duration
	// DownloadReport is the maximum time between the reports of a download by the browser and by its page.
	DownloadReport time.Duration
	// CancelDownload bounds the command by which the extension cancels a denied download.
	CancelDownload time.Duration
}

func defaultBrowserLimits() BrowserLimits {
	return BrowserLimits{
		Launch:         20 * time.Second,
		StartupError:   5 * time.Second,
		BrowserExit:    2 * time.Second,
		HelperOutput:   500 * time.Millisecond,
		HelperExit:     2 * time.Second,
		OrphanExit:     2 * time.Second,
		ProfileLock:    2 * time.Second,
		RemoveProfile:  5 * time.Second,
		ProfileSocket:  2 * time.Second,
		DisposeContext: 5 * time.Second,
		ProxyRequest:   10 * time.Second,
		PausedPopup:    10 * time.Second,
		MoveDownload:   30 * time.Second,

		Discover:      5 * time.Second,
		Connect:       5 * time.Second,
		Dial:          30 * time.Second,
		FirstResponse: 5 * time.Second,
		EndpointPing:  10 * time.Second,
		PortCheck:     time.Second,

		AttachTab:      15 * time.Second,
		OpenTab:        15 * time.Second,
		CloseTabs:      5 * time.Second,
		CloseAbandoned: 15 * time.Second,
		CallQueue:      30 * time.Second,
		StorageState:   time.Minute,
		SharedTitles:   time.Second,
		FindSent:       2 * time.Second,
		DescribeSent:   time.Second,

		ExtensionPing:      800 * time.Millisecond,
		ExtensionReconnect: 600 * time.Millisecond,
		HandoverReconnect:  20 * time.Second,
		HandoverEnd:        2 * time.Second,
		OtherServers:       time.Second,
		DetachReason:       300 * time.Millisecond,
		UndoCDP:            time.Second,
		DownloadReport:     10 * time.Second,
		CancelDownload:     5 * time.Second,
	}
}
