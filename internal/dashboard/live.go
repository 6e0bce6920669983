package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

const (
	// maxLiveMessage is the maximum size of a message from the page, in bytes.
	maxLiveMessage = 32 << 10
	// maxQueuedInput is how many events of the user may wait for the tab.
	maxQueuedInput = 64
)

// A liveMessage is a message to the page. An image follows as a binary message if Image is set.
type liveMessage struct {
	Image  bool    `json:"image,omitempty"`
	Width  float64 `json:"width,omitempty"` // of the viewport, in CSS pixels
	Height float64 `json:"height,omitempty"`
	Hidden string  `json:"hidden,omitempty"` // why there is no image

	Dialog *executor.Dialog `json:"dialog,omitempty"` // that blocks the page

	Input *bool  `json:"input,omitempty"` // whether the user may act in the tab
	Ended string `json:"ended,omitempty"` // why the live view has ended
}

// A livePage is the connection to a page that shows a live view.
type livePage struct {
	server *Server
	ws     *websocket.Conn
	view   executor.LiveView
	acks   notify.Signal // the page has drawn an image

	mu sync.Mutex // serializes writes
}

// live serves a live view of a tab over a WebSocket. The page acknowledges each image, so that it
// receives no more than it can draw. The view ends with the WebSocket, the login or the workspace.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	workspace, tab := s.opts.Board.workspace(r.URL.Query().Get("session")), executor.TabID(r.URL.Query().Get("tab"))
	if workspace == nil {
		http.Error(w, "The session has ended.", http.StatusNotFound)
		return
	}
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{})
	rc.SetWriteDeadline(time.Time{})
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has responded
	}
	defer ws.CloseNow()
	ws.SetReadLimit(maxLiveMessage)
	// The context of the request is done when the WebSocket takes its connection over.
	ctx, cancel := loginOf(r.Context()).context(context.WithoutCancel(r.Context()))
	defer cancel()
	p := &livePage{server: s, ws: ws, acks: notify.NewSignal()}
	watcher := workspace.watcher()
	if watcher == nil {
		p.end(ctx, errSessionEnded)
		return
	}
	if p.view, err = watcher.Watch(ctx, tab); err != nil {
		p.end(ctx, err)
		return
	}
	defer p.view.Close()
	p.serve(ctx, workspace.ended)
}

// serve sends the images of the live view and handles the messages of the page until the
// connection, ctx or the view ends, or ended is done.
func (p *livePage) serve(ctx, ended context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer p.ws.CloseNow() // ends the goroutines
	defer cancel()
	running.Go(func() { defer cancel(); p.read(ctx) })
	running.Go(func() { p.reportInput(ctx) })
	open, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(ended, func() { end(errSessionEnded) })()
	if err := p.show(open); context.Cause(open) == errSessionEnded {
		p.end(ctx, errSessionEnded)
	} else {
		p.end(ctx, err)
	}
}

var errSessionEnded = executor.Errorf(executor.ErrTargetGone, "", "the session has ended")

// end reports to the page why the live view has ended, unless ctx is done.
func (p *livePage) end(ctx context.Context, err error) {
	if ctx.Err() == nil {
		_ = p.send(ctx, liveMessage{Ended: messageOf(err)}, nil)
		p.ws.Close(websocket.StatusNormalClosure, "")
	}
}

// show sends the images of the live view until ctx is done or it fails.
func (p *livePage) show(ctx context.Context) error {
	for {
		image, err := p.view.Next(ctx)
		if err != nil {
			return err
		}
		m := liveMessage{Image: image.JPEG != nil, Width: image.Width, Height: image.Height, Hidden: image.Hidden, Dialog: image.Dialog}
		if err := p.send(ctx, m, image.JPEG); err != nil {
			return err
		}
		if image.JPEG == nil {
			continue
		}
		select {
		case <-p.acks:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// messageOf returns an error as a sentence for the page.
func messageOf(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*executor.Error](err); ok {
		text = e.Message()
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// send sends a message, and an image after it if it is not nil.
func (p *livePage) send(ctx context.Context, m liveMessage, image []byte) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// The library closes the connection when the context of a write expires, as it should here.
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := p.ws.Write(ctx, websocket.MessageText, text); err != nil || image == nil {
		return err
	}
	return p.ws.Write(ctx, websocket.MessageBinary, image)
}

// read handles the messages of the page until the connection ends: acknowledgements, and input for
// the tab. Input that opens a dialog ends with the answer to the dialog, which the page sends after
// it has acknowledged the image with the dialog. So read does not wait for input.
func (p *livePage) read(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	inputs := make(chan executor.LiveInput, maxQueuedInput)
	defer close(inputs)
	running.Go(func() {
		for in := range inputs {
			p.input(ctx, in)
		}
	})
	for {
		kind, data, err := p.ws.Read(ctx)
		if err != nil {
			return
		}
		var m struct {
			Ack   bool                `json:"ack"`
			Input *executor.LiveInput `json:"input"`
		}
		if kind != websocket.MessageText || json.Unmarshal(data, &m) != nil {
			return
		}
		if m.Ack {
			p.acks.Notify()
		}
		switch {
		case m.Input == nil:
		case m.Input.Type == executor.LiveDialog:
			running.Go(func() { p.input(ctx, *m.Input) })
		default:
			inputs <- *m.Input
		}
	}
}

// input sends input to the tab.
func (p *livePage) input(ctx context.Context, in executor.LiveInput) {
	if err := p.view.Input(ctx, in); err != nil {
		p.server.log.Debug("input of the dashboard failed", "error", err)
	}
}

// reportInput reports to the page whether the user may act in the tab, until ctx is done.
func (p *livePage) reportInput(ctx context.Context) {
	last := false
	for first := true; ; first = false {
		allowed, changed := p.view.HandedOver()
		if (first || allowed != last) && p.send(ctx, liveMessage{Input: &allowed}, nil) != nil {
			return
		}
		last = allowed
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
