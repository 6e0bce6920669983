// Package executortest is the contract suite that every backend must pass. It checks the
// documentation of package executor on real pages.
//
// The suite serves its pages on the loopback interface. A page reports what actually happened (a
// trusted click, a submitted form) to the server, and a case waits for that report. A result is
// never accepted as proof of an effect.
package executortest

import (
	"context"
	"testing"
	"time"

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
	// Part selects the topics to run. The default is all of them.
	Part Part
	// MaxDownload is the backend's maximum download size in bytes; 0 means 100 MiB.
	MaxDownload int64
	// Zoom, if not nil, sets the browser zoom of the tab whose URL starts with url, as the user
	// does. It is required for browsers that do not pass their own shortcut keys to pages;
	// otherwise those keys are pressed. It must be safe for concurrent use.
	Zoom func(t *testing.T, url string, factor float64)
	// Raw sends a CDP command to the tab whose URL starts with url, like another CDP client. Such
	// input represents the user's. Raw must be safe for concurrent use.
	Raw func(t *testing.T, url, method string, params any)
	// UserAnswers reports that the browser opens its native dialogs, which its user answers.
	UserAnswers bool
	// SharedClipboard reports that the backend rejects the keys of the clipboard.
	SharedClipboard bool
	// UserClipboard reports that the browser has the clipboard of its user, so that the gate decides
	// on its keys.
	UserClipboard bool
	// Exceptions maps cases that the backend does not pass, "topic/case", to the reasons. There are
	// at most MaxExceptions. They are skipped.
	Exceptions map[string]string
	// Report, if not nil, is called with the test and the duration of each completed case. It must
	// be safe for concurrent use.
	Report func(t *testing.T, took time.Duration)
}

// Run runs the contract suite on a backend. The browser must be able to connect to 127.0.0.1 and
// localhost, which serve as two sites.
func Run(t *testing.T, h Harness) { run(t, h, contract) }

// RunDetail runs the detail suite on a backend: cases that exercise unusual pages. Backends that
// control pages over CDP must also pass it.
func RunDetail(t *testing.T, h Harness) { run(t, h, detailTopics) }

func run(t *testing.T, h Harness, topics []topic) {
	tier.Browser(t)
	if h.MaxDownload == 0 {
		h.MaxDownload = 100 << 20
	}
	checkExceptions(t, h.Exceptions)
	s := &suite{h: h, site: newSite(), slots: make(chan struct{}, parallelCases)}
	t.Run("backend="+h.Name, func(t *testing.T) {
		for _, topic := range topics {
			if !h.Part.has(topic.name) {
				continue
			}
			t.Run(topic.name, func(t *testing.T) {
				t.Parallel()
				topic.cases(s, t)
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

// A suite is one run of a suite on one backend.
type suite struct {
	h     Harness
	site  *site
	slots chan struct{}
	list  func(name, file string, deep bool) // if not nil, cases are listed instead of run
	deep  bool                               // the cases are deep tests
}

// long returns the suite for cases that are deep tests: variants of other cases, and cases whose
// attempts are random.
func (s *suite) long() *suite {
	l := *s
	l.deep = true
	return &l
}

// page runs a case in its own session, whose only tab shows file.
func (s *suite) page(t *testing.T, name, file string, f func(c *testCase)) {
	s.pageWith(t, name, file, executor.SessionOptions{Gate: executor.AllowAll}, f)
}

// pageWith is page with session options. An empty file opens no tab.
func (s *suite) pageWith(t *testing.T, name, file string, opts executor.SessionOptions, f func(c *testCase)) {
	if s.list != nil {
		s.list(name, file, s.deep)
		return
	}
	t.Run(name, func(t *testing.T) {
		if why := s.h.Exceptions[s.topicOf(t)+"/"+name]; why != "" {
			t.Skip("an exception of this backend: " + why)
		}
		if s.deep {
			tier.Long(t)
		}
		t.Parallel()
		s.slots <- struct{}{}
		start := time.Now()
		t.Cleanup(func() {
			<-s.slots
			if s.h.Report != nil {
				s.h.Report(t, time.Since(start))
			}
		})
		ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
		t.Cleanup(cancel)
		c := &testCase{T: t, suite: s, ctx: ctx, caseSite: s.site.newStage(t)}
		c.exec = c.session(opts)
		if file != "" {
			c.tab = c.open(file)
		}
		f(c)
	})
}
