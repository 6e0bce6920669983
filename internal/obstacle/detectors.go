package obstacle

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// A page is the signals in comparable form.
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

// Limits for pages that are only an obstacle.
const (
	fewLinks    = 15  // a menu has more
	littleText  = 700 // bytes
	widgetWidth = 200 // minimum width of a captcha widget to be clicked, in CSS pixels
	puzzleSide  = 200 // and of an open puzzle
)

// covered reports whether something covers the complete page, other than the page's own content, as
// in apps that are positioned over the window.
func (p *page) covered() bool {
	c := p.Cover
	return c != nil && c.full() && (p.Long || len(p.text) > len(normal(c.Text))+len("a line"))
}

// isNearlyEmpty reports whether the page has so little content that it can be only an obstacle.
func (p *page) isNearlyEmpty() bool { return !p.Long && p.Links <= fewLinks }

// heads reports whether the title or the first heading starts with one of heads.
func (p *page) heads(heads []string) bool {
	return startsWithAny(p.title, heads) || startsWithAny(p.heading, heads)
}

// captcha is the first layer: pages that check whether the visitor is human, and captchas that are
// open or waiting to be clicked.
func captcha(p *page) *executor.Obstacle {
	if p.Solved {
		return nil
	}
	challenge := high(executor.ObstacleCaptcha, adviceCaptcha)
	w := p.widgets()
	if w.open {
		return challenge
	}
	if blocked(p) {
		return nil // nothing to solve
	}
	if strings.HasPrefix(p.url.Path, "/sorry/") && strings.Contains(p.url.Hostname(), "google.") {
		return challenge // Google's own check
	}
	robots := has(p.text, robotWords) || has(p.title, robotWords)
	if p.isNearlyEmpty() && p.heads(checkTitles) && (robots || w.any || p.challenged() || p.Status == 403 || p.Status == 503) {
		if w.any || !p.challenged() && robots {
			return challenge
		}
		return high(executor.ObstacleCaptcha, adviceCheck)
	}
	switch {
	case w.page && p.isNearlyEmpty():
		return challenge
	case w.any && p.isNearlyEmpty() && len(p.Passwords) == 0 && p.Fields <= 1 && (robots || p.Status >= 400 || len(p.text) <= littleText/4):
		return challenge
	case robots && p.isNearlyEmpty() && len(p.text) <= littleText && (p.challenged() || p.Status == 403 || p.Status == 429 || p.Status == 503 || p.Status == 405):
		return challenge
	case w.any:
		return low(executor.ObstacleCaptcha, adviceWidget)
	case robots && p.isNearlyEmpty() && p.Links <= fewLinks/3 && len(p.text) <= littleText/2 && len(p.Passwords) == 0:
		return low(executor.ObstacleCaptcha, adviceCaptcha)
	}
	return nil
}

// widgets are the visible captchas.
type widgets struct {
	any  bool // a captcha is visible
	open bool // and its puzzle is open, or the page has no other purpose
	page bool // of a kind that uses a separate page
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
			if !strings.Contains(u, "t=bv") { // t=bv means permanently blocked
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
		case strings.Contains(u, "/_incapsula_resource") && p.isNearlyEmpty():
			w.any, w.page = true, true
		}
	}
	return w
}

// challenged reports whether scripts or frames of a bot detection service are present. Many pages
// with these are not checks.
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

// blocked reports whether the page is a denial by a bot detection service without anything to
// solve.
func blocked(p *page) bool {
	return p.isNearlyEmpty() && strings.Contains(p.text, "you have been blocked") && (p.Status == 0 || p.Status >= 400)
}

var akamaiReference = lazyregexp.New(`reference #?\s?\d+\.[0-9a-f]+\.`)

// denied is the second layer: denials.
func denied(p *page) *executor.Obstacle {
	o := high(executor.ObstacleDenied, adviceDenied)
	form := len(p.Passwords) > 0
	switch {
	case p.Status == 451 || p.isNearlyEmpty() && len(p.text) <= littleText && startsWithAny(p.heading, legalHeads) && p.Status != 200:
		return high(executor.ObstacleDenied, adviceLegal)
	case p.Status == 429 || p.isNearlyEmpty() && len(p.text) <= littleText && p.heads(tooManyHeads) && p.Status != 200:
		return high(executor.ObstacleDenied, adviceTooMany)
	case blocked(p):
		return o
	case p.Status == 403 && !form:
		if p.Long || len(p.text) > littleText && !p.heads(deniedHeads) {
			return low(executor.ObstacleDenied, adviceForbidden)
		}
		return o
	case p.hardBlock():
		return o
	case form || !p.isNearlyEmpty() || len(p.text) > littleText || p.Fields > 1:
		return nil
	case akamaiReference().MatchString(p.text) && p.heads(deniedHeads):
		return o
	case p.heads(deniedHeads) && has(p.text, deniedWords) && p.Links <= fewLinks/2:
		if p.Status == 200 && !(startsWithAny(p.title, deniedHeads) && startsWithAny(p.heading, deniedHeads)) {
			return low(executor.ObstacleDenied, adviceForbidden)
		}
		return o
	}
	return nil
}

