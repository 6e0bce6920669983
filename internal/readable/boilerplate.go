package readable

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dropInvisible removes elements that are never shown. Scripts with JSON-LD and <noscript> remain,
// because the search for the main content reads the title and lazily loaded images from them and
// then removes them.
func (p *page) dropInvisible() {
	all := -1 // text length of the page, computed on demand
	p.remove(func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Script:
			return attr(n, "type") != "application/ld+json"
		case atom.Style, atom.Template, atom.Link, atom.Object, atom.Embed:
			return true
		case atom.Dialog:
			_, open := lookup(n, "open")
			return !open
		}
		if isHidden(n) {
			return true
		}
		if attr(n, "aria-hidden") == "true" {
			if all < 0 {
				all = textLength(p.root)
			}
			// A modal dialog hides the page behind it this way, but the page is what the caller
			// wants.
			return textLength(n)*2 <= all || all == 0
		}
		return false
	})
	for n := range p.root.Descendants() {
		if attr(n, "aria-hidden") == "true" {
			setAttr(n, "aria-hidden", "false")
		}
	}
}

// isHidden reports whether the markup hides n. It does not evaluate style sheets; the caller that
// read the markup from the browser does.
func isHidden(n *html.Node) bool {
	if v, ok := lookup(n, "hidden"); ok && v != "until-found" {
		return true
	}
	style, ok := lookup(n, "style")
	if !ok {
		return false
	}
	for decl := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(decl, ":")
		value, _, _ = strings.Cut(value, "!")
		switch name, value = strings.TrimSpace(name), strings.TrimSpace(value); {
		case name == "display" && value == "none",
			name == "visibility" && (value == "hidden" || value == "collapse"):
			return true
		}
	}
	return false
}

// maxClutterShare is the share of the page's text, in percent, above which an element does not
// count as clutter, whatever its name: a page about cookies also has them in its class names.
const maxClutterShare = 40

// dropClutter removes consent banners and advertisements.
func (p *page) dropClutter() {
	all := textLength(p.root)
	p.remove(func(n *html.Node) bool {
		return n.DataAtom != atom.Body && n.DataAtom != atom.Html &&
			(isConsent(n) || isAdvertisement(n)) && textLength(n)*100 <= all*maxClutterShare
	})
}

// consentIDs are the ids of the root elements of common consent managers.
var consentIDs = []string{
	"onetrust", "cybotcookiebot", "didomi", "usercentrics", "qc-cmp", "sp_message_container",
	"truste", "cmpbox", "cmpwrapper", "klaro", "osano", "iubenda-cs", "borlabs-cookie", "cookiescript",
	"cookieyes", "cky-consent", "termly", "fc-consent", "axeptio", "tarteaucitron",
}

// consentSubjects and consentForms combine to the names that sites give to their own banners:
// "cookie-banner", "gdpr_notice", "CookieBar".
var (
	consentSubjects = []string{"cookie", "consent", "gdpr", "ccpa"}
	consentForms    = []string{"banner", "bar", "notice", "popup", "pop-up", "overlay", "dialog", "modal",
		"wall", "message", "alert", "consent", "disclaimer", "prompt", "toast"}
)

func isConsent(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Section, atom.Aside, atom.Footer, atom.Dialog, atom.Form, atom.Header, atom.P, 0:
	default:
		return false
	}
	names := strings.ToLower(attr(n, "id") + " " + attr(n, "class"))
	for name := range strings.FieldsSeq(names) {
		if slices.ContainsFunc(consentIDs, func(id string) bool { return strings.HasPrefix(name, id) }) {
			return true
		}
	}
	// The label of a dialog describes its subject.
	if role := attr(n, "role"); role == "dialog" || role == "alertdialog" || role == "region" || n.DataAtom == atom.Dialog {
		label := strings.ToLower(attr(n, "aria-label"))
		if containsAny(label, consentSubjects) || (role != "region" && containsAny(names, consentSubjects)) {
			return true
		}
	}
	for name := range strings.FieldsSeq(names) {
		if len(name) <= 40 && containsAny(name, consentSubjects) && containsAny(name, consentForms) {
			return true
		}
	}
	return false
}

// adWords are class and id words that only advertisements use. Words are separated by hyphens and
// underscores.
var adWords = map[string]bool{
	"ad": true, "ads": true, "advert": true, "adverts": true, "advertisement": true, "advertisements": true,
	"advertising": true, "adsbygoogle": true, "adslot": true, "adunit": true, "adbox": true,
	"adcontainer": true, "dfp": true, "taboola": true, "outbrain": true, "sponsored": true,
}

func isAdvertisement(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Ins:
		return strings.Contains(attr(n, "class"), "adsbygoogle")
	case atom.Div, atom.Section, atom.Aside, atom.Iframe, atom.Figure, atom.P, atom.Li, atom.Span:
	default:
		return false
	}
	if label := strings.ToLower(attr(n, "aria-label")); label == "advertisement" || label == "advertising" || label == "sponsored" {
		return true
	}
	if strings.HasPrefix(attr(n, "id"), "google_ads") || strings.HasPrefix(attr(n, "id"), "div-gpt-ad") {
		return true
	}
	for name := range strings.FieldsSeq(strings.ToLower(attr(n, "class") + " " + attr(n, "id"))) {
		// Matches "ad-slot" and "banner-ad", but not "post_with_ad_below" or "no-ads".
		words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
		if len(words) == 0 || len(words) > 3 || words[0] == "no" || words[0] == "has" || words[0] == "with" {
			continue
		}
		if adWords[words[0]] || adWords[words[len(words)-1]] {
			return true
		}
	}
	return false
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}
