// Package sidepanel serves the chats of the extension's side panel: it starts the agents, stores the
// transcripts, and connects both with the panels of one browser, over Chrome's native messaging.
//
// The extension sends requests {"id", "method", "params"}. Each is answered by {"id", "result"} or
// {"id", "error": {"code", "message", "hint"}}, in any order. Between the answers the host sends
// events:
//
//	{"event": "chat", "chat": Chat}                      a chat changed
//	{"event": "entry", "chat": id, "entry": Entry}       an entry was added or replaced
//	{"event": "append", "chat": id, "seq", "at", "text"} text was appended to an entry; at is the earlier length in UTF-16 code units
//	{"event": "closed", "chat": id, "message", "hint"}   the agent exited; both are empty if the chat was closed
//	{"event": "deleted", "chat": id}                     a chat was deleted
package sidepanel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/agents"
	"github.com/chrome-mcp/chrome-mcp/internal/chat"
	"github.com/chrome-mcp/chrome-mcp/internal/nativemessage"
	"github.com/chrome-mcp/chrome-mcp/internal/transcript"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

const (
	// maxRequest is the maximum size of a request, in bytes. A prompt has at most maxText.
	maxRequest = 1 << 20
	// maxText is the maximum size of a text of the user, in bytes.
	maxText = 64 << 10
	// maxOpen is the maximum number of open chats.
	maxOpen = 8
	// maxPending is the maximum number of requests in progress.
	maxPending = 256
)

// HelloType is the type of the first message of each side.
const HelloType = "chats"

// A Hello is the first message of each side. Nothing follows one with an Error.
type Hello struct {
	V    int    `json:"v"` // wire.Version
	Type string `json:"type,omitempty"`
	// Installation is the id of the installation of the extension, in its message.
	Installation string `json:"installation,omitempty"`
	Error        string `json:"error,omitempty"`
}

// A TabServer is the MCP server of one chat, for the tabs that the user gives to it.
type TabServer interface {
	// Port returns the port at which the extension connects to the server.
	Port() int
	// Server returns how the agent starts its connection to the server.
	Server() chat.MCPServer
	// Allow lets the chat use the site of a page until revoke is called.
	Allow(url string) (revoke func(), err error)
	// SetStopped(true) cancels the running calls of the agent and rejects further ones, until
	// SetStopped(false). In the beginning they are allowed.
	SetStopped(stopped bool)
	// SiteOf returns the site that a tool call of the agent is about, or "" if it is not a call of
	// the server. The title is that of the agent, usually the name of the tool.
	SiteOf(title string) string
	// Close ends the sessions of the agent.
	Close() error
}

// Options are the options of [Serve].
type Options struct {
	// DataDir is the data directory, with the configured agents.
	DataDir string
	// ChatsDir is the directory of the transcripts and of the working directories of agents.
	ChatsDir string
	// Store has the transcripts.
	Store *transcript.Store
	// OpenServer opens the MCP server of a chat.
	OpenServer func(ctx context.Context, chat, agent string) (TabServer, error)
	Logger     *slog.Logger
}

// A host serves the panels of one browser.
type host struct {
	opts Options

	writing sync.Mutex // held during a write to out
	out     io.Writer

	ends sync.WaitGroup // of the agents of open chats

	mu       sync.Mutex // guards the fields below, and some fields of the chats
	open     map[string]*openChat
	unstored error // why the transcripts are not stored; nil if they are
}

