package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A transport sends and receives the messages of a browser. Read and Write ignore their contexts
// while they wait for the browser; Close interrupts them.
type transport = chromedp.Transport

// A version is the result of Browser.getVersion.
type version = cdpbrowser.GetVersionResult

// A process is a browser process that we launched and own. Its methods are safe for concurrent use.
type process struct {
	transport transport // the browser has responded on it; close closes it
	version   version
	pid       int
	headless  bool
	path      string
	dir       string // of the profile

	// exited is closed when the browser has exited, for any reason, and its output is complete.
	exited  chan struct{}
	waitErr error // of exec.Cmd.Wait; set before exited is closed

	profile *profile
	output  output
	pipes   *pipes
	logger  *slog.Logger
	timing  timing.Timing  // never changes
	work    sync.WaitGroup // the goroutines that close waits for
	swept   chan struct{}  // closed when the launch's sweep has finished

	closeOnce sync.Once
	closeErr  error
}

// launch starts a browser with options o and returns when it has responded. ctx bounds only the
// launch. launch returns ErrNoBackend if no browser is installed, ErrBadArgs for options that
// contradict each other, and otherwise ErrLaunchFailed with one sentence that says why. After an
// error, the browser is no longer running.
func launch(ctx context.Context, o Options) (*process, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	path, err := FindIn(o.DataDir, o.Browser)
	if err != nil {
		return nil, err
	}
	headless, err := o.ownHeadless()
	if err != nil {
		return nil, err
	}
	if _, err := o.arguments("", headless); err != nil {
		return nil, err // before anything is created
	}
	prof, err := acquireProfile(ctx, &o)
	if err != nil {
		return nil, err
	}
	p := &process{
		path: path, dir: prof.dir, headless: headless, profile: prof, logger: o.Logger, timing: o.timing,
		exited: make(chan struct{}), swept: make(chan struct{}),
	}
	if err := o.prepareProfile(prof.dir); err != nil {
		err = executor.Errorf(executor.ErrLaunchFailed, "Check the profile directory, or use another profile.", "profile preferences: %w", err)
		return nil, errors.Join(err, prof.release(context.WithoutCancel(ctx)))
	}
	start := time.Now()
	if err := p.start(&o); err != nil {
		return nil, errors.Join(err, prof.release(context.WithoutCancel(ctx)))
	}
	if err := p.await(ctx); err != nil {
		p.abort()
		return nil, err
	}
	p.logger.Debug("launched a browser", "path", path, "pid", p.pid, "product", p.version.Product,
		"headless", headless, "profile", p.dir, "took", time.Since(start).Round(time.Millisecond))
	// Sweep in the background, so that it does not delay the first page.
	p.work.Go(func() {
		defer close(p.swept)
		swept, err := Sweep(context.Background(), o.DataDir)
		if err != nil {
			p.logger.Warn("removing leftovers of an earlier run failed", "error", err)
		}
		if len(swept.Profiles)+len(swept.Browsers) > 0 {
			p.logger.Info("removed leftovers of an earlier run", "profiles", swept.Profiles, "browsers", swept.Browsers)
		}
	})
	return p, nil
}

// start starts the program on its pipes.
func (p *process) start(o *Options) error {
	args, err := o.arguments(p.dir, p.headless)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path, args...)
	cmd.Stdout, cmd.Stderr = &p.output, &p.output // never our stdout, which may carry a protocol
	cmd.WaitDelay = p.timing.HelperOutput
	if cmd.Env, err = noOtherPrograms(p.dir); err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "Check the profile directory, or use another profile.", "profile directory: %w", err)
	}
	cmd.Env = withUTF8(cmd.Env)
	if p.headless {
		// Headless audio is muted. PulseAudio's library creates a directory for its socket, which
		// would otherwise remain in the system's temporary directory.
		cmd.Env = append(cmd.Env, "PULSE_RUNTIME_PATH="+filepath.Join(p.dir, "pulse"))
	}
	ownProcess(cmd, p.profile.temporary)
	if p.pipes, err = newPipes(cmd); err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "", "debugging pipe: %w", err)
	}
	started := make(chan error, 1)
	p.work.Go(func() {
		// Linux sends Pdeathsig when the thread that started the browser exits, not the process.
		// This goroutine keeps its thread until the browser exits (https://go.dev/issue/27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.waitErr = cmd.Wait()
		close(p.exited)
	})
	err = <-started
	p.pipes.closeBrowserEnds()
	if err != nil {
		p.pipes.closeOurEnds()
		p.work.Wait()
		return startError(p.path, err)
	}
	p.pid = cmd.Process.Pid
	p.transport = newPipeTransport(p.pipes.r, p.pipes.w)
	id, err := identify(p.pid)
	if err == nil {
		err = p.profile.writeLockRecord(id)
	}
	if err != nil {
		// If the browser has already exited, await returns the reason.
		p.logger.Debug("recording the browser process failed", "error", err)
	}
	return nil
}

