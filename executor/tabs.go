package executor

import (
	"context"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A TabID identifies a tab: "cdp:<instance>:<raw>" or "ext:<instance>:<raw>", where <instance> is
// the id of the browser instance. The id of a tab of a named browser starts with the name, as in
// "work:cdp:<instance>:<raw>". An id never refers to a tab of another backend or of an earlier
// browser instance; such ids result in ErrStaleTab.
type TabID = errs.TabID

// NewTabID returns a TabID with the given parts. backend is "cdp" or "ext".
func NewTabID(backend, instance, raw string) TabID { return errs.NewTabID(backend, instance, raw) }

// BackendOf returns the backend of a tab, or "" if id does not have the form of a tab id.
func BackendOf(id TabID) BackendKind {
	switch backend, _, _, _ := id.Split(); backend {
	case "cdp":
		return BackendCDP
	case "ext":
		return BackendExtension
	}
	return ""
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
	// Browser is the name of the browser of the tab; empty for the default browser.
	Browser string `json:"browser,omitempty"`
	// Note describes something unusual: a dialog blocks the page, a download replaced the page of a
	// new tab, or the tab was opened before the action that reports it.
	Note string `json:"note,omitempty"`
}

// Tabs is the part of an [Executor] that lists, selects and opens tabs.
type Tabs interface {
	// Tabs lists the open tabs in the order in which they were opened. A tab that the Gate denies
	// has the URL DeniedURL and no title.
	Tabs(ctx context.Context) ([]Tab, error)

	// SelectTab makes tab this client's active tab. It does not change the focus in the browser.
	SelectTab(ctx context.Context, tab TabID) (*Tab, error)

	// Page returns the page of a tab. It does not use the browser: if the tab does not exist, the
	// methods of the page return ErrTabNotFound or ErrStaleTab. The methods of the page of an empty
	// id use the tab that is active when they are called.
	//
	// Page returns ErrBadArgs if tab is not a tab id.
	Page(ctx context.Context, tab TabID) (Page, error)

	// NewPage opens a tab, loads opts.URL in it, and returns when the page has loaded. The Tab
	// describes it then. NewPage returns the errors of Navigator.Navigate. If loading fails, the
	// tab is closed, except after ErrDialogOpen: then the tab stays open, and the error names it.
	// The page continues after HandleDialog.
	NewPage(ctx context.Context, opts *NewPageOptions) (Page, *Tab, error)

	// Navigate loads url in the active tab, or in a new tab if the client has none.
	Navigate(ctx context.Context, url string, opts *NavigateOptions) (*Navigation, error)
}

// A ClosedTab is the result of [Page.Close]. Exactly one of Closed and Released is set.
type ClosedTab struct {
	Tab      TabID `json:"tabId"`
	Closed   bool  `json:"closed"`
	Released bool  `json:"released,omitempty"` // the tab belongs to the user: it stays open, but is no longer attached
}

// NewPageOptions are the options of [Tabs.NewPage]. nil means an active blank page.
type NewPageOptions struct {
	URL string // empty means a blank page
	// Inactive keeps the active tab. Otherwise the new tab becomes this client's active tab.
	Inactive bool
	// Browser is the name of the browser in which the tab is opened. Empty means the default
	// browser. An Executor without named browsers returns ErrBadArgs for a name.
	Browser string
}

// A Ref identifies a DOM node of a document as the client last received it, such as "e12". Snapshot
// creates refs, and so do other methods that document it. The ref of a node is the same in every
// snapshot until the page shows another thing in the node, and is never reused in a tab.
type Ref = errs.Ref

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
// A selector is one of Playwright: CSS, text=Sign in, role=button[name="Save"], label=, placeholder=,
// alt=, title=, testid= or XPath. It is matched in document order through open shadow roots (except
// for XPath) and same-origin frames. A quoted text or name must equal that of the element. An
// unquoted one matches any part of it, ignoring case, and /sign (in|up)/i is a regular expression.
// If several elements match, the first visible one is used. A selector after >> is matched in the
// elements of the one before; nth=1 and visible=true choose among them, where nth=1 is the second
// match in its document.
type Target struct {
	Selector string
	Ref      Ref
}

// Selector returns the target that selector matches. See also [ByRef].
func Selector(selector string) Target { return Target{Selector: selector} }

// ByRef returns the target that ref identifies. See also [Selector].
func ByRef(ref Ref) Target { return Target{Ref: ref} }

// IsZero reports whether neither field is set.
func (t Target) IsZero() bool { return t == Target{} }

// maxSelector is the maximum length of a selector, in bytes. It is copied several times on its way to
// the page.
const maxSelector = 64 << 10

// Validate returns ErrBadArgs unless exactly one field is set, a ref has the form of one, and a
// selector has at most 65,536 bytes.
func (t Target) Validate() error {
	switch {
	case t.Selector == "" && t.Ref == "":
		return Errorf(ErrBadArgs, "Give a ref from snapshot, or a selector.", "neither selector nor ref given")
	case t.Selector != "" && t.Ref != "":
		return Errorf(ErrBadArgs, "Give only one of them.", "both selector and ref given")
	case len(t.Selector) > maxSelector:
		return Errorf(ErrBadArgs, "Use a shorter one, or a ref.", "the selector has %d bytes; at most %d are allowed", len(t.Selector), maxSelector)
	case t.Ref != "":
		_, err := ParseRef(string(t.Ref))
		return err
	}
	return nil
}

// A SharedTab reports that the user has shared a tab since the last call.
type SharedTab struct {
	// Tab is the shared tab. If it is active, calls without a tab id used another tab before.
	Tab Tab
}

// Report passes s to the observer in ctx, if there is one. Backends call it.
func (s SharedTab) Report(ctx context.Context) {
	if observe := CallOptionsOf(ctx).OnSharedTab; observe != nil {
		observe(s)
	}
}
