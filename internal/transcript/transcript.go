// Package transcript stores the chats of the side panel and what was said in them, in one
// database file that only its user can read.
package transcript

// A Chat is one conversation with an agent.
type Chat struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Site    string `json:"site"`
	Agent   string `json:"agent"`   // name of the configured agent
	Created int64  `json:"created"` // milliseconds since 1970, as all times in this package
	Updated int64  `json:"updated"`
	// Open and Running describe an agent process and its turn. They are not stored: when a Store
	// is opened, no chat is open.
	Open    bool `json:"open"`
	Running bool `json:"running"`

	// The fields below are stored and are not for the panel.

	Session  string `json:"-"` // id of the agent's ACP session
	Prompted bool   `json:"-"` // the user has sent a message
	Dir      string `json:"-"` // working directory of the agent
}

// Kinds of entries.
const (
	KindUser       = "user"
	KindAgent      = "agent"
	KindThought    = "thought"
	KindTool       = "tool"
	KindPlan       = "plan"
	KindPermission = "permission"
	KindNotice     = "notice" // text of this program
	KindUsage      = "usage"
)

// An Entry is one item of a transcript. The texts of agents and pages in it are untrusted.
type Entry struct {
	Seq        int64       `json:"seq"` // position in the chat, counted from 1
	At         int64       `json:"at"`
	Kind       string      `json:"kind"`
	Text       string      `json:"text,omitempty"`
	Tool       *Tool       `json:"tool,omitempty"`
	Plan       []PlanStep  `json:"plan,omitempty"`
	Permission *Permission `json:"permission,omitempty"`
	Usage      *Usage      `json:"usage,omitempty"`
	Quote      *Quote      `json:"quote,omitempty"`
}

// A Tool is one tool call of an agent.
type Tool struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind"`
	Status string `json:"status"` // pending, in_progress, completed or failed
	Site   string `json:"site,omitempty"`
	Input  string `json:"input,omitempty"`  // JSON
	Output string `json:"output,omitempty"` // often page text
}

// A PlanStep is one step of an agent's plan.
type PlanStep struct {
	Text     string `json:"text"`
	Status   string `json:"status"` // pending, in_progress or completed
	Priority string `json:"priority"`
}

// A Permission is an agent's question whether it may do something.
type Permission struct {
	Request string   `json:"request"` // id for the answer
	Title   string   `json:"title"`
	Detail  string   `json:"detail,omitempty"` // the exact command, path or JSON input
	Options []Option `json:"options"`
	Chosen  *string  `json:"chosen,omitempty"` // id of the chosen option, "" if canceled, nil before the answer
}

// An Option is one possible answer to a Permission.
type Option struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once or reject_always
}

// Usage counts tokens: those of a turn, and those in the context of the agent after it. They are 0 if the
// agent does not report them.
type Usage struct {
	Input   int `json:"input"`
	Output  int `json:"output"`
	Total   int `json:"total"`
	Context int `json:"context,omitempty"`
	Size    int `json:"size,omitempty"` // maximum of Context
}

// A Quote is page text that the user selected.
type Quote struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}