// await waits until the browser has responded. If it does not, await returns why.
func (p *process) await(ctx context.Context) error {
	answered := make(chan error, 1)
	p.work.Go(func() {
		var err error
		p.version, err = getVersion(ctx, p.transport)
		answered <- err
	})
	timer := time.NewTimer(p.timing.Launch)
	defer timer.Stop()
	select {
	case err := <-answered:
		if err == nil {
			return nil
		}
		// The pipe broke. The exit of the process gives the reason.
		select {
		case <-p.exited:
		case <-time.After(p.timing.StartupError):
			return noResponseError(p.path, p.timing.StartupError, p.output.String())
		case <-ctx.Done():
			return launchCanceledError(ctx)
		}
	case <-p.exited:
	case <-timer.C:
		return noResponseError(p.path, p.timing.Launch, p.output.String())
	case <-ctx.Done():
		return launchCanceledError(ctx)
	}
	return p.failure()
}

// failure explains the exit of the browser, which must have exited.
func (p *process) failure() error {
	e := exitReport{path: p.path, dir: p.dir, err: p.waitErr, output: p.output.String()}
	return e.explain()
}

// close terminates the browser and returns when the browser, its helper processes and a temporary
// profile are gone. The browser has Timing.BrowserExit, or until ctx is done, to exit on its own;
// then it is killed. All calls wait and return the same error, which says what could not be removed.
func (p *process) close(ctx context.Context) error {
	p.closeOnce.Do(func() {
		p.profile.socket = socketOf(p.dir)
		// Chromium exits when its command pipe is closed. The other direction stays open until
		// then, so that Chromium does not block on a write.
		_ = p.pipes.w.Close()
		timer := time.NewTimer(p.timing.BrowserExit)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-timer.C:
			p.logger.Warn("browser did not exit in time; killing it", "pid", p.pid)
		case <-ctx.Done():
		}
		p.closeErr = p.end()
	})
	return p.closeErr
}

// abort terminates a browser that failed to launch.
func (p *process) abort() {
	p.closeOnce.Do(func() { p.closeErr = p.end() })
}

// end kills the remaining processes and cleans up.
func (p *process) end() error {
	if !notify.IsClosed(p.exited) {
		killTree(p.pid)
		<-p.exited
	}
	_ = p.transport.Close() // both ends; close may have closed the first one
	endHelpers(p.pid, p.profile)
	ctx, cancel := context.WithTimeout(context.Background(), p.timing.RemoveProfile)
	defer cancel()
	err := p.profile.release(ctx)
	p.work.Wait()
	return err
}

func launchCanceledError(ctx context.Context) error {
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
		Err: fmt.Errorf("browser launch canceled: %w", context.Cause(ctx))}
}

// getVersion sends Browser.getVersion and waits for the response. Before the first other command
// the browser sends no events, so none can be missed.
func getVersion(ctx context.Context, t transport) (version, error) {
	const id = 1
	if err := t.Write(ctx, &cdproto.Message{ID: id, Method: "Browser.getVersion"}); err != nil {
		return version{}, err
	}
	for {
		var m cdproto.Message
		if err := t.Read(ctx, &m); err != nil {
			return version{}, err
		}
		if m.ID != id {
			continue
		}
		if m.Error != nil {
			return version{}, m.Error
		}
		var v version
		if err := json.Unmarshal(m.Result, &v); err != nil {
			return version{}, fmt.Errorf("answer to Browser.getVersion: %w", err)
		}
		return v, nil
	}
}

// pipes are the two pipes between us and a browser.
type pipes struct {
	r                  *os.File // we read the browser's messages from it
	w                  *os.File // we write our commands to it
	browserR, browserW *os.File // the browser's ends
}

// newPipes creates the pipes and passes the browser's ends to cmd.
func newPipes(cmd *exec.Cmd) (*pipes, error) {
	p := new(pipes)
	var err error
	if p.browserR, p.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.r, p.browserW, err = os.Pipe(); err == nil {
		err = passPipes(cmd, p)
	}
	if err != nil {
		p.closeBrowserEnds()
		p.closeOurEnds()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeBrowserEnds() { closeAll(p.browserR, p.browserW) }
func (p *pipes) closeOurEnds()     { closeAll(p.r, p.w) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
