package obstacle

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A page is the signals made comparable.
type page struct {
	*Signals
	url                  *url.URL
	title, heading, text string
}

func newPage(s *Signals) *page {
	u, err := url.Parse(s.URL)
	if err != nil {
		u = &url.URL{}
	}
	return &page{Signals: s, url: u, title: normal(s.Title), heading: normal(s.Heading), text: normal(s.Text)}
}

// Bounds of what is nothing but a wall.
const (
	fewLinks    = 15  // more is a menu
	littleText  = 700 // bytes
	widgetWidth = 200 // CSS pixels of a captcha that somebody is to tick
	puzzleSide  = 200 // and of one that is open
)

// covered reports whether something lies over all of the page: not what is the
// page itself, as in apps that place themselves into the window.
func (p *page) covered() bool {
	c := p.Cover
	return c != nil && c.full() && (p.Long || len(p.text) > len(normal(c.Text))+len("a line"))
}

// bare reports whether the page has so little on it that it can be a wall.
func (p *page) bare() bool { return !p.Long && p.Links <= fewLinks }

// heads reports whether the title or the first heading is one of heads.
func (p *page) heads(heads []string) bool { return is(p.title, heads) || is(p.heading, heads) }

// captcha is the first layer: pages that check whether somebody is human, and
// captchas that are open or to be ticked.
func captcha(p *page) *executor.Obstacle {
	if p.Solved {
		return nil
	}
	challenge := sure(executor.ObstacleCaptcha)
	w := p.widgets()
	if w.open {
		return challenge
	}
	if blocked(p) {
		return nil // there is nothing to solve
	}
	if p.searchCheck() {
		return challenge
	}
	robots := has(p.text, robotWords) || has(p.title, robotWords)
	if p.bare() && (p.heads(checkTitles) || is(p.title, checkTitles)) && (robots || w.any || p.challenged() || p.Status == 403 || p.Status == 503) {
		if w.any || !p.challenged() && robots {
			return challenge
		}
		challenge.Advice = adviceCheck
		return challenge
	}
	switch {
	case w.page && p.bare():
		return challenge
	case w.any && p.bare() && len(p.Passwords) == 0 && p.Fields <= 1 && (robots || p.Status >= 400 || len(p.text) <= littleText/4):
		return challenge
	case robots && p.bare() && len(p.text) <= littleText && (p.challenged() || p.Status == 403 || p.Status == 429 || p.Status == 503 || p.Status == 405):
		return challenge
	case w.any:
		return weakly(executor.ObstacleCaptcha)
	case robots && p.bare() && p.Links <= fewLinks/3 && len(p.text) <= littleText/2 && len(p.Passwords) == 0:
		o := weakly(executor.ObstacleCaptcha)
		o.Advice = adviceCaptcha
		return o
	}
	return nil
}

// widgets are the captchas that can be seen.
type widgets struct {
	any  bool // there is one
	open bool // and its puzzle is open, or it is all that the page is for
	page bool // it is made for pages of its own
}

var (
	pageWidgets = []string{"px-captcha", "challenge-form", "challenge-stage", "challenge-running", "captcha-form", "captcha-container", "sec-if-cpt-container", "sec-cpt-if", "amzn-captcha-verify-button", "awswaf-captcha"}
	formWidgets = []string{"g-recaptcha", "h-captcha", "cf-turnstile", "frc-captcha", "altcha-widget", "geetest_captcha", "geetest_holder", "mtcaptcha", "FunCaptcha", "funcaptcha", "arkose", "captcha-field"}
	openWidgets = []string{"geetest_panel_box"}
)

