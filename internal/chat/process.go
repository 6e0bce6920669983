package chat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// exitTimeout is how long an agent may take to exit after its input was closed, before it is
// killed. Agents save their session then.
const exitTimeout = 300 * time.Millisecond

// Limits of the log of what an agent writes to its standard error.
const (
	maxLogLine  = 2 << 10 // bytes
	maxLogLines = 2_000
)

// A process is a running agent.
type process struct {
	cmd    *exec.Cmd
	group  *group
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	log    *slog.Logger

	exited  chan struct{} // closed when the program has exited; its children may still run
	waitErr error         // valid after exited

	logging sync.WaitGroup
	mu      sync.Mutex // protects last
	last    string     // line of stderr
}

// startProcess starts the program of an agent, without a shell and in a process group.
func startProcess(command []string, dir string, log *slog.Logger) (*process, error) {
	if len(command) == 0 {
		return nil, errors.New("it has no command")
	}
	var pipes [6]*os.File
	closeAll := func() {
		for _, f := range pipes {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < len(pipes); i += 2 {
		var err error
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll()
			return nil, err
		}
	}
	p := &process{
		cmd:   exec.Command(command[0], command[1:]...),
		stdin: pipes[1], stdout: pipes[2], stderr: pipes[4],
		log: log, exited: make(chan struct{}),
	}
	// Files, so that exec copies nothing and Wait returns when the program exits.
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0], pipes[3], pipes[5]
	p.cmd.Dir = dir
	p.cmd.Env = environment(os.Environ())
	started := make(chan error, 1)
	go func() {
		// With Pdeathsig, Linux kills the agent as soon as the thread that started it exits, even if the
		// process continues: this goroutine keeps the thread (https://go.dev/issue/27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		p.group, err = startGroup(p.cmd)
		started <- err
		if err != nil {
			return
		}
		p.waitErr = p.cmd.Wait()
		p.group.kill() // now, before the system uses the pid again
		close(p.exited)
	}()
	if err := <-started; err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{pipes[0], pipes[3], pipes[5]} {
		f.Close()
	}
	p.logging.Go(p.logErrors)
	return p, nil
}

// environment returns the variables of this process without those of chrome-mcp, which can contain
// secrets and would configure a chrome-mcp that the agent starts.
func environment(all []string) []string {
	var env []string
	for _, v := range all {
		if !strings.HasPrefix(strings.ToUpper(v), "CHROME_MCP_") {
			env = append(env, v)
		}
	}
	return env
}

// logErrors logs the standard error. It continues to read when it does not log anymore, so that the
// agent does not wait.
func (p *process) logErrors() {
	r := bufio.NewReaderSize(p.stderr, maxLogLine)
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if text := string(bytes.TrimSpace(line)); text != "" {
			p.mu.Lock()
			p.last = short(text)
			p.mu.Unlock()
			if n < maxLogLines {
				p.log.Info("agent wrote", "line", visible(text))
			} else if n == maxLogLines {
				p.log.Warn("the agent writes too much to log")
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			_, _ = io.Copy(io.Discard, p.stderr)
			return
		}
	}
}

// waitExit waits for the exit of the program, at most for limit.
func (p *process) waitExit(limit time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(limit):
		return false
	}
}

// kill ends the process group and waits for the program. Its input is closed already.
func (p *process) kill() {
	if !p.waitExit(exitTimeout) {
		p.group.kill()
		<-p.exited
	}
	_ = p.stderr.Close() // a process that left the group may still have it open
	p.logging.Wait()
}

// reason returns how the program exited, and the last line of its standard error.
func (p *process) reason() string {
	text := "exit status 0"
	if p.waitErr != nil {
		text = p.waitErr.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != "" {
		text += fmt.Sprintf(" (%s)", p.last)
	}
	return text
}
