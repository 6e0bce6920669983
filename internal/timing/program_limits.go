package timing

import "time"

// ProgramLimits has the hang limits of the program: its calls, its end, and its other processes.
//
// When stdin ends or a signal arrives, the program exits within three seconds: at the end of stdin,
// pending calls have Drain to finish, and after that CancelCalls and CloseBrowser apply. MCP hosts
// kill a server after two to five seconds; a browser that is still running then exits when our end
// of its pipe closes.
type ProgramLimits struct {
	// Drain is how long a stdio transport waits for the replies to running calls after its input has
	// ended. Hosts kill a server about two seconds after that.
	Drain time.Duration
	// CancelCalls is the time that canceled calls have to return.
	CancelCalls time.Duration
	// CloseBrowser is the time that the browser has to exit.
	CloseBrowser time.Duration
	// CloseTerminal is the time that the browser of a terminal has to exit. No MCP host kills the
	// server after a few seconds.
	CloseTerminal time.Duration
	// CloseExtension is the time that the extension has to close the tabs that the agent opened and
	// to detach from the user's tabs. Then the bridge closes and removes its handshake file.
	CloseExtension time.Duration
	// CloseHandovers is how long the end of a session waits for its handovers to end. Closing the
	// executor ends the remaining ones.
	CloseHandovers time.Duration
	// LastResults is the time that the canceled calls of a session over HTTP have to send their
	// results.
	LastResults time.Duration
	// ClientName is the time that the bridge waits for the name of the client, by which users
	// distinguish agents.
	ClientName time.Duration

	// StartServer is the time that a server has to start, after an earlier one has exited.
	StartServer time.Duration
	// ClosePool is the time that the browsers of the sessions of a server have to exit at the end.
	ClosePool time.Duration
	// EndSessions is how long the commands that end a server or sessions wait until the browsers have
	// exited.
	EndSessions time.Duration
	// ServerDrain is the time that running calls have to finish when a server stops.
	ServerDrain time.Duration
	// CloseSessions is the time that the sessions of a server have to close after that. A session
	// that closes a browser takes at most about 12 s.
	CloseSessions time.Duration
	// CloseConnections is the time that connections to a server have to send their last responses
	// after that.
	CloseConnections time.Duration
	// SessionUse bounds waiting for a use of a session whose response the client already has.
	SessionUse time.Duration
	// ServerAnswer is the time that a server has to report its state or its sessions.
	ServerAnswer time.Duration
	// RemoteServer is the time that a remote server has to answer the first request.
	RemoteServer time.Duration

	// StartScript is the time that the engine process of a script has to start, until the script
	// runs.
	StartScript time.Duration
}

func defaultProgramLimits() ProgramLimits {
	return ProgramLimits{
		Drain:          700 * time.Millisecond,
		CancelCalls:    300 * time.Millisecond,
		CloseBrowser:   1800 * time.Millisecond,
		CloseTerminal:  10 * time.Second,
		CloseExtension: 700 * time.Millisecond,
		CloseHandovers: 200 * time.Millisecond,
		LastResults:    500 * time.Millisecond,
		ClientName:     500 * time.Millisecond,

		StartServer:      10 * time.Second,
		ClosePool:        8 * time.Second,
		EndSessions:      10 * time.Second,
		ServerDrain:      2 * time.Second,
		CloseSessions:    15 * time.Second,
		CloseConnections: 500 * time.Millisecond,
		SessionUse:       time.Second,
		ServerAnswer:     10 * time.Second,
		RemoteServer:     10 * time.Second,

		StartScript: 20 * time.Second,
	}
}
