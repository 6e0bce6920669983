package executor

import (
	"context"
	"fmt"
	"strings"
)

// A TabID identifies a tab: "cdp:<session>:<raw>" or "ext:<session>:<raw>", where <session> is the
// instance id of the browser. An id never refers to a tab of another backend or of an earlier
// browser instance; such ids result in ErrStaleTab.
type TabID string

// NewTabID returns a TabID with the given parts. backend is "cdp" or "ext".
func NewTabID(backend, session, raw string) TabID {
	return TabID(backend + ":" + session + ":" + raw)
}

// Split returns the parts of the id, or ErrBadArgs if it does not have the form of a tab id.
func (id TabID) Split() (backend, session, raw string, err error) {
	parts := strings.SplitN(string(id), ":", 3)
	if len(parts) != 3 || (parts[0] != "cdp" && parts[0] != "ext") || parts[1] == "" || parts[2] == "" {
		return "", "", "", &Error{Code: ErrBadArgs, Tab: "", Hint: "Take a tab id from tabs_list.",
			Err: fmt.Errorf("tabId %q is not a tab id", string(id))}
	}
	return parts[0], parts[1], parts[2], nil
}

// DeniedURL replaces the URL of a tab that the policy hides.
const DeniedURL = "(denied by policy)"

// A Tab is an open tab, as this client sees it.
type Tab struct {
	ID     TabID  `json:"tabId"`
	URL    string `json:"url"` // DeniedURL if the policy hides the tab
	Title  string `json:"title"`
	Active bool   `json:"active"` // whether it is this client's active tab
	Index  int    `json:"index"`
	// Note describes something unusual: a dialog blocks the page, or a download replaced the page
	// of a new tab.
	Note string `json:"note,omitempty"`
}

// Tabs is the part of an [Executor] that opens, lists and closes tabs.
type Tabs interface {
	// ListTabs lists the open tabs in the order in which they were opened. A tab that the Gate
	// denies has the URL DeniedURL and no title.
	ListTabs(ctx context.Context) ([]Tab, error)

	// SelectTab makes tab this client's active tab. It does not change the focus in the browser.
	SelectTab(ctx context.Context, tab TabID) (*Tab, error)

	// NewTab opens a tab, loads url in it unless url is empty, and returns when the page has
	// loaded. It returns the errors of Navigate. If loading fails, the tab is closed, except after
	// ErrDialogOpen: then the tab stays open and NewTab returns it without an error. The page
	// continues after HandleDialog.
	NewTab(ctx context.Context, url string, opts *NewTabOptions) (*Tab, error)

	// CloseTab closes tab. A tab of the user that was only adopted is released instead, unless the
	// user allowed closing it. The result says which of the two happened.
	CloseTab(ctx context.Context, tab TabID) (*ClosedTab, error)
}

// A ClosedTab is the result of [Tabs.CloseTab]. Exactly one of Closed and Released is set.
type ClosedTab struct {
	Tab      TabID `json:"tabId"`
	Closed   bool  `json:"closed"`
	Released bool  `json:"released,omitempty"` // the tab belongs to the user: it stays open, but is no longer attached
}

// NewTabOptions are the options of [Tabs.NewTab].
type NewTabOptions struct {
	// Inactive keeps the active tab. Otherwise the new tab becomes this client's active tab.
	Inactive bool
}

// A Ref identifies a DOM node of a document, such as "e12". Snapshot creates refs, and so do other
// methods that document it. The ref of a node is the same in every snapshot, and is never reused in
// a tab.
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

// A Target identifies an element by exactly one of Selector and Ref.
//
// A selector is a CSS selector, which is matched in document order through open shadow roots and
// same-origin frames, or text=Sign in, or role=button[name="Save"]. A quoted text or name must
// equal that of the element. An unquoted one matches any part of it, ignoring case. If several
// elements match, the first visible one is used.
type Target struct {
	Selector string
	Ref      Ref
}

// IsZero reports whether neither field is set.
func (t Target) IsZero() bool { return t == Target{} }

// Validate returns ErrBadArgs unless exactly one field is set and a ref has the form of one.
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
