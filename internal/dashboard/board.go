package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

const (
	// maxCalls bounds the calls that a session remembers.
	maxCalls = 50
	// maxClients bounds the clients that a session remembers.
	maxClients = 8
	// maxTabs bounds the tabs of a session that the dashboard shows.
	maxTabs = 50
	// tabsTimeout bounds the wait for the titles of the tabs.
	tabsTimeout = time.Second
	// maxTabText bounds the URL and the title of a tab, in characters.
	maxTabText = 300
)

// A Board holds the sessions of a process, for its dashboard. The zero value is ready to use. Its
// methods are safe for concurrent use.
type Board struct {
	changed notify.Broadcast // sessions were added, removed or changed

	mu       sync.Mutex // guards the fields below
	sessions map[string]*BoardSession
	viewers  int // open pages of the dashboard
}

// SessionOptions describe a session.
type SessionOptions struct {
	Principal string // the name of its token; empty for the operating-system user
	Name      string // empty if the process has one session
	// Stop ends the session. It is called in its own goroutine.
	Stop func()
}

// A BoardSession is a session on a Board. Its methods are safe for concurrent use.
type BoardSession struct {
	board   *Board
	opts    SessionOptions
	id      string // cannot be guessed
	started time.Time
	ended   context.Context // done after Close
	end     context.CancelFunc

	mu       sync.Mutex // guards the fields below
	executor executor.Executor
	cdp      func() []executor.CDPClient // nil without an endpoint for them
	clients  []string
	calls    []*callState // the oldest first
	next     int          // number of the next call
	stopping bool
	tabs     []executor.Tab
	colors   map[string]string // of the named browsers, by name
	backend  executor.BackendKind
	version  int            // increases with each change
	stale    bool           // the tabs may have changed since they were listed
	listing  bool           // a goroutine lists the tabs
	lists    sync.WaitGroup // that goroutine
}

// A callState is a tool call as the page shows it.
type callState struct {
	ID int `json:"id"`
	Call
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Code    string    `json:"code,omitempty"` // empty while it runs
	Line    string    `json:"line,omitempty"`
}

// A Call describes a tool call that starts. It contains no text that the call types into a page.
// Its fields are those of mcp.Call, which can be converted to it.
type Call struct {
	Client string         `json:"client,omitempty"` // name of the client; may be empty
	Tool   string         `json:"tool"`             // name of the tool
	Target string         `json:"target,omitempty"` // what it acts on, such as a selector; may be empty
	Tab    executor.TabID `json:"tab,omitempty"`    // the tab that its arguments name; may be empty
	Nested bool           `json:"nested,omitempty"` // whether it is part of another call
}

// Open adds a session.
func (b *Board) Open(opts SessionOptions) *BoardSession {
	s := &BoardSession{board: b, opts: opts, id: strings.ToLower(rand.Text()), started: time.Now(), stale: true}
	s.ended, s.end = context.WithCancel(context.Background())
	b.mu.Lock()
	if b.sessions == nil {
		b.sessions = make(map[string]*BoardSession)
	}
	b.sessions[s.id] = s
	b.mu.Unlock()
	b.changed.Notify()
	return s
}

// SetExecutor sets the executor of the session. Until then, the session has no tabs.
func (s *BoardSession) SetExecutor(ex executor.Executor) {
	s.mu.Lock()
	s.executor = ex
	s.mu.Unlock()
	s.TabsChanged()
}

// Close removes the session. It must be called before its executor is closed.
func (s *BoardSession) Close() {
	s.mu.Lock()
	s.end()
	s.executor = nil
	s.mu.Unlock()
	s.board.mu.Lock()
	delete(s.board.sessions, s.id)
	s.board.mu.Unlock()
	s.board.changed.Notify()
	s.lists.Wait()
}

// update calls f with s.mu held. If f reports that it has changed the session, update notifies the
// open pages.
func (s *BoardSession) update(f func() (changed bool)) (changed bool) {
	s.mu.Lock()
	if changed = f(); changed {
		s.version++
	}
	s.mu.Unlock()
	if changed {
		s.board.changed.Notify()
	}
	return changed
}

// AddClient adds the name of a client.
func (s *BoardSession) AddClient(name string) {
	if name == "" {
		return
	}
	s.update(func() bool {
		// A client is known first by its name and later by its name and version.
		if slices.ContainsFunc(s.clients, func(c string) bool { return c == name || strings.HasPrefix(c, name+" ") }) {
			return false
		}
		s.clients = slices.DeleteFunc(s.clients, func(c string) bool { return strings.HasPrefix(name, c+" ") })
		s.clients = append(s.clients, name)
		s.clients = s.clients[max(0, len(s.clients)-maxClients):]
		return true
	})
}

// SetCDPClients sets the function that returns the connected CDP clients.
func (s *BoardSession) SetCDPClients(clients func() []executor.CDPClient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cdp = clients
}

// ClientsChanged reports that the CDP clients have changed.
func (s *BoardSession) ClientsChanged() { s.update(func() bool { return true }) }

// CallStarted adds a call. The caller calls ended with the code and the first line of its result.
func (s *BoardSession) CallStarted(c Call) (ended func(code, line string)) {
	s.AddClient(c.Client)
	call := &callState{Call: c, Started: time.Now()}
	s.update(func() bool {
		s.next++
		call.ID = s.next
		s.calls = append(s.calls, call)
		s.trim()
		return true
	})
	return func(code, line string) {
		s.update(func() bool {
			call.Ended, call.Code, call.Line = time.Now(), code, line
			return true
		})
		s.TabsChanged()
	}
}

