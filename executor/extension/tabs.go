package extension

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// ID implements session.BrowserInstance. It is not used, because each tab has an InstanceID.
func (b *Backend) ID() string { return "none" }

// HasInstance implements session.BrowserInstance.
func (b *Backend) HasInstance(id string) bool {
	return slices.ContainsFunc(b.connectedInstallations(), func(in *installation) bool { return in.id == id })
}

// Tabs implements session.BrowserInstance. It returns the tabs of all connected browsers.
func (h host) Tabs() []*session.Tab {
	list := []*session.Tab{}
	for _, in := range h.connectedInstallations() {
		in.mu.Lock()
		for _, t := range in.order {
			list = append(list, t.sessionTab)
		}
		in.mu.Unlock()
	}
	return list
}

// Changed implements session.BrowserInstance and executor.ExtensionBackend.
func (b *Backend) Changed() <-chan struct{} { return b.changed.Changed() }

// pingTTL is how long any message of an extension counts as its response to a ping. On a busy
// machine, the response can be late although the extension has just sent something.
const pingTTL = time.Second

// Ping implements session.BrowserInstance. It succeeds if one extension responds, or has recently
// sent a message.
func (b *Backend) Ping(ctx context.Context) error {
	live := b.connectedInstallations()
	if len(live) == 0 {
		return b.DisconnectedError()
	}
	for _, in := range live {
		if c := in.connection(); c != nil && time.Since(c.LastMessageAt()) < pingTTL {
			return nil
		}
	}
	answers := make(chan error, len(live))
	for _, in := range live {
		go func() {
			c := in.connection()
			if c == nil {
				answers <- b.DisconnectedError()
				return
			}
			answers <- c.Call(ctx, wire.MethodPing, wire.Empty{}, nil)
		}()
	}
	var err error
	for range live {
		if err = <-answers; err == nil {
			return nil
		}
	}
	return err
}

// TabsOfOtherDrivers implements session.Sharer.
func (b *Backend) TabsOfOtherDrivers(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, b.timing.OtherServers)
	defer cancel()
	n := 0
	for _, in := range b.connectedInstallations() {
		var list wire.TabsList
		if c := in.connection(); c != nil && c.Call(ctx, wire.MethodTabsList, wire.Empty{}, &list) == nil {
			n += list.Elsewhere
		}
	}
	return n
}

// WhyUnshared implements session.Sharer.
func (b *Backend) WhyUnshared(id executor.TabID) *executor.Error {
	_, run, raw, err := id.Split()
	if err != nil {
		return nil
	}
	for _, in := range b.connectedInstallations() {
		if in.id != run {
			continue
		}
		in.mu.Lock()
		reason := in.endings[raw]
		in.mu.Unlock()
		if reason != "" {
			return unsharedError(reason)
		}
	}
	return nil
}

// Used implements session.Sharer. It renews the time that the tab is shared for, if there is one.
func (h host) Used(st *session.Tab) {
	in, t, info := h.locate(st)
	if t == nil || !info.Renewable {
		return
	}
	if c := in.connection(); c != nil {
		// The tab may have been unshared in the meantime, and then the call fails.
		_ = c.Queue(context.Background(), wire.MethodTabUsed, wire.TabRef{TabID: info.TabID}, func(json.RawMessage, error) {})
	}
}

// preferredInstallation returns the browser in which to open a tab: the browser of the tab that was
// shared last, or otherwise the one that connected last.
func (b *Backend) preferredInstallation() *installation {
	var best *installation
	shared := -1
	for _, in := range b.connectedInstallations() {
		most := 0
		in.mu.Lock()
		for _, t := range in.tabs {
			most = max(most, t.shareSequence)
		}
		in.mu.Unlock()
		if most > shared || most == 0 && shared == 0 {
			best, shared = in, most
		}
	}
	return best
}

// NewTab implements session.BrowserInstance. It opens the tab in the background.
func (h host) NewTab(ctx context.Context, owner *session.Session) (*session.Tab, error) {
	in := h.preferredInstallation()
	if in == nil {
		return nil, h.DisconnectedError()
	}
	return session.OpenTab(ctx, h, &in.work, h.log, func() (*session.Tab, error) { return in.open(owner) })
}