func (p *page) widgets() (w widgets) {
	for _, name := range p.Widgets {
		w.page = w.page || slices.Contains(pageWidgets, name)
		w.open = w.open || slices.Contains(openWidgets, name)
		w.any = w.any || w.page || w.open || slices.Contains(formWidgets, name)
	}
	for _, f := range p.Frames {
		u, name := strings.ToLower(f.URL), strings.ToLower(f.Name)
		large := f.Width >= puzzleSide && f.Height >= puzzleSide
		switch {
		case strings.Contains(u, "captcha-delivery.com/"), strings.Contains(u, "/captcha/?initialcid="):
			if !strings.Contains(u, "t=bv") { // that says blocked for good
				w.any, w.page, w.open = true, true, true
			}
		case strings.Contains(u, "/recaptcha/") && strings.Contains(u, "/bframe"),
			strings.Contains(u, "hcaptcha") && strings.Contains(u, "frame=challenge"),
			strings.Contains(u, "arkoselabs.com/"), strings.Contains(u, "funcaptcha.com/"), strings.Contains(name, "arkose"):
			w.any, w.open = w.any || large, w.open || large
		case strings.Contains(u, "/recaptcha/") && strings.Contains(u, "/anchor"):
			w.any = w.any || !strings.Contains(u, "size=invisible") && f.Width >= widgetWidth
		case strings.Contains(u, "hcaptcha") && strings.Contains(u, "frame=checkbox"),
			strings.Contains(u, "challenges.cloudflare.com/"), strings.Contains(u, "/turnstile/if/"):
			w.any = w.any || f.Width >= widgetWidth
		case strings.Contains(u, "/_incapsula_resource") && p.bare():
			w.any, w.page = true, true
		}
	}
	return w
}

// challenged reports whether scripts or frames of a service that checks
// browsers are at work. They are on many pages that are no checks at all.
func (p *page) challenged() bool {
	for _, u := range slices.Concat(p.Scripts, p.FrameURLs) {
		u = strings.ToLower(u)
		for _, part := range []string{"/cdn-cgi/challenge-platform/", "challenges.cloudflare.com/", "captcha-delivery.com/", "awswaf.com/", "/_incapsula_resource", "perimeterx", "px-cdn.net", "px-cloud.net"} {
			if strings.Contains(u, part) {
				return true
			}
		}
	}
	return false
}

// searchCheck recognises Google's own check.
func (p *page) searchCheck() bool {
	return strings.HasPrefix(p.url.Path, "/sorry/") && strings.Contains(p.url.Hostname(), "google.")
}

// blocked reports whether the page is one of the services' refusals that
// leave nothing to solve.
func blocked(p *page) bool {
	return p.bare() && strings.Contains(p.text, "you have been blocked") && (p.Status == 0 || p.Status >= 400)
}

var akamaiReference = regexp.MustCompile(`reference #?\s?\d+\.[0-9a-f]+\.`)

// denied is the second layer: refusals.
func denied(p *page) *executor.Obstacle {
	o := sure(executor.ObstacleDenied)
	form := len(p.Passwords) > 0
	switch {
	case p.Status == 451 || p.bare() && len(p.text) <= littleText && is(p.heading, legalHeads) && p.Status != 200:
		o.Advice = adviceLegal
		return o
	case p.Status == 429 || p.bare() && len(p.text) <= littleText && p.heads(tooManyHeads) && p.Status != 200:
		o.Advice = adviceTooMany
		return o
	case blocked(p):
		return o
	case p.Status == 403 && !form:
		if p.Long || len(p.text) > littleText && !p.heads(deniedHeads) {
			return weakly(executor.ObstacleDenied)
		}
		return o
	case p.hardBlock():
		return o
	case form || !p.bare() || len(p.text) > littleText || p.Fields > 1:
		return nil
	case akamaiReference.MatchString(p.text) && p.heads(deniedHeads):
		return o
	case p.heads(deniedHeads) && has(p.text, deniedWords) && p.Links <= fewLinks/2:
		if p.Status == 200 && !(is(p.title, deniedHeads) && is(p.heading, deniedHeads)) {
			return weakly(executor.ObstacleDenied)
		}
		return o
	}
	return nil
}

// hardBlock recognises a service's refusal in a frame.
func (p *page) hardBlock() bool {
	return slices.ContainsFunc(p.Frames, func(f Frame) bool {
		return strings.Contains(f.URL, "captcha-delivery.com/") && strings.Contains(f.URL, "t=bv")
	})
}

var (
	authPath = regexp.MustCompile(`(^|[/_.-])(log-?in|log_in|sign-?in|sign_in|logon|signon|sso|oauth2?|saml2?|authorize|idp|auth|authenticate|sudo)([/_.-]|$)|/sessions?/new|/servicelogin|/wp-login`)
	authHost = regexp.MustCompile(`^(log-?in|sign-?in|accounts?|auth\d*|sso|id|idp|idmsa|identity|secure-?login)\.|\.(okta|auth0|onelogin)\.com$|\.okta-emea\.com$|^login\.|\.b2clogin\.com$`)
	newPath  = regexp.MustCompile(`(^|[/_.-])(sign-?up|sign_up|register|registration|join|create-?account|signup|reset|recover|forgot)([/_.-]|$)`)
)