type request struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	ID     int      `json:"id"`
	Result any      `json:"result,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// text returns the message and the hint.
func (f *failure) text() string { return strings.TrimSpace(f.Message + ". " + f.Hint) }

// failureOf returns the failure that an error describes.
func failureOf(err error) *failure {
	f := &failure{Code: string(errs.CodeOf(err)), Message: err.Error()}
	if e, ok := errors.AsType[*errs.Error](err); ok {
		f.Message, f.Hint = e.Message(), e.Hint
	}
	return f
}

// Serve serves the panels of a browser until in ends, and then closes all chats. It returns an error
// if a message is malformed. open is called with the id of the installation of the extension,
// after its first message; an error is the answer.
func Serve(in io.Reader, out io.Writer, open func(installation string) (Options, error)) error {
	var hello Hello
	err := nativemessage.Read(in, maxRequest, &hello)
	if err == nil && hello.V != wire.Version {
		err = &wire.VersionError{Got: fmt.Sprint(hello.V), Want: wire.Version}
	}
	var opts Options
	if err == nil {
		opts, err = open(hello.Installation)
	}
	answer := Hello{V: wire.Version, Type: HelloType}
	if err != nil {
		answer = Hello{V: wire.Version, Error: failureOf(err).text()}
	}
	if err := errors.Join(err, nativemessage.Write(out, answer)); err != nil {
		return err
	}
	h := &host{opts: opts, out: out, open: map[string]*openChat{}}
	opts.Store.Notify(h.storing)
	defer opts.Store.Notify(nil)
	opts.Store.OnRemoved(h.removed)
	defer opts.Store.OnRemoved(nil)
	ctx, cancel := context.WithCancel(context.Background())
	var pending sync.WaitGroup
	defer func() {
		cancel()
		h.closeAll()
		pending.Wait()
		h.ends.Wait()
	}()
	slots := make(chan struct{}, maxPending)
	for {
		var r request
		err := nativemessage.Read(in, maxRequest, &r)
		if errors.Is(err, io.EOF) {
			return nil // the extension or its browser exited
		}
		if e, ok := errors.AsType[*nativemessage.TooLongError](err); ok {
			h.rejectTooLong(e)
			continue
		}
		if err != nil {
			return err
		}
		select {
		case slots <- struct{}{}:
		default:
			h.respond(r.ID, nil, errs.Errorf(errs.ErrBackpressure, "Try again later.", "%d requests are in progress", maxPending))
			continue
		}
		pending.Go(func() {
			defer func() { <-slots }()
			result, err := h.handle(ctx, r)
			h.respond(r.ID, result, err)
		})
	}
}

// rejectTooLong answers a request that is too long, if its first member is the id.
func (h *host) rejectTooLong(e *nativemessage.TooLongError) {
	h.opts.Logger.Warn("request too long", "bytes", e.Size)
	head, found := bytes.CutPrefix(e.Head, []byte(`{"id":`))
	if !found {
		return
	}
	var id int
	if json.NewDecoder(bytes.NewReader(head)).Decode(&id) == nil {
		h.respond(id, nil, errs.Errorf(errs.ErrBadArgs, "Send less.", "%w", e))
	}
}

// respond answers a request.
func (h *host) respond(id int, result any, err error) {
	r := response{ID: id, Result: result}
	if err != nil {
		r = response{ID: id, Error: failureOf(err)}
	} else if result == nil {
		r.Result = struct{}{}
	}
	if h.send(r) != nil && r.Error == nil { // it is too long
		h.send(response{ID: id, Error: failureOf(errs.Errorf(errs.ErrBackpressure, "", "the result is too long"))})
	}
}

// send writes a message. The end of in reports that the browser is gone, so an error is only logged.
func (h *host) send(message any) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	err := nativemessage.Write(h.out, message)
	if err != nil {
		h.opts.Logger.Debug("a message to the extension was not sent", "error", err)
	}
	return err
}

// params are the parameters of all methods.
type params struct {
	Chat    string            `json:"chat"`
	Agent   string            `json:"agent"`
	Title   string            `json:"title"`
	Tab     int               `json:"tab"`
	URL     string            `json:"url"` // of the page in Tab, or its origin
	Query   string            `json:"query"`
	Before  int64             `json:"before"`
	Limit   int               `json:"limit"`
	Text    string            `json:"text"`
	Quote   *transcript.Quote `json:"quote"`
	Request string            `json:"request"`
	Option  string            `json:"option"`

	From transcript.Position `json:"from"` // of a part to export
}

// A method handles a request.
type method func(h *host, ctx context.Context, p *params) (any, error)

var methods = map[string]method{
	"agents": (*host).agents,
	"list":   (*host).list,
	"new":    (*host).newChat,
	"open":   (*host).openChat,
	"read":   (*host).read,
	"prompt": (*host).prompt,
	"cancel": (*host).cancel,
	"answer": (*host).answer,
	"allow":  (*host).allow,
	"remove": (*host).removeTab,
	"rename": (*host).rename,
	"delete": (*host).delete,
	"close":  (*host).close,
	"export": (*host).export,
}

func (h *host) handle(ctx context.Context, r request) (any, error) {
	m := methods[r.Method]
	if m == nil {
		return nil, errs.Errorf(errs.ErrUnknownMethod, "Update the extension and the program to the same version.", "unknown method %q", r.Method)
	}
	p := new(params)
	if err := json.Unmarshal(r.Params, p); err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "", "malformed parameters of %s", r.Method)
	}
	if len(p.Text) > maxText || p.Quote != nil && len(p.Quote.Text) > maxText {
		return nil, errs.Errorf(errs.ErrBadArgs, "Send less.", "the text is longer than %d KiB", maxText>>10)
	}
	return m(h, ctx, p)
}

func (h *host) agents(context.Context, *params) (any, error) {
	all, err := agents.Load(h.opts.DataDir)
	if err != nil {
		return nil, err
	}
	type view struct {
		Name string `json:"name"`
	}
	list := []view{}
	for _, a := range all {
		list = append(list, view{a.Name})
	}
	return map[string]any{"agents": list}, nil
}

func (h *host) list(_ context.Context, p *params) (any, error) {
	chats, err := h.opts.Store.Chats(p.Query)
	if err != nil {
		return nil, err
	}
	chats = chats[:min(len(chats), maxChats)]
	for i, c := range chats {
		chats[i] = h.view(c)
	}
	return map[string]any{"chats": append([]transcript.Chat{}, chats...)}, nil
}

const (
	// maxChats is the maximum number of chats of one response.
	maxChats = 500
	// maxEntries is the maximum number of entries of one response.
	maxEntries = 500
	// maxRead is the maximum size of the entries of one response, in bytes, as JSON.
	maxRead = nativemessage.MaxToBrowser / 2
)

func (h *host) read(_ context.Context, p *params) (any, error) {
	entries, more, err := h.opts.Store.Entries(p.Chat, p.Before, min(max(p.Limit, 1), maxEntries))
	if err != nil {
		return nil, err
	}
	first, size := len(entries), 0
	for ; first > 0; first-- {
		data, err := json.Marshal(entries[first-1])
		if err != nil {
			return nil, err
		}
		if size += len(data); size > maxRead && first < len(entries) {
			more = true
			break
		}
	}
	return map[string]any{"entries": append([]transcript.Entry{}, entries[first:]...), "more": more}, nil
}

func (h *host) rename(_ context.Context, p *params) (any, error) {
	return nil, h.update(p.Chat, func(c *transcript.Chat) { c.Title = cutTitle(p.Title) })
}

func (h *host) delete(ctx context.Context, p *params) (any, error) {
	c, err := h.opts.Store.Chat(p.Chat)
	if err != nil {
		return nil, err
	}
	if _, err := h.close(ctx, p); err != nil {
		return nil, err
	}
	if err := h.opts.Store.Delete(p.Chat); err != nil {
		return nil, err
	}
	h.send(map[string]any{"event": "deleted", "chat": p.Chat})
	return nil, os.RemoveAll(c.Dir)
}

// removed handles that a chat was deleted to free space.
func (h *host) removed(c transcript.Chat) {
	h.send(map[string]any{"event": "deleted", "chat": c.ID})
	if c.Dir == "" {
		return
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		h.opts.Logger.Warn("removing the directory of a deleted chat failed", "error", err)
	}
}

// maxExport is the maximum size of one part of an exported chat, in bytes. As JSON, it is at most six
// times as long, which fits into a message.
const maxExport = nativemessage.MaxToBrowser / 8

// export returns the part of a chat from a position, and the position of the next part, if there is
// one.
func (h *host) export(_ context.Context, p *params) (any, error) {
	text, next, err := h.opts.Store.MarkdownPart(p.Chat, p.From, maxExport)
	result := map[string]any{"markdown": text}
	if next != nil {
		result["next"] = next
	}
	return result, err
}

// update changes a stored chat, and reports the change. After ErrNotStored, it has changed in memory.
func (h *host) update(id string, change func(*transcript.Chat)) error {
	err := h.opts.Store.Update(id, change)
	if err == nil || errors.Is(err, transcript.ErrNotStored) {
		err = errors.Join(err, h.changed(id))
	}
	return err
}

// storing handles that storing begins to fail, with err, or works again.
func (h *host) storing(err error) {
	if err != nil {
		h.opts.Logger.Warn("storing chats failed", "error", err)
	}
	h.mu.Lock()
	h.unstored = err
	var all []*openChat
	for _, c := range h.open {
		if c.ready {
			all = append(all, c)
		}
	}
	h.mu.Unlock()
	for _, c := range all {
		h.addStoring(c, err)
	}
}

// addStoring adds a notice that a chat is not stored, or is stored again.
func (h *host) addStoring(c *openChat, err error) {
	text := "The chats are stored again."
	if err != nil {
		text = failureOf(err).text()
	}
	h.add(c, transcript.Entry{Kind: transcript.KindNotice, Text: text})
}

// unlessNotStored returns err, or nil if it is ErrNotStored: the open chats have a notice about it.
func unlessNotStored(err error) error {
	if errors.Is(err, transcript.ErrNotStored) {
		return nil
	}
	return err
}

// changed reports a change of a chat.
func (h *host) changed(id string) error {
	c, err := h.opts.Store.Chat(id)
	if err != nil {
		return err
	}
	h.send(map[string]any{"event": "chat", "chat": h.view(c)})
	return nil
}

// view returns a chat as the panels show it.
func (h *host) view(c transcript.Chat) transcript.Chat {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := h.open[c.ID]
	c.Open, c.Running = open != nil, open != nil && open.running
	return c
}

// find returns an open chat.
func (h *host) find(id string) (*openChat, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.open[id]; c != nil && c.ready {
		return c, nil
	}
	return nil, errs.Errorf(errs.ErrBadArgs, "Resume the chat.", "the chat is not open")
}
