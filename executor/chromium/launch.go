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
	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// launchTimeout is how long a browser has to answer for the first time. A
	// cold start from a slow disk takes several seconds.
	launchTimeout = 20 * time.Second
	// reasonGrace is how long a browser that closed its pipe during the start
	// has to say why and exit.
	reasonGrace = 5 * time.Second
	// closeGrace is how long a browser has to end in order once its pipe is
	// closed; it takes 0.1 s, more on a busy machine. It must leave the
	// program time to end within 3 s of being asked to.
	closeGrace = 2 * time.Second
	// outputGrace is how long helpers that outlive the browser may hold its
	// output open before it counts as complete.
	outputGrace = 500 * time.Millisecond
)

// A transport carries protocol messages to and from a browser. Read and Write
// ignore their contexts while they wait for the other side; Close ends them.
type transport = chromedp.Transport

// A version is a browser's answer to Browser.getVersion.
type version struct {
	Protocol   string `json:"protocolVersion"`
	Product    string `json:"product"` // such as "Chrome/156.0.8078.79"
	Revision   string `json:"revision"`
	UserAgent  string `json:"userAgent"`
	JavaScript string `json:"jsVersion"`
}

// A process is a browser that this process launched and owns. Its methods are
// safe for concurrent use.
type process struct {
	transport transport // answered once already; close ends it
	version   version
	pid       int
	headless  bool
	path      string
	dir       string // of the profile

	// exited is closed when the browser has ended, by whoever's hand, and its
	// output is complete.
	exited  chan struct{}
	waitErr error // of exec.Cmd.Wait; set before exited is closed

	profile *profile
	output  output
	pipes   *pipes
	logger  *slog.Logger
	work    sync.WaitGroup // the goroutines that close waits for
	swept   chan struct{}  // closed when the launch's sweep is through

	closeOnce sync.Once
	closed    chan struct{} // when close is through
	closeErr  error
}

// launch starts a browser as o says and returns when it has answered. ctx
// bounds the start only. It returns ErrNoBackend when there is no browser,
// ErrBadArgs for options that contradict each other, and ErrLaunchFailed with
// one sentence on why for all else; then nothing of the browser is left.
func launch(ctx context.Context, o Options) (*process, error) {
	return launchWithin(ctx, o, launchTimeout)
}

func launchWithin(ctx context.Context, o Options, limit time.Duration) (*process, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	path, err := Find(o.Browser)
	if err != nil {
		return nil, err
	}
	headless, err := o.ownHeadless()
	if err != nil {
		return nil, err
	}
	if _, err := o.arguments("", headless); err != nil {
		return nil, err // before anything is made
	}
	prof, err := claimProfile(ctx, &o)
	if err != nil {
		return nil, err
	}
	p := &process{
		path: path, dir: prof.dir, headless: headless, profile: prof, logger: o.Logger,
		exited: make(chan struct{}), closed: make(chan struct{}), swept: make(chan struct{}),
	}
	if err := o.prepareProfile(prof.dir); err != nil {
		err = executor.Errorf(executor.ErrLaunchFailed, "Check the profile directory, or use another profile.", "profile preferences: %w", err)
		return nil, errors.Join(err, prof.release(context.WithoutCancel(ctx)))
	}
	began := time.Now()
	if err := p.start(&o); err != nil {
		return nil, errors.Join(err, prof.release(context.WithoutCancel(ctx)))
	}
	if err := p.await(ctx, limit); err != nil {
		p.abort()
		return nil, err
	}
	p.logger.Debug("launched a browser", "path", path, "pid", p.pid, "product", p.version.Product,
		"headless", headless, "profile", p.dir, "took", time.Since(began).Round(time.Millisecond))
	// Not on the way of the first page.
	p.work.Go(func() {
		defer close(p.swept)
		swept, err := Sweep(context.Background(), o.DataDir)
		if err != nil {
			p.logger.Warn("clearing away what an earlier run left", "err", err)
		}
		if len(swept.Profiles)+len(swept.Browsers) > 0 {
			p.logger.Info("cleared away what an earlier run left", "profiles", swept.Profiles, "browsers", swept.Browsers)
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
	cmd.Stdout, cmd.Stderr = &p.output, &p.output // never our stdout: it may be a protocol
	cmd.WaitDelay = outputGrace
	if cmd.Env, err = noOtherPrograms(p.dir); err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "Check the profile directory, or use another profile.", "profile directory: %w", err)
	}
	cmd.Env = withUTF8(cmd.Env)
	if p.headless {
		// Nobody hears it; the folder that PulseAudio's library makes for its
		// socket would stay in the system's temporary one.
		cmd.Env = append(cmd.Env, "PULSE_RUNTIME_PATH="+filepath.Join(p.dir, "pulse"))
	}
	ownProcess(cmd, p.profile.temporary)
	if p.pipes, err = newPipes(cmd); err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "", "debugging pipe: %w", err)
	}
	started := make(chan error, 1)
	p.work.Go(func() {
		// Linux sends Pdeathsig when the thread that started the browser ends,
		// not the process: this goroutine keeps its thread as long as the
		// browser lives (https://go.dev/issue/27505).
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
		err = p.profile.note(id)
	}
	if err != nil {
		// A browser that ended already is reported by await, with its reason.
		p.logger.Debug("noting the browser's process", "err", err)
	}
	return nil
}

