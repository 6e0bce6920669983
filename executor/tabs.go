package executor

import (
	"context"
	"fmt"
	"strings"
)

// A TabID names a tab: "cdp:<session>:<raw>" or "ext:<session>:<raw>", where
// <session> names the browser instance. An id never means a tab of another
// backend or of an earlier browser; those give ErrStaleTab.
type TabID string

// NewTabID composes a TabID. backend is "cdp" or "ext".
func NewTabID(backend, session, raw string) TabID {
	return TabID(backend + ":" + session + ":" + raw)
}

// Split returns the parts of the id, or an ErrBadArgs when it has not the
// form of one.
func (id TabID) Split() (backend, session, raw string, err error) {
	parts := strings.SplitN(string(id), ":", 3)
	if len(parts) != 3 || (parts[0] != "cdp" && parts[0] != "ext") || parts[1] == "" || parts[2] == "" {
		return "", "", "", &Error{Code: ErrBadArgs, Tab: "", Hint: "Take a tab id from tabs_list.",
			Err: fmt.Errorf("tabId %q is not a tab id", string(id))}
	}
	return parts[0], parts[1], parts[2], nil
}

// DeniedURL stands for the URL of a tab that the policy hides.
const DeniedURL = "(denied by policy)"

// A Tab is one open tab, as this client sees it.
type Tab struct {
	ID     TabID  `json:"tabId"`
	URL    string `json:"url"` // DeniedURL when the policy hides the tab
	Title  string `json:"title"`
	Active bool   `json:"active"` // it is this client's active tab
	Index  int    `json:"index"`
	// Note is a sentence about something unusual: a dialog blocks the page, or a
	// download replaced the page of a new tab.
	Note string `json:"note,omitempty"`
}

// Tabs is the part of an [Executor] that opens, lists and closes tabs.
type Tabs interface {
	// ListTabs lists the open tabs in the order they were opened. A tab that
	// the Gate denies has URL DeniedURL and no title.
	ListTabs(ctx context.Context) ([]Tab, error)

	// SelectTab makes tab this client's active tab. Focus in the browser does
	// not move.
	SelectTab(ctx context.Context, tab TabID) (*Tab, error)

	// NewTab opens a tab, and loads url in it unless url is empty. It returns
	// when the page has loaded. The errors are those of Navigate; the tab is
	// closed again when the load fails with one. With ErrDialogOpen it stays,
	// as if there were no error: HandleDialog lets its page go on.
	NewTab(ctx context.Context, url string, opts *NewTabOptions) (*Tab, error)

	// CloseTab closes tab. A tab of the user's that was only adopted is let
	// go, unless the user allowed closing; the result says which it was.
	CloseTab(ctx context.Context, tab TabID) (*ClosedTab, error)
}

// A ClosedTab tells what became of a tab that was to be closed: exactly one of
// Closed and Released.
type ClosedTab struct {
	Tab      TabID `json:"tabId"`
	Closed   bool  `json:"closed"`
	Released bool  `json:"released,omitempty"` // it is its user's, and stays open; only our hold on it is gone
}

// NewTabOptions are the options of [Tabs.NewTab].
type NewTabOptions struct {
	// Inactive leaves the active tab as it is; otherwise the new tab becomes
	// this client's active tab.
	Inactive bool
}

// A Ref names one DOM node of one document: "e12". It is minted by Snapshot
// and by the methods that say so, is the same from snapshot to snapshot for
// the same node, and is never reused in a tab.
type Ref string

// ParseRef accepts "e12", "@e12" and "ref=e12".
func ParseRef(s string) (Ref, error) {
	t := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(s), "@"), "ref=")
	if len(t) < 2 || len(t) > 12 || t[0] != 'e' || t[1] == '0' {
		return "", badRef(s)
	}
	for _, c := range t[1:] {
		if c < '0' || c > '9' {
			return "", badRef(s)
		}
	}
	return Ref(t), nil
}

func badRef(s string) error {
	return Errorf(ErrBadArgs, "Refs look like e12 and come from snapshot.", "ref %q is not a ref", s)
}

// A Target names an element: exactly one of Selector and Ref.
//
// A selector is CSS, matched in document order through open shadow roots and
// same-origin frames, or text=Sign in, or role=button[name="Save"]. A quoted
// text or name must equal the element's. An unquoted one may be any part of it,
// ignoring case. Of several matches the first visible one is taken.
type Target struct {
	Selector string
	Ref      Ref
}

// IsZero reports whether the target names nothing.
func (t Target) IsZero() bool { return t == Target{} }

// Validate returns ErrBadArgs unless exactly one field is set.
func (t Target) Validate() error {
	switch {
	case t.Selector == "" && t.Ref == "":
		return Errorf(ErrBadArgs, "Give a ref from snapshot, or a selector.", "neither selector nor ref given")
	case t.Selector != "" && t.Ref != "":
		return Errorf(ErrBadArgs, "Give only one of them.", "both selector and ref given")
	case t.Ref != "":
		_, err := ParseRef(string(t.Ref))
		return err
	}
	return nil
}
