package child

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// A Process is a child process, seen from its parent.
type Process struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	messages chan *Message // closed after the last message
	over     chan struct{} // closed by End
	reader   sync.WaitGroup
	stderr   head
	waitErr  error
}

// Start starts a process for the work of name, see [Handle]. The caller must call
// End.
func Start(name string) (*Process, error) {
	path, err := executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(path, argumentPrefix+name), messages: make(chan *Message), over: make(chan struct{})}
	p.cmd.Env = []string{} // our environment contains secrets
	if zone, ok := os.LookupEnv("TZ"); ok {
		p.cmd.Env = append(p.cmd.Env, "TZ="+zone)
	}
	p.cmd.Stderr = &p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.reader.Go(func() {
		defer close(p.messages)
		r := bufio.NewReader(stdout)
		for {
			m, err := readMessage(r)
			if err != nil {
				return
			}
			select {
			case p.messages <- m:
			case <-p.over:
				return
			}
		}
	})
	return p, nil
}

// executable returns the path of the running program. On Linux the path is valid
// even after the program file was replaced.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// Messages returns the channel of messages from the process. It is closed after
// the last one.
func (p *Process) Messages() <-chan *Message { return p.messages }

// Send sends a message. It returns ErrTooLong if the message is too long, and
// another error if the process exited; [Process.Failure] returns the reason.
func (p *Process) Send(m *Message) error { return m.write(p.stdin) }

// CloseInput closes the input of the process, as the exit of this process would.
func (p *Process) CloseInput() { _ = p.stdin.Close() }

// Kill kills the process. Send then returns, and Messages is closed.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// End kills the process if it still runs, and waits for its exit.
func (p *Process) End() {
	p.Kill()
	close(p.over)
	p.reader.Wait()
	_ = p.stdin.Close()
	p.waitErr = p.cmd.Wait()
}

// ErrMemory means that a process ran out of memory.
var ErrMemory = errors.New("it ran out of memory")

// outOfMemory is what the Go runtime and the race detector print when they get no
// memory or no thread.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "failed to create new OS thread", "pthread_create failed", "ThreadSanitizer failed to allocate"}

// Failure returns why the process exited unexpectedly. Call it after End.
func (p *Process) Failure() error {
	for _, text := range outOfMemory {
		if bytes.Contains(p.stderr.b, []byte(text)) {
			return ErrMemory
		}
	}
	line, _, _ := bytes.Cut(p.stderr.b, []byte("\n"))
	return fmt.Errorf("process exited: %w: %q", p.waitErr, line)
}

// A head stores the first bytes that are written to it. They contain the reason
// why a Go program exits.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	const most = 4 << 10
	h.b = append(h.b, p[:min(len(p), most-len(h.b))]...)
	return len(p), nil
}
