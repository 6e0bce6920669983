// Package suite runs cases on real pages. A suite is a list of topics, a topic a group of cases. Each
// case has its own session on a backend, and its own origin.
//
// The pages are served on the loopback interface. A page reports what actually happened (a trusted
// click, a submitted form) to the server, and a case waits for that report. A result is never accepted
// as proof of an effect.
package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A Harness connects the suite to a backend.
type Harness struct {
	// Name is part of the subtest names: "backend=chromium/click/covered".
	Name string
	// NewSession returns a new client session on the backend, which all cases
	// share. The suite closes it. It must be safe for concurrent use.
	NewSession func(t *testing.T, opts executor.SessionOptions) executor.Executor
	// MaxDownload is the backend's maximum download size in bytes; 0 means 100 MiB.
	MaxDownload int64
	// Zoom, if not nil, sets the browser zoom of the tab whose URL starts with url, as the user
	// does. It is required for browsers that do not pass their own shortcut keys to pages;
	// otherwise those keys are pressed. It must be safe for concurrent use.
	Zoom func(t *testing.T, url string, factor float64)
	// Raw sends a CDP command to the tab whose URL starts with url, or to the browser if the command is
	// of the domain Browser, like another CDP client. Such input represents the user's. Raw must be
	// safe for concurrent use.
	Raw func(t *testing.T, url, method string, params any)
	// UserAnswers reports that the browser opens its native dialogs, which its user answers.
	UserAnswers bool
	// SharedClipboard reports that the backend rejects the keys of the clipboard.
	SharedClipboard bool
	// UserClipboard reports that the browser has the clipboard of its user, so that the gate decides
	// on its keys.
	UserClipboard bool
	// DeepShared makes the cases of [Runner.Shared] deep tests: another backend runs them as landing tests.
	DeepShared bool
	// Exceptions maps cases that the backend does not pass, "topic/case", to the reasons. They are
	// skipped.
	Exceptions map[string]string
	// Runs reports whether to run a case; nil means all.
	Runs func(topic, name string) bool
}

// Run runs topics on a backend. The browser must be able to connect to 127.0.0.1 and localhost, which
// serve as two sites.
func Run(t *testing.T, h Harness, topics []Topic) {
	tier.Browser(t)
	if h.MaxDownload == 0 {
		h.MaxDownload = 100 << 20
	}
	s := &Runner{H: h, pages: newPageServer(), slots: make(chan struct{}, parallelCases)}
	t.Run("backend="+h.Name, func(t *testing.T) {
		for _, topic := range topics {
			t.Run(topic.Name, func(t *testing.T) {
				t.Parallel()
				topic.Cases(s, t)
			})
		}
	})
}

// parallelCases is the number of concurrent cases: enough to use waiting times, and few enough that
// the browser of a small machine meets its own deadlines.
const parallelCases = 4

// caseTimeout ends a case that hangs. A case waits for many things, one after another. No result of a
// case depends on its value.
const caseTimeout = 5 * await.HangLimit

// A Runner runs cases on one backend.
type Runner struct {
	H     Harness
	pages *pageServer
	slots chan struct{}
	list  func(name, file string, deep bool) // if not nil, cases are listed instead of run
	deep  bool                               // the cases are deep tests
	// shared means that all backends share what the cases test.
	shared bool
}

// Deep returns the runner for cases that are deep tests: variants of other cases, and cases whose
// attempts are random.
func (s *Runner) Deep() *Runner {
	l := *s
	l.deep = true
	return &l
}

// Shared returns the runner for cases of what all backends share, which the landing tests run on one of
// them: see Harness.DeepShared.
func (s *Runner) Shared() *Runner {
	c := *s
	c.shared = true
	return &c
}

// Page runs a case in its own session, whose only tab shows file.
func (s *Runner) Page(t *testing.T, name, file string, f func(c *Case)) {
	s.PageWith(t, name, file, executor.SessionOptions{Gate: executor.AllowAll}, f)
}

// PageWith is Page with session options. An empty file opens no tab.
func (s *Runner) PageWith(t *testing.T, name, file string, opts executor.SessionOptions, f func(c *Case)) {
	if s.list != nil {
		s.list(name, file, s.deep)
		return
	}
	if s.H.Runs != nil && !s.H.Runs(s.topicOf(t), name) {
		return
	}
	t.Run(name, func(t *testing.T) {
		if why := s.H.Exceptions[s.topicOf(t)+"/"+name]; why != "" {
			t.Skip("an exception of this backend: " + why)
		}
		if s.deep || s.shared && s.H.DeepShared {
			tier.Deep(t)
		}
		t.Parallel()
		s.slots <- struct{}{}
		t.Cleanup(func() { <-s.slots })
		ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
		t.Cleanup(cancel)
		c := &Case{Checks: Checks{t}, Runner: s, Ctx: ctx, Site: s.pages.newSite(t)}
		c.Exec = c.Session(opts)
		if file != "" {
			c.Tab = c.Open(file)
			c.pageLog = func() string {
				log, err := c.Page().Eval(c.Ctx, "window.log", nil)
				if err != nil {
					return err.Error()
				}
				return string(log.Value)
			}
		}
		f(c)
	})
}

// Watched runs a case in a session that sends its events to next.
func (s *Runner) Watched(t *testing.T, name, file string, f func(c *Case, next func(executor.EventKind) executor.Event)) {
	events := make(chan executor.Event, 1000)
	opts := executor.SessionOptions{Gate: executor.AllowAll, OnEvent: func(e executor.Event) { events <- e }}
	s.PageWith(t, name, file, opts, func(c *Case) {
		f(c, func(kind executor.EventKind) executor.Event {
			c.Helper()
			for {
				if e := await.Receive(c, fmt.Sprintf("an event of kind %s", kind), events); e.Kind == kind {
					return e
				}
			}
		})
	})
}

// topicOf returns the name of the topic of the current case.
func (s *Runner) topicOf(t *testing.T) string {
	_, rest, _ := strings.Cut(t.Name(), "backend="+s.H.Name)
	_, rest, _ = strings.Cut(rest, "/") // removes a suffix that distinguishes repeated runs
	topic, _, _ := strings.Cut(rest, "/")
	return topic
}
