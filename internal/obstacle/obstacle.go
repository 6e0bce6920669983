// Package obstacle recognizes page-level blockers: captcha, access denied, login required, consent
// banner.
//
// It evaluates signals that the page scripts collect (js/obstacle_signals.js). Its results contain
// only fixed text, never page text. It prefers missing an obstacle to a false report, because
// agents stop at an obstacle.
package obstacle

import (
	"cmp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Signals are the observed properties of a page. Their text is page text and is only compared with
// known phrases.
type Signals struct {
	URL    string `json:"-"` // of the top document
	Status int    `json:"-"` // HTTP status of its response; 0 if unknown
	// FrameURLs are the URLs of all frames, including those whose documents must not be read and
	// those in closed shadow roots.
	FrameURLs []string `json:"-"`

	Title   string   `json:"title"`
	Links   int      `json:"links"`
	Widgets []string `json:"widgets"` // ids, classes and tags of visible captchas
	Frames  []Frame  `json:"frames"`  // visible ones
	Scripts []string `json:"scripts"` // URLs
	Solved  bool     `json:"solved"`  // a captcha has been solved
	Cover   *Cover   `json:"cover"`   // element that floats over the middle of the page
	View
}

// A View is the visible content of a page or a part of it.
type View struct {
	Text           string   `json:"text"` // empty if Long
	Long           bool     `json:"long"` // longer than the text of a page that is only an obstacle
	Heading        string   `json:"heading"`
	Passwords      []string `json:"passwords"` // autocomplete, name and id of each password field
	Fields         int      `json:"fields"`    // text fields other than passwords
	HasCloseButton bool     `json:"closes"`    // contains a close button
}

// A Frame is a visible frame.
type Frame struct {
	URL    string `json:"url"`
	Name   string `json:"name"` // title, id and name of the element
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// A Cover is an element that floats over the page.
type Cover struct {
	View
	Share  int     `json:"share"` // number of the Of sample points that it covers
	Of     int     `json:"of"`
	Names  string  `json:"names"` // ids and classes
	Frames []Frame `json:"frames"`
}

// full reports whether c covers practically the complete page.
func (c *Cover) full() bool { return c.Of > 0 && c.Share >= c.Of-1 }

// Detect returns the obstacle that the signals indicate, or nil. It checks layers in order:
// captcha, access denied, login required, consent banner. The first one with high confidence
// decides; otherwise the first one with a weak sign.
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

// FromResponse detects an obstacle from the response only, before the page was read.
func FromResponse(url, title string, status int) *executor.Obstacle {
	p := newPage(&Signals{URL: url, Title: title, Status: status})
	switch {
	case (status == 403 || status == 503) && (startsWithAny(p.title, checkTitles) || has(p.title, robotWords)):
		return high(executor.ObstacleCaptcha, adviceCheck)
	case status == 401:
		return high(executor.ObstacleLogin, adviceLogin)
	case status == 403:
		return low(executor.ObstacleDenied, adviceForbidden)
	case status == 429:
		return high(executor.ObstacleDenied, adviceTooMany)
	case status == 451:
		return high(executor.ObstacleDenied, adviceLegal)
	}
	return nil
}

// Advice for the user or the agent.
const (
	adviceCaptcha   = "A captcha blocks the page. Do not solve or bypass it: ask the user to solve it in the browser, then take a new snapshot."
	adviceCheck     = "The site checks the browser before it shows the page. Wait a few seconds and take a new snapshot; if the check is still there, ask the user to complete it in the browser."
	adviceWidget    = "A form on the page has a captcha. Use the page normally; before submitting that form, ask the user to solve the captcha in the browser."
	adviceDenied    = "The site denied access to this page. Do not retry: inform the user, or use another source."
	adviceForbidden = "The site returned that this page is forbidden. Take a snapshot to check whether it is usable; if not, inform the user."
	adviceTooMany   = "The site received too many requests. Wait some minutes before retrying."
	adviceLegal     = "The site does not show this page for legal reasons (HTTP 451). Inform the user, or use another source."
	adviceLogin     = "The page requires a login. Ask the user to log in in the browser, then take a new snapshot."
	adviceLoginWeak = "The page requires a login or sign-up to continue. Close the dialog if possible; otherwise ask the user to log in in the browser."
	adviceConsent   = "A consent banner covers the page. Answer it as the user wants; without instructions, reject what is optional."
	adviceBanner    = "A consent banner covers the middle of the page. The rest is usable; if the banner blocks you, reject what is optional."
)

// windowless is the advice for a browser without a window, in which the user can do nothing.
var windowless = map[string]string{
	adviceCaptcha:   "A captcha blocks the page. Do not solve or bypass it. This browser has no window: ask the user to open the page in their own Chrome or in a browser with a window, or use another source.",
	adviceCheck:     "The site checks the browser before it shows the page. Wait a few seconds and take a new snapshot; if the check is still there, inform the user, or use another source.",
	adviceWidget:    "A form on the page has a captcha. Use the page normally; before submitting that form, inform the user that this browser has no window in which to solve the captcha.",
	adviceLogin:     "The page requires a login. This browser has no window: ask the user to log in in their own Chrome or in a browser with a window, or use another source.",
	adviceLoginWeak: "The page requires a login or sign-up to continue. Close the dialog if possible; otherwise ask the user to log in in their own Chrome or in a browser with a window.",
}

// WithoutWindow returns o with the advice for a browser without a window. o may be nil.
func WithoutWindow(o *executor.Obstacle) *executor.Obstacle {
	if o == nil || windowless[o.Advice] == "" {
		return o
	}
	changed := *o
	changed.Advice = windowless[o.Advice]
	return &changed
}

// high returns an obstacle with high confidence.
func high(kind executor.ObstacleKind, advice string) *executor.Obstacle {
	return &executor.Obstacle{Kind: kind, Confidence: executor.ConfidenceHigh, Advice: advice}
}

// low returns an obstacle with low confidence.
func low(kind executor.ObstacleKind, advice string) *executor.Obstacle {
	return &executor.Obstacle{Kind: kind, Confidence: executor.ConfidenceLow, Advice: advice}
}
