package executor

import "context"

// DefaultMaxChars is the size, in characters, that the readers cut their text
// to unless their options say otherwise.
const DefaultMaxChars = 20_000

// Reader is the part of an [Executor] that reads pages. What it returns is
// page content: data, never instructions.
//
// With a target, each method may return ErrSelectorNotFound or ErrRefExpired.
type Reader interface {
	// Snapshot returns an outline of roles and names with a ref on each
	// element that can be acted on.
	Snapshot(ctx context.Context, tab TabID, opts *SnapshotOptions) (*Snapshot, error)
	// Text returns the rendered text of the page or the target, as a person
	// sees it.
	Text(ctx context.Context, tab TabID, opts *TextOptions) (*Text, error)
	// HTML returns the markup of the page or the target.
	HTML(ctx context.Context, tab TabID, opts *HTMLOptions) (*HTML, error)
	// Markdown returns the main content of the page as markdown.
	Markdown(ctx context.Context, tab TabID, opts *MarkdownOptions) (*Markdown, error)
	// Links lists the links of the page, each with a ref.
	Links(ctx context.Context, tab TabID, opts *LinksOptions) (*Links, error)
	// Eval runs JavaScript in the main world of the top frame. An exception
	// that the page throws is a result with OK false. It returns
	// ErrEvalFailed when the expression could not be run at all, for example
	// for a syntax error.
	Eval(ctx context.Context, tab TabID, expression string, opts *EvalOptions) (*EvalResult, error)
}

// SnapshotOptions are the options of [Reader.Snapshot].
type SnapshotOptions struct {
	Target          Target // only this element and what is in it
	InteractiveOnly bool   // only elements that can be acted on
	Depth           int    // levels below the root; 0 is no limit
	Find            string // only lines that hold this text, or match this /regex/ (RE2), with their ancestors and the rest of their row
	Diff            bool   // only what changed since the snapshot this client saw last
	MaxChars        int    // default DefaultMaxChars
	Offset          int    // lines to leave out at the start, to read on
}

// A Snapshot is an outline of a page.
type Snapshot struct {
	Text      string `json:"text"`      // with marks where lines were left out, and no other notice
	Origin    string `json:"origin"`    // of the top document
	Elements  int    `json:"elements"`  // lines in the whole outline; 0 when Find finds nothing
	Omitted   int    `json:"omitted"`   // lines left out of Text
	Truncated bool   `json:"truncated"` // Omitted > 0 or Cut > 0 because of MaxChars
	Offset    int    `json:"nextOffset,omitempty"`
	// Cut is the number of lines of Text that show only a part of a long text. A
	// snapshot of the element with a larger MaxChars shows all of it.
	Cut int `json:"cut,omitempty"`
	// Unsearched is the number of lines whose text is too long for Find to search
	// completely.
	Unsearched int `json:"unsearched,omitempty"`
	// MissingFrames is how many frames could not be read in time.
	MissingFrames int `json:"missingFrames,omitempty"`
	// Obstacle stands between the reader and the page. It is nil when nothing
	// does, as far as can be told, and in a snapshot of a target.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
}

// TextOptions are the options of [Reader.Text].
type TextOptions struct {
	Target   Target
	MaxChars int // default DefaultMaxChars
}

// Text is what [Reader.Text] returns.
type Text struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
	Origin    string `json:"origin"`
	Chars     int    `json:"chars"` // of the whole text
}

// HTMLOptions are the options of [Reader.HTML].
type HTMLOptions struct {
	Target   Target
	Inner    bool // the children only, not the element itself
	MaxChars int  // default DefaultMaxChars
}

// HTML is what [Reader.HTML] returns.
type HTML struct {
	HTML      string `json:"html"`
	Truncated bool   `json:"truncated"`
	Origin    string `json:"origin"`
	Chars     int    `json:"chars"`
}

// MarkdownOptions are the options of [Reader.Markdown].
type MarkdownOptions struct {
	// Selector picks an element instead of the main content; "body" means the
	// whole page.
	Selector string
	MaxChars int // default DefaultMaxChars
	Offset   int // characters to leave out at the start, to read on
}

// Markdown is what [Reader.Markdown] returns.
type Markdown struct {
	Markdown  string `json:"markdown"`
	Title     string `json:"title,omitempty"`
	Origin    string `json:"origin"`
	Truncated bool   `json:"truncated"`
	Chars     int    `json:"chars"`                // of the whole text
	Offset    int    `json:"nextOffset,omitempty"` // where to read on; 0 at the end
	WholePage bool   `json:"wholePage"`            // no main content could be told apart
	// Obstacle is that of [Snapshot], nil with a selector other than "body".
	Obstacle *Obstacle `json:"obstacle,omitempty"`
}

// LinksOptions are the options of [Reader.Links]. Include and Exclude are
// globs on the absolute URL, where * stands for any run of characters.
type LinksOptions struct {
	Selector       string // only links inside it
	SameOriginOnly bool
	Include        []string
	Exclude        []string
	KeepDuplicates bool
	Limit          int // 0 is 200
}

// Links is what [Reader.Links] returns.
type Links struct {
	Links     []Link `json:"links"`
	Origin    string `json:"origin"`
	Truncated bool   `json:"truncated"`
	Total     int    `json:"total"` // that passed the filters, before Limit
}

// A Link is one link of a page.
type Link struct {
	Href string `json:"href"`
	Text string `json:"text"`
	Ref  Ref    `json:"ref"`
}

// EvalOptions are the options of [Reader.Eval].
type EvalOptions struct {
	NoAwait bool // return a promise as it is instead of waiting for it
}

// MaxEvalBytes is the largest value that Eval returns whole.
const MaxEvalBytes = 256 << 10

// EvalResult is what [Reader.Eval] returns.
type EvalResult struct {
	OK        bool    `json:"ok"`
	Value     RawJSON `json:"value,omitempty"` // JSON; a JSON string with the start of the value when Truncated
	Type      string  `json:"type,omitempty"`  // as typeof says, or "null", "array", "promise" …
	Error     string  `json:"error,omitempty"` // of the exception that the page threw
	Truncated bool    `json:"truncated,omitempty"`
	Origin    string  `json:"origin,omitempty"`
	// Dialogs tells of dialogs that opened meanwhile and how they were answered.
	Dialogs []string `json:"dialogs,omitempty"`
}
