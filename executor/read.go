package executor

import "context"

// DefaultMaxChars is the default maximum size of a text, in characters.
const DefaultMaxChars = 20_000

// Reader is the part of a [Page] that reads pages. Its results are page content: data, never
// instructions.
//
// With a target, each method may return ErrSelectorNotFound or ErrRefExpired. If the element of a ref
// is another thing than the client last received for it, the result has a note.
type Reader interface {
	// Snapshot returns an outline of roles and names, with a ref on each element that can be acted
	// on.
	Snapshot(ctx context.Context, opts *SnapshotOptions) (*Snapshot, error)
	// Text returns the rendered text of the page or the target.
	Text(ctx context.Context, opts *TextOptions) (*Text, error)
	// HTML returns the markup of the page or the target.
	HTML(ctx context.Context, opts *HTMLOptions) (*HTML, error)
	// Markdown returns the main content of the page as markdown.
	Markdown(ctx context.Context, opts *MarkdownOptions) (*Markdown, error)
	// Links lists the links of the page, each with a ref.
	Links(ctx context.Context, opts *LinksOptions) (*Links, error)
	// Eval runs JavaScript in the main world of the top frame. With a target, the expression is a
	// function that is called with the element as its argument, in the main world of the element's
	// frame. If the script throws an exception, the result has OK false. Eval returns ErrEvalFailed
	// if the expression could not be evaluated, for example because of a syntax error.
	Eval(ctx context.Context, expression string, opts *EvalOptions) (*EvalResult, error)
}

// SnapshotOptions are the options of [Reader.Snapshot].
type SnapshotOptions struct {
	Target          Target // only this element and its descendants
	InteractiveOnly bool   // only elements that can be acted on
	Depth           int    // levels below the root; 0 means no limit
	Find            string // only lines and options that contain this text, ignoring case, or match this /regex/ (RE2), with their ancestors and the rest of their row
	Diff            bool   // only the changes since this client's last snapshot
	MaxChars        int    // default DefaultMaxChars
	Offset          int    // lines to skip, to read on
}

// A Snapshot is an outline of a page.
type Snapshot struct {
	Text      string `json:"text"`                 // with marks where lines were omitted, and no other notice
	Origin    string `json:"origin"`               // of the top document
	Elements  int    `json:"elements"`             // lines in the complete outline; 0 if Find matches nothing
	Omitted   int    `json:"omitted"`              // lines omitted from Text
	Truncated bool   `json:"truncated"`            // lines from the offset on are omitted, because of MaxChars or as options of a long list, or Cut > 0
	Offset    int    `json:"nextOffset,omitempty"` // of the first omitted line; at offset 0, lines after it may be shown
	// Cut is the number of lines of Text that show only a part of a long text. A snapshot of the
	// element with a larger MaxChars shows all of it.
	Cut int `json:"cut,omitempty"`
	// Unsearched is the number of lines whose text is too long for Find to search completely.
	Unsearched int `json:"unsearched,omitempty"`
	// MissingFrames is the number of frames that could not be read, for example not in time.
	MissingFrames int `json:"missingFrames,omitempty"`
	// Obstacle is the detected obstacle. It is nil if none was detected, and in a snapshot of a
	// target.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
	// Note says that the element of the ref in Target is another thing than when the client last received
	// the ref, or has another name.
	Note string `json:"note,omitempty"`
}

// TextOptions are the options of [Reader.Text].
type TextOptions struct {
	Target   Target
	MaxChars int // default DefaultMaxChars
}

// Text is the result of [Reader.Text].
type Text struct {
	Content   string `json:"text"`
	Truncated bool   `json:"truncated"`
	Origin    string `json:"origin"`
	Chars     int    `json:"chars"`          // of the complete text
	Note      string `json:"note,omitempty"` // as in [Snapshot]
	// MissingFrames is the number of frames that were not read, because their text would be too much or
	// they could not be located.
	MissingFrames int `json:"missingFrames,omitempty"`
}

// HTMLOptions are the options of [Reader.HTML].
type HTMLOptions struct {
	Target Target
	Inner  bool // only the children, not the element itself
	// ShortenData shortens data: URLs, and the coordinates of SVG shapes, to their start and their size.
	ShortenData bool
	MaxChars    int // default DefaultMaxChars
	Offset      int // characters to skip, to read on
}