// await returns when the browser has answered, or why it will not.
func (p *process) await(ctx context.Context, limit time.Duration) error {
	answered := make(chan error, 1)
	p.work.Go(func() {
		var err error
		p.version, err = getVersion(ctx, p.transport)
		answered <- err
	})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-answered:
		if err == nil {
			return nil
		}
		// The pipe broke; the process says why when it exits.
		select {
		case <-p.exited:
		case <-time.After(reasonGrace):
			return hungError(p.path, reasonGrace, p.output.String())
		case <-ctx.Done():
			return startCancelled(ctx)
		}
	case <-p.exited:
	case <-timer.C:
		return hungError(p.path, limit, p.output.String())
	case <-ctx.Done():
		return startCancelled(ctx)
	}
	return p.failure()
}

// failure explains the end of the browser. It must have exited.
func (p *process) failure() error {
	e := ending{path: p.path, dir: p.dir, err: p.waitErr, output: p.output.String()}
	return e.explain()
}

// close ends the browser and returns when it, its helpers and a temporary
// profile are gone. The browser has closeGrace, or until ctx is done, to end
// in order; then it is killed. Every call waits for the end and returns the
// same error: what could not be cleared away.
func (p *process) close(ctx context.Context) error {
	p.closeOnce.Do(func() {
		defer close(p.closed)
		p.profile.socket = socketOf(p.dir)
		// Chromium ends when it can read no more commands. The other
		// direction stays open meanwhile, so that it is not blocked writing.
		_ = p.pipes.w.Close()
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-timer.C:
			p.logger.Warn("browser did not end in time, killing it", "pid", p.pid)
		case <-ctx.Done():
		}
		p.closeErr = p.end()
	})
	<-p.closed
	return p.closeErr
}

// abort ends a browser that did not start.
func (p *process) abort() {
	p.closeOnce.Do(func() {
		defer close(p.closed)
		p.closeErr = p.end()
	})
}

// end kills whatever is left and clears up.
func (p *process) end() error {
	select {
	case <-p.exited:
	default:
		killTree(p.pid)
		<-p.exited
	}
	_ = p.transport.Close() // both ends; the first was closed before, perhaps
	endHelpers(p.pid, p.profile)
	ctx, cancel := detached(removeLimit)
	defer cancel()
	err := p.profile.release(ctx)
	p.work.Wait()
	return err
}

// detached returns a context for clearing up, which has its own limit and not
// that of the call that it happens in.
func detached(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

func startCancelled(ctx context.Context) error {
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
		Err: fmt.Errorf("the browser was still starting: %w", context.Cause(ctx))}
}

// getVersion asks the browser who it is and waits for the answer. Before any
// other command there are no events that it could miss.
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
	r                  *os.File // we read what the browser writes
	w                  *os.File // we write what the browser reads
	browserR, browserW *os.File // its ends
}

// newPipes makes the pipes and gives the browser's ends to cmd.
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
