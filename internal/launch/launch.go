// Package launch finds the browsers that are installed, and launches them.
package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A Process is a browser process that we launched and own. Its methods are safe for concurrent use.
type Process struct {
	// Transport sends and receives the messages of the browser, which has responded on it. Read and
	// Write ignore their contexts while they wait for the browser; Close of the Process interrupts them.
	Transport chromedp.Transport
	Version   cdpconn.Version
	PID       int
	Headless  bool
	Profile   *profiles.Profile
	Exited    chan struct{} // closed when the browser has exited, for any reason, and its output is complete
	Swept     chan struct{} // closed when the launch's sweep has finished

	path    string
	waitErr error // of exec.Cmd.Wait; set before Exited is closed
	output  output
	pipes   *pipes
	logger  *slog.Logger
	timing  timing.Timing  // never changes
	work    sync.WaitGroup // the goroutines that Close waits for

	closeOnce sync.Once
	closeErr  error
}

// Start launches a browser with options o and returns when it has responded. ctx bounds only the
// launch. Start returns ErrNoBackend if no browser is installed, ErrBadArgs for extra arguments or a
// proxy that it does not accept, and otherwise ErrLaunchFailed with one sentence that says why. After an
// error, the browser is no longer running.
func Start(ctx context.Context, o Options) (*Process, error) {
	path, err := Find(o.DataDir, o.Browser)
	if err != nil {
		return nil, err
	}
	o.Browser = path
	headless, err := Headless(o.Headless)
	if err != nil {
		return nil, err
	}
	if _, err := o.arguments("", headless); err != nil {
		return nil, err // before anything is created
	}
	prof, err := o.acquireProfile(ctx)
	if err != nil {
		return nil, err
	}
	p := &Process{
		Headless: headless, Profile: prof, path: path, logger: o.Logger, timing: o.Timing,
		Exited: make(chan struct{}), Swept: make(chan struct{}),
	}
	if err := o.prepareProfile(prof.Dir); err != nil {
		err = executor.Errorf(executor.ErrLaunchFailed, "Check the profile directory, or use another profile.", "profile preferences: %w", err)
		return nil, errors.Join(err, prof.Release(context.WithoutCancel(ctx)))
	}
	start := time.Now()
	if err := p.start(&o); err != nil {
		return nil, errors.Join(err, prof.Release(context.WithoutCancel(ctx)))
	}
	if err := p.await(ctx); err != nil {
		p.abort()
		return nil, err
	}
	p.logger.Debug("launched a browser", "path", path, "pid", p.PID, "product", p.Version.Product,
		"headless", headless, "profile", p.Profile.Dir, "took", time.Since(start).Round(time.Millisecond))
	// Sweep in the background, so that it does not delay the first page.
	p.work.Go(func() {
		defer close(p.Swept)
		removed, terminated, err := profiles.Sweep(context.Background(), o.DataDir)
		if err != nil {
			p.logger.Warn("removing leftovers of an earlier run failed", "error", err)
		}
		if len(removed)+len(terminated) > 0 {
			p.logger.Info("removed leftovers of an earlier run", "profiles", removed, "browsers", terminated)
		}
	})
	return p, nil
}

// WindowHeight returns the height of a window with a viewport of the given height.
func (p *Process) WindowHeight(viewport int) int { return windowHeight(p.path, viewport) }

// start starts the program on its pipes.
func (p *Process) start(o *Options) error {
	args, err := o.arguments(p.Profile.Dir, p.Headless)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path, args...)
	cmd.Stdout, cmd.Stderr = &p.output, &p.output // never our stdout, which may carry a protocol
	cmd.WaitDelay = p.timing.HelperOutput
	if cmd.Env, err = noOtherPrograms(p.Profile.Dir); err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "Check the profile directory, or use another profile.", "profile directory: %w", err)
	}
	cmd.Env = withUTF8(cmd.Env)
	if p.Headless {
		// Headless audio is muted. PulseAudio's library creates a directory for its socket, which
		// would otherwise remain in the system's temporary directory.
		cmd.Env = append(cmd.Env, "PULSE_RUNTIME_PATH="+filepath.Join(p.Profile.Dir, "pulse"))
	}
	ownProcess(cmd, p.Profile.Temporary)
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
		close(p.Exited)
	})
	err = <-started
	p.pipes.closeBrowserEnds()
	if err != nil {
		p.pipes.closeOurEnds()
		p.work.Wait()
		return startError(p.path, err)
	}
	p.PID = cmd.Process.Pid
	p.Transport = newPipeTransport(p.pipes.r, p.pipes.w)
	if err := p.Profile.SetBrowser(p.PID); err != nil {
		// If the browser has already exited, await returns the reason.
		p.logger.Debug("recording the browser process failed", "error", err)
	}
	return nil
}

// await waits until the browser has responded. If it does not, await returns why.
func (p *Process) await(ctx context.Context) error {
	answered := make(chan error, 1)
	p.work.Go(func() {
		var err error
		p.Version, err = cdpconn.GetVersion(ctx, p.Transport)
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
		case <-p.Exited:
		case <-time.After(p.timing.StartupError):
			return noResponseError(p.path, p.timing.StartupError, p.output.String())
		case <-ctx.Done():
			return launchCanceledError(ctx)
		}
	case <-p.Exited:
	case <-timer.C:
		return noResponseError(p.path, p.timing.Launch, p.output.String())
	case <-ctx.Done():
		return launchCanceledError(ctx)
	}
	return p.Failure()
}

// Failure explains the exit of the browser, which must have exited.
func (p *Process) Failure() error {
	e := exitReport{path: p.path, dir: p.Profile.Dir, err: p.waitErr, output: p.output.String()}
	return e.explain()
}

// Close terminates the browser and returns when the browser, its helper processes and a temporary
// profile are gone. The browser has Timing.BrowserExit, or until ctx is done, to exit on its own;
// then it is killed. All calls wait and return the same error, which says what could not be removed.
func (p *Process) Close(ctx context.Context) error {
	p.closeOnce.Do(func() {
		p.Profile.BeforeExit()
		// Chromium exits when its command pipe is closed. The other direction stays open until
		// then, so that Chromium does not block on a write.
		_ = p.pipes.w.Close()
		timer := time.NewTimer(p.timing.BrowserExit)
		defer timer.Stop()
		select {
		case <-p.Exited:
		case <-timer.C:
			p.logger.Warn("browser did not exit in time; killing it", "pid", p.PID)
		case <-ctx.Done():
		}
		p.closeErr = p.end()
	})
	return p.closeErr
}

// abort terminates a browser that failed to launch.
func (p *Process) abort() {
	p.closeOnce.Do(func() { p.closeErr = p.end() })
}

// end kills the remaining processes and cleans up.
func (p *Process) end() error {
	if !notify.IsClosed(p.Exited) {
		killTree(p.PID)
		<-p.Exited
	}
	_ = p.Transport.Close() // both ends; Close may have closed the first one
	p.Profile.EndHelpers(p.PID)
	ctx, cancel := context.WithTimeout(context.Background(), p.timing.RemoveProfile)
	defer cancel()
	err := p.Profile.Release(ctx)
	p.work.Wait()
	return err
}

func launchCanceledError(ctx context.Context) error {
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
		Err: fmt.Errorf("browser launch canceled: %w", context.Cause(ctx))}
}
