package session

import (
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
)

// EmitDownload emits the state of a transfer, and records its end as Transfer.Record does, unless the
// transfer is the user's.
func (r *Registry) EmitDownload(tr *Transfer, kind executor.BackendKind, id executor.TabID, record func(audit.Entry)) {
	if tr.n == 0 {
		return
	}
	d := tr.Describe(kind)
	tr.Record(id, record)
	r.Emit(executor.Event{Kind: executor.EventDownload, Download: &d}, tr.tab, "")
}

// MayDownload returns nil if the session that owns a tab allows one of its frames to download url.
// For a tab without an owner, it returns nil if any session does.
func (r *Registry) MayDownload(t *Tab, frame, url string) error {
	return r.mayDownload(t.Owner(), func(s *Session) error { return s.view(t).CheckDownload(context.Background(), frame, url) })
}

// MayDownloadURL returns nil if any session allows a page that is not a tab to download url.
func (r *Registry) MayDownloadURL(url string) error {
	access := executor.Access{Op: executor.OpDownload, Origin: executor.OriginInternal, Destination: url}
	return r.mayDownload(nil, func(s *Session) error { return s.gate.Check(context.Background(), access) })
}

func (r *Registry) mayDownload(owner *Session, check func(*Session) error) error {
	var why error = executor.Errorf(executor.ErrPolicyDenied, "Open a session that allows downloads first.", "no session is open that could allow downloads")
	r.Each(func(s *Session) {
		if why != nil && (owner == nil || owner == s) {
			why = check(s)
		}
	})
	return why
}

// DenyDownload adds a transfer that was denied, and why. It has a name and a reason only if all
// sessions that are notified of the tab's events may read the frame that started it: the page
// controls both.
func (r *Registry) DenyDownload(t *Tab, frame, name string, why error) {
	owner, readable := t.Owner(), true
	r.Each(func(s *Session) {
		readable = readable && (owner != nil && owner != s || s.view(t).CanRead(context.Background(), frame))
	})
	denied := executor.Errorf(executor.ErrPolicyDenied, "", "the page's download was denied")
	if e, ok := errors.AsType[*executor.Error](why); ok && readable {
		denied = executor.Errorf(executor.ErrPolicyDenied, e.Hint, "the page's download was denied: %s", e.Message())
	} else {
		name = ""
	}
	t.AddTransfer(name).End(download.File{}, denied)
}