// login is the third layer: pages and covers that ask to log in.
func login(p *page) *executor.Obstacle {
	name := path.Clean("/" + strings.ToLower(p.url.Path))
	address := authPath.MatchString(name) || authHost.MatchString(strings.ToLower(p.url.Hostname()))
	title, heading := says(p.title, loginWords), says(p.heading, loginWords)
	account := newPath.MatchString(name) || (says(p.title, signupWords) || says(p.heading, signupWords)) && !title && !heading
	if has(p.title, passwordWords) || has(p.heading, passwordWords) {
		return nil // somebody minds a password: that is no wall
	}
	if !p.Long && !account && asksPassword(p.Passwords) && (address || title || heading) {
		return sure(executor.ObstacleLogin)
	}
	if p.Status == 401 {
		return sure(executor.ObstacleLogin)
	}
	if c := p.Cover; c != nil && !c.Long {
		text := normal(c.Text)
		words := has(text, goOnWords)
		password := asksPassword(c.Passwords) && says(text, loginWords)
		if p.covered() && (words && (says(text, loginWords) || says(text, signupWords)) || password) {
			if c.Closes {
				return weakly(executor.ObstacleLogin)
			}
			o := sure(executor.ObstacleLogin)
			o.Advice = adviceLoginWeak
			return o
		}
	}
	if p.Long || account {
		return nil
	}
	// No password to see: what asks for a name first, or for nothing yet.
	if !p.bare() || p.Fields > 1 {
		return nil
	}
	words, goOn := title || heading, has(p.text, goOnWords)
	switch {
	case address && title && p.Fields == 1:
		return sure(executor.ObstacleLogin)
	case len(p.text) <= littleText && (words && (goOn || address && p.Fields == 1) || address && goOn):
		o := weakly(executor.ObstacleLogin)
		o.Advice = adviceLogin
		return o
	}
	return nil
}

// asksPassword reports whether one field asks for a password that somebody
// has already.
func asksPassword(fields []string) bool {
	return len(fields) == 1 && !strings.Contains(fields[0], "new-password") && !strings.Contains(fields[0], "confirm")
}

// consent is the fourth layer: questions of cookies and privacy that cover the
// page, or stand in its place.
func consent(p *page) *executor.Obstacle {
	host := strings.ToLower(p.url.Hostname())
	if strings.HasPrefix(host, "consent.") && p.bare() && (is(p.title, beforeHeads) || is(p.heading, beforeHeads) || has(p.text, cookieWords)) {
		return sure(executor.ObstacleConsent)
	}
	if !p.Long && p.Links <= fewLinks && is(p.heading, beforeHeads) && has(p.text, cookieWords) && has(p.text, acceptWords) {
		return sure(executor.ObstacleConsent)
	}
	c := p.Cover
	if c == nil {
		return nil
	}
	names := strings.ToLower(c.Names)
	known := false
	for name := range strings.FieldsSeq(names) {
		known = known || slices.ContainsFunc(consentNames, func(n string) bool { return strings.HasPrefix(name, n) })
	}
	text := normal(c.Text)
	asks := has(text, cookieWords) && has(text, acceptWords)
	framed := slices.ContainsFunc(c.Frames, func(f Frame) bool {
		name := strings.ToLower(f.Name)
		return strings.Contains(name, "sp_message_iframe") || has(name, []string{"consent", "privacy", "cookie", "cmp"})
	})
	switch {
	case c.Long && !known, !known && !asks && !framed:
		return nil
	case !c.full():
		if known && asks {
			return weakly(executor.ObstacleConsent)
		}
		return nil
	case known && (asks || framed || c.Text == "" || c.Long || has(text, acceptWords)), framed:
		return sure(executor.ObstacleConsent)
	case asks && p.covered() && len(text) <= 2*littleText:
		return sure(executor.ObstacleConsent)
	}
	return nil
}