// open opens a tab that belongs to owner.
func (in *installation) open(owner *session.Session) (*session.Tab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), in.backend.timing.OpenTab)
	defer cancel()
	in.mu.Lock()
	in.opening++
	in.mu.Unlock()
	t, err := in.createTab(ctx)
	var fresh []*session.Tab
	in.mu.Lock()
	if err == nil {
		t.sessionTab.SetOwner(owner)
		t.sessionTab.Page.MarkOwn()
	}
	in.opening--
	for _, x := range in.tabs { // also tabs that no other call of open waits for
		if x.sessionTab != nil && !x.listed && (x == t || in.opening == 0) {
			in.list(x)
			fresh = append(fresh, x.sessionTab)
		}
	}
	in.mu.Unlock()
	in.backend.changed.Notify()
	for _, x := range fresh {
		in.notifyTabOpened(x)
	}
	if err != nil {
		return nil, err
	}
	return t.sessionTab, nil
}

func (in *installation) createTab(ctx context.Context) (*tab, error) {
	var id int
	err := callInOrder(ctx, in, wire.MethodTabNew, wire.Empty{}, func(info wire.Tab) error {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.share(info)
		id = info.TabID
		return nil
	})
	if err != nil {
		return nil, err
	}
	var t *tab
	err = in.backend.changed.Wait(ctx, func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		t = in.tabs[id]
		return t == nil || t.sessionTab != nil
	})
	if err == nil && t == nil {
		err = executor.Errorf(executor.ErrTargetGone, "Try again.", "the new tab was closed immediately")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// CloseTab implements session.BrowserInstance. A tab of the user is released instead, unless the
// user allowed closing it.
func (h host) CloseTab(ctx context.Context, st *session.Tab) (released bool, err error) {
	in, t, info := h.locate(st)
	if t == nil {
		return false, executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed, or its browser is not connected")
	}
	id, why := info.TabID, "closed"
	err = callInOrder(ctx, in, wire.MethodTabClose, wire.TabRef{TabID: id}, func(closed wire.TabClosed) error {
		in.mu.Lock()
		defer in.mu.Unlock()
		if closed.Released {
			why = "released"
		}
		if in.tabs[id] == t { // its event has not arrived yet
			in.unshare(id, why)
		}
		delete(in.endings, strconv.Itoa(t.index)) // the client ended it
		return nil
	})
	if err != nil {
		return false, err
	}
	select {
	case <-st.Page.Gone():
		return why == "released", nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// locate returns the browser of a tab, and the tab with its current state. It returns nil if the tab
// is gone.
func (b *Backend) locate(st *session.Tab) (*installation, *tab, wire.Tab) {
	return findTab(b.connectedInstallations(), func(_ *installation, t *tab) bool { return t.sessionTab == st })
}

// findTab is locate for the tab for which match, which is called with in.mu held, returns true.
func findTab(list []*installation, match func(in *installation, t *tab) bool) (*installation, *tab, wire.Tab) {
	for _, in := range list {
		in.mu.Lock()
		for _, t := range in.tabs {
			if match(in, t) {
				defer in.mu.Unlock()
				return in, t, t.info
			}
		}
		in.mu.Unlock()
	}
	return nil, nil, wire.Tab{}
}

// Consent implements session.Consenter.
func (h host) Consent(ctx context.Context, st *session.Tab, origin string) error {
	in, t, _ := h.locate(st)
	if t == nil {
		return executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed, or its browser is not connected")
	}
	c := in.connection()
	if c == nil {
		return h.DisconnectedError()
	}
	if in.hasConsent(origin) {
		return nil
	}
	answer, err := in.backend.ask(ctx, c, wire.ConsentEval, origin, "", &executor.Error{
		Code: executor.ErrConsentRequired, Retryable: true,
		Err: fmt.Errorf("waiting for the user's permission to run scripts on %s", origin),
		Hint: "Tell the user that the prompt is in the popup of the chrome-mcp button in Chrome's toolbar, " +
			"then try again; or do without scripts.",
	})
	if err != nil {
		return err
	}
	h.recordConsent(in.tabID(t), "", origin, answer.Granted)
	if !answer.Granted {
		return executor.Errorf(executor.ErrPolicyDenied,
			"Do without scripts on this site; the user can change that in the options of the chrome-mcp extension.",
			"the user denied scripts on %s", origin)
	}
	if executor.PromptAnswer(answer.Answer) != executor.AnswerOnce { // it applies to this call only
		in.mu.Lock()
		in.consents[origin] = time.Now()
		in.mu.Unlock()
	}
	return nil
}

// consentTTL is how long we assume that the user's consent lasts. The extension
// checks each command itself, and denies it if the consent has ended.
const consentTTL = 30 * time.Second

func (in *installation) hasConsent(origin string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	at, ok := in.consents[origin]
	return ok && time.Since(at) < consentTTL
}