// trim removes the oldest calls that have ended. s.mu must be held.
func (s *BoardSession) trim() {
	for len(s.calls) > maxCalls {
		i := slices.IndexFunc(s.calls, func(c *callState) bool { return c.Code != "" })
		if i < 0 {
			return // all are running; the server bounds their number
		}
		s.calls = slices.Delete(s.calls, i, i+1)
	}
}

// TabsChanged reports that the tabs of the session may have changed.
func (s *BoardSession) TabsChanged() {
	s.board.mu.Lock()
	watched := s.board.viewers > 0
	s.board.mu.Unlock()
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
	if watched {
		s.list()
	}
}

// list lists the tabs in a goroutine, unless the list is current or a goroutine is already listing.
func (s *BoardSession) list() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stale || s.listing || s.ended.Err() != nil || s.executor == nil {
		return
	}
	s.listing = true
	s.lists.Go(func() {
		for s.listOnce() {
		}
	})
}

// listOnce lists the tabs if the list is stale, and reports whether it did.
func (s *BoardSession) listOnce() bool {
	s.mu.Lock()
	ex := s.executor
	if !s.stale || ex == nil {
		s.listing = false
		s.mu.Unlock()
		return false
	}
	s.stale = false
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), tabsTimeout)
	defer cancel()
	tabs := executor.AsWatcher(ex).WatchTabs(ctx)
	tabs = tabs[:min(len(tabs), maxTabs)]
	for i := range tabs {
		tabs[i].URL, tabs[i].Title = pagetext.Truncate(tabs[i].URL, maxTabText), pagetext.Truncate(tabs[i].Title, maxTabText)
	}
	var backend executor.BackendKind
	if len(tabs) > 0 {
		backend = executor.BackendOf(tabs[0].ID)
	}
	colors := map[string]string{}
	if slices.ContainsFunc(tabs, func(t executor.Tab) bool { return t.Browser != "" }) {
		for _, b := range ex.Status(ctx).Browsers {
			colors[b.Name] = b.Color
		}
	}
	s.update(func() bool {
		s.tabs, s.colors, s.backend = tabs, colors, backend
		return true
	})
	return true
}

// stop calls the Stop function of the session in a goroutine. Only the first call has an effect.
func (s *BoardSession) stop() {
	first := s.update(func() bool {
		first := !s.stopping
		s.stopping = true
		return first
	})
	if first {
		go s.opts.Stop()
	}
}

// watcher returns the executor of the session, or nil if it has none.
func (s *BoardSession) watcher() executor.Watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.executor == nil {
		return nil
	}
	return executor.AsWatcher(s.executor)
}

// session returns a session, or nil.
func (b *Board) session(id string) *BoardSession {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[id]
}

// all returns the sessions, sorted by principal and name.
func (b *Board) all() []*BoardSession {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.sessions), func(x, y *BoardSession) int {
		return cmp.Or(strings.Compare(x.opts.Principal, y.opts.Principal), strings.Compare(x.opts.Name, y.opts.Name), x.started.Compare(y.started))
	})
}

// addViewer counts an open page until done is called, and lists the tabs of all sessions.
func (b *Board) addViewer() (done func()) {
	b.mu.Lock()
	b.viewers++
	b.mu.Unlock()
	for _, s := range b.all() {
		s.list()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.viewers--
	}
}

// A sessionState is a session as the page shows it.
type sessionState struct {
	ID        string               `json:"id"`
	Principal string               `json:"principal"`
	Name      string               `json:"name"`
	Clients   []string             `json:"clients"`
	CDP       []string             `json:"cdpClients"` // connected now
	Backend   executor.BackendKind `json:"backend"`
	Started   time.Time            `json:"started"`
	Stopping  bool                 `json:"stopping"`
	Tabs      []tabState           `json:"tabs"`
	Calls     []callState          `json:"calls"`
}

type tabState struct {
	ID     executor.TabID `json:"id"`
	URL    string         `json:"url"`
	Title  string         `json:"title"`
	Active bool           `json:"active"`
	Live   bool           `json:"live"` // whether it has a live view

	Browser string `json:"browser,omitempty"` // name of its browser
	Color   string `json:"color,omitempty"`   // of that browser
}

// state returns the state of the session and its version.
func (s *BoardSession) state() (sessionState, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := sessionState{
		ID: s.id, Principal: s.opts.Principal, Name: s.opts.Name, Clients: slices.Clone(s.clients), Backend: s.backend,
		Started: s.started, Stopping: s.stopping, Tabs: []tabState{}, Calls: make([]callState, len(s.calls)),
	}
	for _, t := range s.tabs {
		st.Tabs = append(st.Tabs, tabState{t.ID, t.URL, t.Title, t.Active, executor.BackendOf(t.ID) == executor.BackendCDP, t.Browser, s.colors[t.Browser]})
	}
	for i, c := range s.calls {
		st.Calls[i] = *c
	}
	if s.cdp != nil {
		for _, c := range s.cdp() {
			st.CDP = append(st.CDP, c.Name)
		}
	}
	return st, s.version
}