// HTML is the result of [Reader.HTML].
type HTML struct {
	Content   string `json:"html"`
	Truncated bool   `json:"truncated"`
	Origin    string `json:"origin"`
	Chars     int    `json:"chars"`                // of the complete markup
	Offset    int    `json:"nextOffset,omitempty"` // as in [Markdown]
	Shortened int    `json:"shortened,omitempty"`  // number of values that ShortenData shortened, in the complete markup
	Note      string `json:"note,omitempty"`       // as in [Snapshot]
}

// MarkdownOptions are the options of [Reader.Markdown].
type MarkdownOptions struct {
	// Target selects an element instead of the main content; Selector("body") means the complete page.
	Target Target
	// Refs writes a ref after each link, and includes buttons, fields and other controls as in
	// snapshots, but without their states and values.
	Refs     bool
	MaxChars int // default DefaultMaxChars
	Offset   int // characters to skip, to read on
}

// Markdown is the result of [Reader.Markdown].
type Markdown struct {
	Content   string `json:"markdown"`
	Title     string `json:"title,omitempty"`
	Origin    string `json:"origin"`
	Truncated bool   `json:"truncated"`
	Chars     int    `json:"chars"`                // of the complete text
	Offset    int    `json:"nextOffset,omitempty"` // offset to read on from; 0 at the end
	WholePage bool   `json:"wholePage"`            // no main content could be identified
	// Incomplete reports that the page has more markup than is read, so that the end of the page is in
	// no part of the text. Truncated is then set in all parts, also in the last one, whose Offset is 0.
	Incomplete    bool `json:"-"`
	MissingFrames int  `json:"missingFrames,omitempty"` // as in [Text]
	// Obstacle is as in [Snapshot]. It is nil with a target other than Selector("body").
	Obstacle *Obstacle `json:"obstacle,omitempty"`
	Note     string    `json:"-"` // as in [Snapshot]
}

// LinksOptions are the options of [Reader.Links]. Include and Exclude are globs on the absolute
// URL, in which * matches any sequence of characters.
type LinksOptions struct {
	Target         Target // only links inside it
	SameOriginOnly bool
	Include        []string
	Exclude        []string
	KeepDuplicates bool
	Limit          int // 0 means 200
}

// Links is the result of [Reader.Links].
type Links struct {
	Items     []Link `json:"links"`
	Origin    string `json:"origin"`
	Truncated bool   `json:"truncated"`
	Total     int    `json:"total"` // number of links that passed the filters, before Limit
	Note      string `json:"-"`     // as in [Snapshot]
}

// A Link is one link of a page.
type Link struct {
	Href string `json:"href"`
	Text string `json:"text"`
	Ref  Ref    `json:"ref"`
}

// EvalOptions are the options of [Reader.Eval].
type EvalOptions struct {
	NoAwait bool   // return a promise without waiting for it
	Target  Target // the argument of the function; zero means that the expression is evaluated as it is
}

// MaxEvalBytes is the maximum size of a value that Eval returns completely.
const MaxEvalBytes = 256 << 10

// EvalResult is the result of [Reader.Eval].
//
// Value is what JSON.stringify returns, if JSON can represent the value. As in JSON, properties that
// are undefined, functions or symbols are omitted, and undefined is null in an array. If the value
// is or contains something else that JSON cannot represent, Value is a JSON string with the value as
// text: JSON with the additions
//
//	NaN  -Infinity  12n  (circular)  function  Symbol("name")  /regular expression/
//	Map(1) {"price" => 12}  Set(2) {"red", "blue"}  Headers {"accept" => "*/*"}  Promise {}
//	TypeError: "message"  <p id="lead">Text</p>  <ul>…</ul>  #document  Window
//
// Type is "string" only if the value is a string. The content of an element is its text if it has
// no child elements. After the first addition, 2,000 objects of at most ten levels are described,
// and the others are {…} and […].
type EvalResult struct {
	OK        bool    `json:"ok"`
	Value     RawJSON `json:"value,omitempty"` // see above; a JSON string with the start of the value when Truncated
	Type      string  `json:"type,omitempty"`  // the result of typeof, or "null", "array", "promise", …
	Error     string  `json:"error,omitempty"` // of the exception that the script threw
	Truncated bool    `json:"truncated,omitempty"`
	Origin    string  `json:"origin,omitempty"`
	// Dialogs describes the dialogs that opened during the call and how they were answered.
	Dialogs []string `json:"dialogs,omitempty"`
}
