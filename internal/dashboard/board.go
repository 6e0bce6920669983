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
	// maxCalls bounds the calls that a workspace remembers.
	maxCalls = 50
	// maxClients bounds the clients that a workspace remembers.
	maxClients = 8
	// maxTabs bounds the tabs of a workspace that the dashboard shows.
	maxTabs = 50
	// tabsTimeout bounds the wait for the titles of the tabs.
	tabsTimeout = time.Second
	// maxTabText bounds the URL and the title of a tab, in characters.
	maxTabText = 300
)

// A Board holds the workspaces of a process, for its dashboard. The zero value is ready to use. Its
// methods are safe for concurrent use.
type Board struct {
	changed notify.Broadcast // workspaces were added, removed or changed

	mu         sync.Mutex // guards the fields below
	workspaces map[string]*Workspace
	viewers    int // open pages of the dashboard
}

// WorkspaceOptions describe a workspace.
type WorkspaceOptions struct {
	Principal string // the name of its token; empty for the operating-system user
	Name      string // empty if the process has one workspace
	// Stop ends the workspace. It is called in its own goroutine.
	Stop func()
}

// A Workspace is a workspace of the server on a Board, or what a process serves over stdio. Users call
// both a session. Its methods are safe for concurrent use.
type Workspace struct {
	board   *Board
	opts    WorkspaceOptions
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

// Open adds a workspace.
func (b *Board) Open(opts WorkspaceOptions) *Workspace {
	ws := &Workspace{board: b, opts: opts, id: strings.ToLower(rand.Text()), started: time.Now(), stale: true}
	ws.ended, ws.end = context.WithCancel(context.Background())
	b.mu.Lock()
	if b.workspaces == nil {
		b.workspaces = make(map[string]*Workspace)
	}
	b.workspaces[ws.id] = ws
	b.mu.Unlock()
	b.changed.Notify()
	return ws
}

// SetExecutor sets the executor of the workspace. Until then, the workspace has no tabs.
func (ws *Workspace) SetExecutor(ex executor.Executor) {
	ws.mu.Lock()
	ws.executor = ex
	ws.mu.Unlock()
	ws.TabsChanged()
}

// Close removes the workspace. It must be called before its executor is closed.
func (ws *Workspace) Close() {
	ws.mu.Lock()
	ws.end()
	ws.executor = nil
	ws.mu.Unlock()
	ws.board.mu.Lock()
	delete(ws.board.workspaces, ws.id)
	ws.board.mu.Unlock()
	ws.board.changed.Notify()
	ws.lists.Wait()
}

// update calls f with ws.mu held. If f reports that it has changed the workspace, update notifies the
// open pages.
func (ws *Workspace) update(f func() (changed bool)) (changed bool) {
	ws.mu.Lock()
	if changed = f(); changed {
		ws.version++
	}
	ws.mu.Unlock()
	if changed {
		ws.board.changed.Notify()
	}
	return changed
}

// AddClient adds the name of a client.
func (ws *Workspace) AddClient(name string) {
	if name == "" {
		return
	}
	ws.update(func() bool {
		// A client is known first by its name and later by its name and version.
		if slices.ContainsFunc(ws.clients, func(c string) bool { return c == name || strings.HasPrefix(c, name+" ") }) {
			return false
		}
		ws.clients = slices.DeleteFunc(ws.clients, func(c string) bool { return strings.HasPrefix(name, c+" ") })
		ws.clients = append(ws.clients, name)
		ws.clients = ws.clients[max(0, len(ws.clients)-maxClients):]
		return true
	})
}

// SetCDPClients sets the function that returns the connected CDP clients.
func (ws *Workspace) SetCDPClients(clients func() []executor.CDPClient) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.cdp = clients
}

// ClientsChanged reports that the CDP clients have changed.
func (ws *Workspace) ClientsChanged() { ws.update(func() bool { return true }) }

