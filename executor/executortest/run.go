// Package executortest is the suite that every backend must pass. It says in
// real pages what the comments of package executor say in words.
//
// The suite serves its own pages on the loopback interface. A page reports
// what really happened in it (a trusted click, a submitted form) to the
// server, and a case waits for that report: what a method claims is never
// taken for its effect.
package executortest

import (
	"context"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Harness gives the suite sessions on the backend under test.
type Harness struct {
	// Name stands in the names of the subtests: "backend=chromium/click/covered".
	Name string
	// NewSession returns a new client session on the backend, which all cases
	// share. The suite closes it. It must be safe for concurrent use.
	NewSession func(t *testing.T, opts executor.SessionOptions) executor.Executor
	// Part says which topics are run; all of them by default.
	Part Part
	// MaxDownload is how many bytes the backend downloads at most; 0 means
	// 100 MiB.
	MaxDownload int64
	// Zoom, when set, zooms the tab whose URL begins with url as its user
	// does, in a browser that keeps its own keys from pages. Otherwise those
	// keys are pressed. It must be safe for concurrent use.
	Zoom func(t *testing.T, url string, factor float64)
	// Raw sends a CDP command to the tab whose URL begins with url, like another
	// CDP client. Such input represents the user's. Raw must be safe for
	// concurrent use.
	Raw func(t *testing.T, url, method string, params any)
	// UserAnswers says that the browser opens its own dialogs, for its user to answer.
	UserAnswers bool
	// Exceptions are the cases that the backend does not pass, "topic/case",
	// and why: at most MaxExceptions, each shown in docs/behaviour.md. They
	// are skipped.
	Exceptions map[string]string
	// Report, when set, gets the test of each case that has ended and how long
	// it took. It must be safe for concurrent use.
	Report func(t *testing.T, took time.Duration)
}

// Run runs the suite on one backend. The browser must be able to reach
// 127.0.0.1 and localhost, which serve as two sites.
func Run(t *testing.T, h Harness) { run(t, h, contract) }

// Torture runs what goes into the details of pages on one backend: the cases
// that [Behaviours] lists beside those of Run. A backend that drives its
// pages by the protocol of the browser's developer tools is held to both.
func Torture(t *testing.T, h Harness) { run(t, h, torture) }

func run(t *testing.T, h Harness, topics []topic) {
	if h.MaxDownload == 0 {
		h.MaxDownload = 100 << 20
	}
	checkExceptions(t, h.Exceptions)
	s := &suite{h: h, site: newSite(), slots: make(chan struct{}, atOnce)}
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

// atOnce is how many cases run at the same time: enough to fill the waits,
// few enough that a small machine's browser keeps up with its own deadlines.
const atOnce = 4

// caseTimeout bounds one case. A case that needs it all has failed.
const caseTimeout = 90 * time.Second

// A suite is one run over one backend.
type suite struct {
	h     Harness
	site  *site
	slots chan struct{}
	list  func(name, file string) // set: cases are listed, not run
}

// page runs a case in a session of its own, whose only tab shows file.
func (s *suite) page(t *testing.T, name, file string, f func(c *scene)) {
	s.pageWith(t, name, file, executor.SessionOptions{Gate: executor.AllowAll}, f)
}

// pageWith is page with session options. An empty file opens no tab.
func (s *suite) pageWith(t *testing.T, name, file string, opts executor.SessionOptions, f func(c *scene)) {
	if s.list != nil {
		s.list(name, file)
		return
	}
	t.Run(name, func(t *testing.T) {
		if why := s.h.Exceptions[s.topicOf(t)+"/"+name]; why != "" {
			t.Skip("an exception of this backend: " + why)
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
		c := &scene{T: t, suite: s, ctx: ctx, stage: s.site.newStage(t)}
		c.exec = c.session(opts)
		if file != "" {
			c.tab = c.open(file)
		}
		f(c)
	})
}
