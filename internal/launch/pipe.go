package launch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

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

// A pipeTransport sends and receives messages over the pipes of a browser. Each message ends with a
// zero byte. Unlike chromedp.PipeConn, it does not store messages over the limit.
type pipeTransport struct {
	*chromedp.PipeConn // writes and closes
	r                  *bufio.Reader
	m                  cdpconn.Message // the message being read
}

func newPipeTransport(r io.ReadCloser, w io.WriteCloser) *pipeTransport {
	return &pipeTransport{PipeConn: chromedp.NewPipeConn(r, w), r: bufio.NewReaderSize(r, 64<<10)}
}

// Read reads the next message.
func (p *pipeTransport) Read(_ context.Context, msg *cdproto.Message) error {
	m := &p.m
	m.Reset()
	for {
		part, err := p.r.ReadSlice(0)
		switch {
		case err == nil:
			_, _ = m.Write(part[:len(part)-1])
			if !m.Empty() {
				return m.Decode(msg)
			}
		case errors.Is(err, bufio.ErrBufferFull):
			_, _ = m.Write(part)
		case errors.Is(err, io.EOF) && (len(part) > 0 || !m.Empty()):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}