// hardBlock recognizes a denial by a service in a frame.
func (p *page) hardBlock() bool {
	return slices.ContainsFunc(p.Frames, func(f Frame) bool {
		return strings.Contains(f.URL, "captcha-delivery.com/") && strings.Contains(f.URL, "t=bv")
	})
}

var (
	authPath = lazyregexp.New(`(^|[/_.-])(log-?in|log_in|sign-?in|sign_in|logon|signon|sso|oauth2?|saml2?|authorize|idp|auth|authenticate|sudo)([/_.-]|$)|/sessions?/new|/servicelogin|/wp-login`)
	authHost = lazyregexp.New(`^(log-?in|sign-?in|accounts?|auth\d*|sso|id|idp|idmsa|identity|secure-?login)\.|\.(okta|auth0|onelogin)\.com$|\.okta-emea\.com$|^login\.|\.b2clogin\.com$`)
	newPath  = lazyregexp.New(`(^|[/_.-])(sign-?up|sign_up|register|registration|join|create-?account|signup|reset|recover|forgot)([/_.-]|$)`)
)

// login is the third layer: pages and covers that require a login.
func login(p *page) *executor.Obstacle {
	name := path.Clean("/" + strings.ToLower(p.url.Path))
	address := authPath().MatchString(name) || authHost().MatchString(strings.ToLower(p.url.Hostname()))
	title, heading := containsWord(p.title, loginWords), containsWord(p.heading, loginWords)
	account := newPath().MatchString(name) || (containsWord(p.title, signupWords) || containsWord(p.heading, signupWords)) && !title && !heading
	if has(p.title, passwordWords) || has(p.heading, passwordWords) {
		return nil // a page that manages a password does not require a login
	}
	if p.Status == 401 || !p.Long && !account && hasCurrentPasswordField(p.Passwords) && (address || title || heading) {
		return high(executor.ObstacleLogin, adviceLogin)
	}
	if c := p.Cover; c != nil && !c.Long {
		text := normal(c.Text)
		words := has(text, continueWords)
		password := hasCurrentPasswordField(c.Passwords) && containsWord(text, loginWords)
		if p.covered() && (words && (containsWord(text, loginWords) || containsWord(text, signupWords)) || password) {
			if c.HasCloseButton {
				return low(executor.ObstacleLogin, adviceLoginWeak)
			}
			return high(executor.ObstacleLogin, adviceLoginWeak)
		}
	}
	if p.Long || account {
		return nil
	}
	// No visible password field: the first step of a login, which asks for a name or has no field
	// yet.
	if !p.isNearlyEmpty() || p.Fields > 1 {
		return nil
	}
	words, goOn := title || heading, has(p.text, continueWords)
	switch {
	case address && title && p.Fields == 1:
		return high(executor.ObstacleLogin, adviceLogin)
	case len(p.text) <= littleText && (words && (goOn || address && p.Fields == 1) || address && goOn):
		return low(executor.ObstacleLogin, adviceLogin)
	}
	return nil
}

// hasCurrentPasswordField reports whether a field is for an existing password.
func hasCurrentPasswordField(fields []string) bool {
	return len(fields) == 1 && !strings.Contains(fields[0], "new-password") && !strings.Contains(fields[0], "confirm")
}

// consent is the fourth layer: cookie and privacy dialogs that cover or replace the page.
func consent(p *page) *executor.Obstacle {
	host := strings.ToLower(p.url.Hostname())
	if strings.HasPrefix(host, "consent.") && p.isNearlyEmpty() && (p.heads(beforeHeads) || has(p.text, cookieWords)) {
		return high(executor.ObstacleConsent, adviceConsent)
	}
	if p.isNearlyEmpty() && startsWithAny(p.heading, beforeHeads) && has(p.text, cookieWords) && has(p.text, acceptWords) {
		return high(executor.ObstacleConsent, adviceConsent)
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
			return low(executor.ObstacleConsent, adviceBanner)
		}
		return nil
	case known && (asks || framed || c.Text == "" || c.Long || has(text, acceptWords)), framed:
		return high(executor.ObstacleConsent, adviceConsent)
	case asks && p.covered() && len(text) <= 2*littleText:
		return high(executor.ObstacleConsent, adviceConsent)
	}
	return nil
}
