package chromium

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/child"
)

const (
	// resumerName is the name of the resumer's child process type.
	resumerName = "popup-resumer"
	// resumeTime is how long a resumer resumes popup windows after this process has exited. The
	// browser may pause more of them until it notices the exit.
	resumeTime = 5 * time.Second
)

func init() { child.Handle(resumerName, serveResumer) }

// startResumer starts a process that resumes the popup windows of an attached browser if this
// process exits without detaching. The browser pauses the opener together with its popup window,
// and does not resume them when our connection closes.
func startResumer(at attach.Endpoint) (*child.Process, error) {
	p, err := child.Start(resumerName)
	if err == nil {
		if err = p.Send(child.NewMessage("start", at)); err != nil {
			p.End()
		}
	}
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, "Try again.", "process that resumes popup windows did not start: %w", err)
	}
	return p, nil
}

// serveResumer waits until the parent exits and resumes the popup windows.
func serveResumer(parent *child.Parent) error {
	parent.Outlive()
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the parent also receives these signals
	m := parent.Receive()
	if m == nil {
		return nil
	}
	var at attach.Endpoint
	if err := json.Unmarshal(m.Data, &at); err != nil {
		return err
	}
	parent.Receive() // returns when the parent exits
	t, _, err := attach.Dial(context.Background(), at)
	if err != nil {
		return err // the browser has also exited
	}
	conn := cdpconn.New(t)
	defer conn.Close()
	return resumePages(conn.BrowserSession())
}

// resumePages resumes all pages of a browser, including pages that open within resumeTime.
func resumePages(browser *cdpconn.Session) error {
	ctx, cancel := context.WithTimeout(context.Background(), resumeTime)
	defer cancel()
	_, err := browser.Start(ctx, "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": pageTargets})
	for err == nil {
		var ev cdpconn.Event
		if ev, err = browser.Next(ctx); err != nil {
			break
		}
		switch ev.Method {
		case "Target.targetCreated":
			if e, err := cdpconn.Decode(ev, target.TargetCreated); err == nil {
				browser.Start(ctx, "Target.attachToTarget", map[string]any{"targetId": e.TargetInfo.TargetID, "flatten": true})
			}
		case "Target.attachedToTarget":
			if ev.Child != nil {
				ev.Child.Start(ctx, "Runtime.runIfWaitingForDebugger", nil)
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
