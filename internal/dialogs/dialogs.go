// Package dialogs tracks the JavaScript dialogs of a tab.
package dialogs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// A Dialog is an open JavaScript dialog of a tab.
type Dialog struct {
	executor.Dialog
	Session     *cdpconn.Session
	Frame       cdp.FrameID
	Consecutive int         // number of dialogs that opened before it; see MaxConsecutive
	Early       bool        // it opened before we attached to the tab
	Resubmit    atomic.Bool // the client has requested that the form of the page is sent again
	URL         string      // of the page, for an early dialog
}

// State is the state of the JavaScript dialogs of a tab. The zero value is ready to use. It is safe
// for concurrent use.
type State struct {
	open atomic.Pointer[Dialog] // nil means none

	mu           sync.Mutex                                   // guards the fields below
	consecutive  int                                          // dialogs that opened before the last one, each directly after the previous one was answered
	answeredAt   time.Time                                    // when the last dialog was answered
	answerableAt time.Time                                    // when a dialog may be answered; see DelayAnswers
	answer       func(executor.Dialog) *executor.DialogAnswer // answers dialogs automatically; may be nil
}

// Open returns the open dialog, or nil if none is open.
func (s *State) Open() *Dialog { return s.open.Load() }

// SetOpen sets the open dialog; nil means none.
func (s *State) SetOpen(d *Dialog) { s.open.Store(d) }

// Err returns the error for the open dialog, or nil if none is open.
func (s *State) Err() error {
	if d := s.open.Load(); d != nil {
		return d.Err()
	}
	return nil
}

// answerWith makes f answer dialogs, except those for which it returns nil. f is called while the
// tree of the tab and s are locked, so it must not call methods of s. A nil f leaves dialogs open.
func (s *State) answerWith(f func(executor.Dialog) *executor.DialogAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// AutomaticAnswer returns the automatic answer to a dialog, or nil if there is none.
func (s *State) AutomaticAnswer(d executor.Dialog) *executor.DialogAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer == nil {
		return nil
	}
	return s.answer(d)
}

// Opened counts a dialog that opens now, and returns the number of consecutive dialogs before it:
// those that opened within window after an answer.
func (s *State) Opened(now time.Time, window time.Duration) (consecutive int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.consecutive++; now.Sub(s.answeredAt) > window {
		s.consecutive = 0
	}
	return s.consecutive
}

// Answered records that a dialog was answered.
func (s *State) Answered(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answeredAt = now
}

// DelayAnswers delays the answers to dialogs by d: a press that waits behind a dialog must expire
// first.
func (s *State) DelayAnswers(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answerableAt = time.Now().Add(d)
}

// WaitAnswerable waits until a dialog may be answered. See DelayAnswers.
func (s *State) WaitAnswerable(ctx context.Context) error {
	s.mu.Lock()
	left := time.Until(s.answerableAt)
	s.mu.Unlock()
	if left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return frames.TimeoutAs(context.Cause(ctx), "the dialog to accept an answer")
	}
}

// MaxConsecutive is how many dialogs a page may open, each directly after the previous
// one was answered. A page that opens more probably never stops, so the next answer terminates
// its scripts. No user would answer that many.
const MaxConsecutive = 10

// Err returns the ErrDialogOpen error of calls while the dialog is open.
func (d *Dialog) Err() *executor.Error {
	hint := "Answer it with Page.HandleDialog."
	switch {
	case d.Early:
		return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Dismiss the dialog. It cannot be accepted.",
			Err: errors.New("a dialog that opened before chrome-mcp attached to the tab blocks the page")}
	case d.Consecutive > MaxConsecutive:
		hint = "The page keeps opening dialogs. Close it with Page.Close."
	case d.Type == executor.DialogBeforeUnload:
		hint = "Dismiss it with Page.HandleDialog to stay on the page. To leave the page, answer with DialogAnswer.Accept."
	}
	return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: hint,
		Err: fmt.Errorf("%s dialog is open and blocks the page", phrase.WithArticle(string(d.Type)))}
}

// FrameOr returns the frame of the dialog, or main if the browser is too old to report it.
func (d *Dialog) FrameOr(main cdp.FrameID) cdp.FrameID {
	if d.Frame == "" {
		return main
	}
	return d.Frame
}

// AnswerAll answers dialogs automatically until done is called: it accepts alert and
// beforeunload, and dismisses confirm and prompt. list returns a description of each answered
// dialog.
func (s *State) AnswerAll() (list func() []string, done func()) {
	var answered []string // s.mu guards it
	s.answerWith(func(d executor.Dialog) *executor.DialogAnswer {
		a := &executor.DialogAnswer{Accept: d.Type == executor.DialogAlert || d.Type == executor.DialogBeforeUnload}
		verb := "dismissed"
		if a.Accept {
			verb = "accepted"
		}
		if len(answered) < 20 {
			answered = append(answered, fmt.Sprintf("%s %q %s", d.Type, pagetext.FirstLine(d.Message), verb))
		}
		return a
	})
	list = func() []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Clone(answered)
	}
	return list, func() { s.answerWith(nil) }
}
