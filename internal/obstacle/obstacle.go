// Package obstacle recognises what stands between an agent and a page: a
// captcha, a refusal, a login, a question of consent.
//
// It judges facts that the page scripts gathered (js/obstacle.js), and never
// hands on a word of the page: what it says is its own. It would rather miss
// an obstacle than invent one, since an agent that is told of one stops.
package obstacle

import (
	"cmp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Signals are the facts about a page. Their text is the page's and is only
// compared with what walls are known to say.
type Signals struct {
	URL    string `json:"-"` // of the top document
	Status int    `json:"-"` // HTTP status that it came with; 0 when not known
	// FrameURLs are those of all frames, also those whose documents may not be
	// read and those in closed shadow roots.
	FrameURLs []string `json:"-"`

	Title   string   `json:"title"`
	Links   int      `json:"links"`
	Widgets []string `json:"widgets"` // ids, classes and tags of captchas that can be seen
	Frames  []Frame  `json:"frames"`  // that can be seen
	Scripts []string `json:"scripts"` // addresses
	Solved  bool     `json:"solved"`  // a captcha has been
	Cover   *Cover   `json:"cover"`   // what floats over the middle of the page
	View
}

// A View is what can be seen of a page or a part of it.
type View struct {
	Text      string   `json:"text"` // empty when Long
	Long      bool     `json:"long"` // more than a page has that is a wall
	Heading   string   `json:"heading"`
	Passwords []string `json:"passwords"` // autocomplete, name and id of each password field
	Fields    int      `json:"fields"`    // for text, others than passwords
	Closes    bool     `json:"closes"`    // it has a button to close it
}

// A Frame is a frame that can be seen.
type Frame struct {
	URL    string `json:"url"`
	Name   string `json:"name"` // title, id and name of the element
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// A Cover is what floats over the page.
type Cover struct {
	View
	Share  int     `json:"share"` // of the points looked at, how many it is over
	Of     int     `json:"of"`
	Names  string  `json:"names"` // ids and classes
	Frames []Frame `json:"frames"`
}

// full reports whether c leaves next to nothing of the page to be used.
func (c *Cover) full() bool { return c.Of > 0 && c.Share >= c.Of-1 }

// Detect returns the obstacle that s tells of, or nil. Layers look at it one
// after another, for a captcha, a refusal, a login, a question of consent; the
// first that is sure decides, and else the first that has a weak sign.
func Detect(s *Signals) *executor.Obstacle {
	p := newPage(s)
	var weak *executor.Obstacle
	for _, layer := range []func(*page) *executor.Obstacle{captcha, denied, login, consent} {
		o := layer(p)
		if o != nil && o.Confidence == executor.ConfidenceHigh {
			return o
		}
		weak = cmp.Or(weak, o)
	}
	return weak
}

// FromResponse judges a page by what it came with, before any of it was read.
func FromResponse(url, title string, status int) *executor.Obstacle {
	p := newPage(&Signals{URL: url, Title: title, Status: status})
	switch {
	case (status == 403 || status == 503) && (is(p.title, checkTitles) || has(p.title, robotWords)):
		return &executor.Obstacle{Kind: executor.ObstacleCaptcha, Confidence: executor.ConfidenceHigh, Advice: adviceCheck}
	case status == 401:
		return sure(executor.ObstacleLogin)
	case status == 403:
		return &executor.Obstacle{Kind: executor.ObstacleDenied, Confidence: executor.ConfidenceLow, Advice: adviceForbidden}
	case status == 429:
		return &executor.Obstacle{Kind: executor.ObstacleDenied, Confidence: executor.ConfidenceHigh, Advice: adviceTooMany}
	case status == 451:
		return &executor.Obstacle{Kind: executor.ObstacleDenied, Confidence: executor.ConfidenceHigh, Advice: adviceLegal}
	}
	return nil
}

// What the user or the agent can do.
const (
	adviceCaptcha   = "A captcha stands before the page. Do not solve it or go around it: ask the user to solve it in the browser, then take a new snapshot."
	adviceCheck     = "The site checks the browser before it shows the page. Wait some seconds and take a new snapshot; if it is still there, ask the user to pass it in the browser."
	adviceWidget    = "A form on the page has a captcha. Use the page as it is; before that form is sent, ask the user to solve the captcha in the browser."
	adviceDenied    = "The site refuses this page. Trying again will not help: tell the user, or use another source."
	adviceForbidden = "The site answered that this page is forbidden. Take a snapshot to see whether it is of use; if not, tell the user."
	adviceTooMany   = "The site got too many requests. Leave it alone for some minutes."
	adviceLegal     = "The site may not show this page here, for legal reasons. Tell the user, or use another source."
	adviceLogin     = "The page is for users who are logged in. Ask the user to log in in the browser, then take a new snapshot."
	adviceLoginWeak = "The page asks to log in or sign up to go on. Close that if it can be closed; else ask the user to log in in the browser."
	adviceConsent   = "A question about cookies or privacy covers the page. Answer it as the user wants; without their word, refuse what is optional."
	adviceBanner    = "A question about cookies or privacy is over the middle of the page. The rest can be used; refuse what is optional if it is in the way."
)

// sure and weakly make an obstacle with the advice that its kind mostly has.
func sure(kind executor.ObstacleKind) *executor.Obstacle {
	advice := map[executor.ObstacleKind]string{
		executor.ObstacleCaptcha: adviceCaptcha, executor.ObstacleDenied: adviceDenied,
		executor.ObstacleLogin: adviceLogin, executor.ObstacleConsent: adviceConsent,
	}
	return &executor.Obstacle{Kind: kind, Confidence: executor.ConfidenceHigh, Advice: advice[kind]}
}

func weakly(kind executor.ObstacleKind) *executor.Obstacle {
	advice := map[executor.ObstacleKind]string{
		executor.ObstacleCaptcha: adviceWidget, executor.ObstacleDenied: adviceForbidden,
		executor.ObstacleLogin: adviceLoginWeak, executor.ObstacleConsent: adviceBanner,
	}
	return &executor.Obstacle{Kind: kind, Confidence: executor.ConfidenceLow, Advice: advice[kind]}
}