// CallStarted adds a call. The caller calls ended with the code and the first line of its result.
func (ws *Workspace) CallStarted(c Call) (ended func(code, line string)) {
	ws.AddClient(c.Client)
	call := &callState{Call: c, Started: time.Now()}
	ws.update(func() bool {
		ws.next++
		call.ID = ws.next
		ws.calls = append(ws.calls, call)
		ws.trim()
		return true
	})
	return func(code, line string) {
		ws.update(func() bool {
			call.Ended, call.Code, call.Line = time.Now(), code, line
			return true
		})
		ws.TabsChanged()
	}
}

// trim removes the oldest calls that have ended. ws.mu must be held.
func (ws *Workspace) trim() {
	for len(ws.calls) > maxCalls {
		i := slices.IndexFunc(ws.calls, func(c *callState) bool { return c.Code != "" })
		if i < 0 {
			return // all are running; the server bounds their number
		}
		ws.calls = slices.Delete(ws.calls, i, i+1)
	}
}

// TabsChanged reports that the tabs of the workspace may have changed.
func (ws *Workspace) TabsChanged() {
	ws.board.mu.Lock()
	watched := ws.board.viewers > 0
	ws.board.mu.Unlock()
	ws.mu.Lock()
	ws.stale = true
	ws.mu.Unlock()
	if watched {
		ws.list()
	}
}

// list lists the tabs in a goroutine, unless the list is current or a goroutine is already listing.
func (ws *Workspace) list() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if !ws.stale || ws.listing || ws.ended.Err() != nil || ws.executor == nil {
		return
	}
	ws.listing = true
	ws.lists.Go(func() {
		for ws.listOnce() {
		}
	})
}

// listOnce lists the tabs if the list is stale, and reports whether it did.
func (ws *Workspace) listOnce() bool {
	ws.mu.Lock()
	ex := ws.executor
	if !ws.stale || ex == nil {
		ws.listing = false
		ws.mu.Unlock()
		return false
	}
	ws.stale = false
	ws.mu.Unlock()
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
	ws.update(func() bool {
		ws.tabs, ws.colors, ws.backend = tabs, colors, backend
		return true
	})
	return true
}

// stop calls the Stop function of the workspace in a goroutine. Only the first call has an effect.
func (ws *Workspace) stop() {
	first := ws.update(func() bool {
		first := !ws.stopping
		ws.stopping = true
		return first
	})
	if first {
		go ws.opts.Stop()
	}
}

// watcher returns the executor of the workspace, or nil if it has none.
func (ws *Workspace) watcher() executor.Watcher {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.executor == nil {
		return nil
	}
	return executor.AsWatcher(ws.executor)
}

// workspace returns a workspace, or nil.
func (b *Board) workspace(id string) *Workspace {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.workspaces[id]
}

// all returns the workspaces, sorted by principal and name.
func (b *Board) all() []*Workspace {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.workspaces), func(x, y *Workspace) int {
		return cmp.Or(strings.Compare(x.opts.Principal, y.opts.Principal), strings.Compare(x.opts.Name, y.opts.Name), x.started.Compare(y.started))
	})
}

// addViewer counts an open page until done is called, and lists the tabs of all workspaces.
func (b *Board) addViewer() (done func()) {
	b.mu.Lock()
	b.viewers++
	b.mu.Unlock()
	for _, ws := range b.all() {
		ws.list()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.viewers--
	}
}

// A workspaceState is a workspace as the page shows it.
type workspaceState struct {
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

// state returns the state of the workspace and its version.
func (ws *Workspace) state() (workspaceState, int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	st := workspaceState{
		ID: ws.id, Principal: ws.opts.Principal, Name: ws.opts.Name, Clients: slices.Clone(ws.clients), Backend: ws.backend,
		Started: ws.started, Stopping: ws.stopping, Tabs: []tabState{}, Calls: make([]callState, len(ws.calls)),
	}
	for _, t := range ws.tabs {
		st.Tabs = append(st.Tabs, tabState{t.ID, t.URL, t.Title, t.Active, executor.BackendOf(t.ID) == executor.BackendCDP, t.Browser, ws.colors[t.Browser]})
	}
	for i, c := range ws.calls {
		st.Calls[i] = *c
	}
	if ws.cdp != nil {
		for _, c := range ws.cdp() {
			st.CDP = append(st.CDP, c.Name)
		}
	}
	return st, ws.version
}
