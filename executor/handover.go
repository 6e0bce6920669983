package executor

import (
	"context"
	"time"
)

// Handover is the part of a [Page] that hands the tab over to the user.
type Handover interface {
	// HandOver waits in the call queue of the tab and then hands the tab over to the user, with the
	// tabs that its pages open, until HandedOver.End is called. During that time, calls of all
	// clients on these tabs wait up to their timeouts and then return ErrTimeout, commands of CDP
	// clients are denied, and nothing is recorded. Dialogs stay open for the user. What the user
	// enters in fields is masked in later results of their documents. HandedOver.Show shows the
	// tab.
	//
	// The [Gate] checks OpRead. HandOver returns ErrBackpressure if the tab is handed over already, or
	// if a call on a tab that is related to it does not end soon.
	HandOver(ctx context.Context) (*HandedOver, error)
}

// HandedOver describes a tab that is handed over to the user.
type HandedOver struct {
	Tab                TabID
	URL, Title, Origin string          // of the page when it was handed over
	Visible            bool            // the browser has a window, so the user can use the page there
	Gone               <-chan struct{} `json:"-"` // closed when the tab is gone
	// Show brings the tab to the front, unless the extension shows the tab.
	Show func(context.Context) `json:"-"`
	// End ends the handover. It must be called, and may be called more than once.
	End func() `json:"-"`
}

// A HandoverAsker identifies an agent that asks the user.
type HandoverAsker struct {
	Principal string // whose session it is; empty without a server
	Session   string // the session of the agent
	Client    string // a random id of the agent's connection: agents can share a session
}

// A HandoverQuestion asks the user to act on a page that is handed over.
type HandoverQuestion struct {
	HandoverAsker
	ID      string    // cannot be guessed
	Agent   string    // the name of the agent, as it reports it
	Message string    // what the user is asked to do, in the agent's words
	Site    string    // the origin of the page
	URL     string    // of the page when the agent asked
	Title   string    // of the page when the agent asked
	Tab     TabID     // the page's tab
	Asked   time.Time // when the agent asked
}

// A HandoverOutcome is how a [HandoverQuestion] ended.
type HandoverOutcome string

// The outcomes. The user answers with one of the first two.
const (
	OutcomeDone    HandoverOutcome = "done"    // the user has done what the message asks
	OutcomeCannot  HandoverOutcome = "cannot"  // the user cannot do it, or does not want to
	OutcomeClosed  HandoverOutcome = "closed"  // the tab, its browser or the session of the agent is gone
	OutcomeTimeout HandoverOutcome = "timeout" // the user did not answer for a long time
)

// A HandoverPrompter shows questions about tabs that are handed over without the client. The
// extension backend shows them in the extension popup. Its methods are safe for concurrent use.
type HandoverPrompter interface {
	// CanAsk reports whether the user of the browser of a tab can be asked. It does not block.
	CanAsk(tab TabID) bool
	// AskAbout shows the tab of a question and the question, and waits for the answer, also while
	// the browser is disconnected for a short time. When ctx is done, the question is removed.
	// AskAbout returns ErrExtensionDisconnected if the browser does not reconnect.
	AskAbout(ctx context.Context, q HandoverQuestion) (HandoverOutcome, error)
}
