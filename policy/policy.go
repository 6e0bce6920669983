package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Policy decides where an agent may go and what pages may load. Its zero
// value, and a nil *Policy, deny everything. Apart from [Policy.AddOwnPort]
// it never changes; a [Guard] replaces it when its user permits more. Its methods are safe for concurrent use; it must not be
// copied.
//
// Every error its methods return is an *executor.Error: ErrBadArgs for a
// malformed URL of a caller, else ErrPolicyDenied. It names a denied host
// and nothing more of its URL.
type Policy struct {
	config       Config
	allow        []Pattern
	block        []Pattern
	load         []Pattern // SubresourceDomains
	private      []netip.Prefix
	subresources Subresources
	ownPorts     *sync.Map // of uint16; nil in the zero value
}

// A ConfigError says which entry of a [Config] is wrong.
type ConfigError struct {
	Field string // of Config, such as "AllowDomains"
	Value string // the entry
	Err   error  // what is wrong with it; follows the quoted entry in a sentence
}

// Error names the entry in the words of a policy file.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %q %v", fieldNames[e.Field], e.Value, e.Err)
}

// Unwrap returns what is wrong.
func (e *ConfigError) Unwrap() error { return e.Err }

// fieldNames has one entry of each list in words.
var fieldNames = map[string]string{
	"AllowDomains": "allow domain", "BlockDomains": "block domain",
	"SubresourceDomains": "subresource domain", "AllowPrivate": "allow private",
}

// New makes a Policy of c. An entry of c that is wrong yields a *ConfigError.
func New(c Config) (*Policy, error) {
	p := &Policy{config: c, subresources: c.Subresources, ownPorts: new(sync.Map)}
	var err error
	if p.allow, err = parsePatterns("AllowDomains", c.AllowDomains); err != nil {
		return nil, err
	}
	if p.block, err = parsePatterns("BlockDomains", c.BlockDomains); err != nil {
		return nil, err
	}
	if p.load, err = parsePatterns("SubresourceDomains", c.SubresourceDomains); err != nil {
		return nil, err
	}
	for _, s := range c.AllowPrivate {
		r, err := parsePrivate(s)
		if err != nil {
			return nil, &ConfigError{"AllowPrivate", s, err}
		}
		p.private = append(p.private, r)
	}
	if err := c.Subresources.validate(); err != nil {
		return nil, fmt.Errorf("subresources: %w", err)
	}
	if len(p.load) > 0 && c.Subresources != SubresourcesList {
		return nil, errNoList
	}
	if p.subresources == "" {
		p.subresources = SubresourcesPublic
		if c.Eval {
			p.subresources = SubresourcesSame
		}
	}
	for _, n := range c.OwnPorts {
		if n < 1 || n > 65535 {
			return nil, fmt.Errorf("own port %d is not a port", n)
		}
		p.AddOwnPort(n)
	}
	return p, nil
}

// AddOwnPort closes a loopback port from now on: one that this program has
// begun to listen on.
func (p *Policy) AddOwnPort(port int) {
	if p.ownPorts != nil { // else p denies everything
		p.ownPorts.Store(uint16(port), nil)
	}
}

// owns reports whether a loopback port belongs to this program.
func (p *Policy) owns(port uint16) bool {
	if p.ownPorts == nil {
		return false
	}
	_, own := p.ownPorts.Load(port)
	return own
}

// Notes returns sentences on settings that mean less, or open more, than a
// reader might think: for the log and for doctor, never for the model.
func (p *Policy) Notes() []string {
	if p == nil {
		return nil
	}
	var out []string
	for _, a := range p.allow {
		if a.path != "" {
			out = append(out, fmt.Sprintf("allow domain %q: the path is no boundary, the whole origin is allowed", a))
		}
	}
	if p.config.AllDomains {
		out = append(out, "every public site is allowed: whatever an agent reads anywhere, it can send anywhere")
	}
	if p.config.Eval && p.config.Subresources == "" {
		out = append(out, "eval is granted, so pages load from allowed hosts only, since a script could send data anywhere else; setting subresources to list or public changes that")
	}
	if p.config.Eval && p.subresources == SubresourcesPublic {
		out = append(out, "eval is granted and pages may load from any public host: scripts can send data anywhere")
	}
	return out
}

// Config returns what p was made of, with the tier of subresources that is in
// force and with the ports that AddOwnPort closed since.
func (p *Policy) Config() Config {
	if p == nil {
		return Config{Subresources: SubresourcesSame}
	}
	c := p.config
	c.Subresources = p.Subresources()
	c.OwnPorts = nil
	if p.ownPorts != nil {
		p.ownPorts.Range(func(port, _ any) bool {
			c.OwnPorts = append(c.OwnPorts, int(port.(uint16)))
			return true
		})
	}
	slices.Sort(c.OwnPorts)
	for _, list := range []*[]string{&c.AllowDomains, &c.BlockDomains, &c.SubresourceDomains, &c.AllowPrivate} {
		*list = slices.Clone(*list)
	}
	return c
}

// Subresources returns the tier in force.
func (p *Policy) Subresources() Subresources {
	if p == nil || p.subresources == "" {
		return SubresourcesSame
	}
	return p.subresources
}

// Status returns a summary for executor.Status.
func (p *Policy) Status() *executor.PolicyStatus {
	if p == nil {
		p = &Policy{}
	}
	return &executor.PolicyStatus{
		AllowDomains: append([]string{}, p.config.AllowDomains...),
		BlockDomains: slices.Clone(p.config.BlockDomains),
		AllDomains:   p.config.AllDomains,
		Mutations:    p.config.Mutations,
		Eval:         p.config.Eval,
		Downloads:    p.config.Downloads,
		Uploads:      p.config.UploadsDir != "",
		Storage:      p.config.Storage,
		State:        p.config.StateDir != "",
		Subresources: string(p.Subresources()),
	}
}

// deniesAll reports whether p allows no site.
func (p *Policy) deniesAll() bool {
	return p == nil || (len(p.allow) == 0 && !p.config.AllDomains)
}

func (p *Policy) granted(g grant) bool {
	switch {
	case p == nil:
		return false
	case g == grantMutations:
		return p.config.Mutations
	case g == grantDownloads:
		return p.config.Downloads
	case g == grantEval:
		return p.config.Eval
	case g == grantUploads:
		return p.config.UploadsDir != ""
	case g == grantState:
		return p.config.StateDir != ""
	case g == grantStorage:
		return p.config.Storage
	}
	return false
}

// CheckURL decides on a URL that a caller names, and returns the form of it
// that is to be sent to the browser ([ParseURL]). about:blank is allowed
// wherever anything is.
func (p *Policy) CheckURL(raw string) (canonical string, err error) {
	u, err := ParseURL(raw)
	if err != nil {
		return "", err
	}
	switch {
	case p.deniesAll() && u.blank:
		return "", deniedEmpty()
	case p == nil:
		p = &Policy{}
	}
	if !u.blank {
		if err := p.document(u.site, true); err != nil {
			return "", err
		}
	}
	return u.text, nil
}

// CheckOrigin decides on a document by its effective origin, as
// executor.Access defines it, and by its URL as the browser serialises it.
// The URL can only take away: it matters for blocks that have a path, which
// hold when it is empty, and for schemes such as view-source:.
func (p *Policy) CheckOrigin(origin, url string) error {
	if p.deniesAll() {
		return p.deniedAll(origin)
	}
	if origin == executor.OriginOurs {
		return p.ourDocument(url)
	}
	s, err := parseOrigin(origin)
	if err != nil {
		return err
	}
	if url == "" {
		return p.document(s, true)
	}
	if err := p.document(s, false); err != nil {
		return err
	}
	return p.documentURL(url)
}

// checkOriginOnly is CheckOrigin where the URL is not told and was checked by
// others.
func (p *Policy) checkOriginOnly(origin string) error {
	if p.deniesAll() {
		return deniedEmpty()
	}
	if origin == executor.OriginOurs {
		return nil
	}
	s, err := parseOrigin(origin)
	if err != nil {
		return err
	}
	return p.document(s, false)
}

// checkShown decides on a URL as the browser serialises it, of which no
// origin is known: one in a result, or one that a page is about to go to.
func (p *Policy) checkShown(url string) error {
	if p.deniesAll() {
		return deniedEmpty()
	}
	return p.documentURL(url)
}

// CheckDocument decides whether a tab may go to url, which is as the browser
// serialises it. It is for whoever holds the browser's own requests: for what
// a caller names there is CheckURL.
func (p *Policy) CheckDocument(url string) error { return p.checkShown(url) }

// ourDocument accepts the URLs that a document of ours can have.
func (p *Policy) ourDocument(url string) error {
	if url == "" || isBlankURL(url) || strings.HasPrefix(url, errorPage) {
		return nil
	}
	return p.documentURL(url)
}

// errorPage is the browser's own page for a failed load.
const errorPage = "chrome-error://"

func isBlankURL(url string) bool {
	return url == Blank || strings.HasPrefix(url, Blank+"#") || strings.HasPrefix(url, Blank+"?")
}

// documentURL decides on the URL of a document, in the browser's spelling,
// which is wider than what ParseURL takes from a caller.
func (p *Policy) documentURL(url string) error {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return deniedUnreadable()
	}
	switch scheme {
	case "blob":
		if strings.HasPrefix(rest, "null/") {
			return deniedOpaque()
		}
		if inner, _, _ := strings.Cut(rest, "#"); !strings.HasPrefix(inner, "http://") && !strings.HasPrefix(inner, "https://") {
			return deniedScheme("blob")
		}
		s, err := parseDocument(rest)
		if err != nil {
			return err
		}
		s.path = "" // of the blob, not of the page
		return p.document(s, false)
	case "about":
		if isBlankURL(url) || url == "about:srcdoc" {
			return nil // theirs is the origin's decision
		}
	case "chrome-error":
		return nil
	case "data":
		return deniedOpaque()
	case "http", "https":
		s, err := parseDocument(url)
		if err != nil {
			return err
		}
		return p.document(s, true)
	}
	if len(scheme) > 32 {
		return deniedUnreadable()
	}
	return deniedScheme(scheme)
}

// parseOrigin parses an origin that is neither empty nor refused outright.
func parseOrigin(origin string) (site, error) {
	if origin == executor.OriginOpaque || origin == "://" { // the protocol's way to say opaque
		return site{}, deniedOpaque()
	}
	scheme, rest, ok := strings.Cut(origin, "://")
	if !ok {
		return site{}, deniedUnreadable()
	}
	if scheme != "http" && scheme != "https" {
		if len(scheme) > 32 {
			return site{}, deniedUnreadable()
		}
		return site{}, deniedScheme(scheme)
	}
	s, err := parseAuthority(scheme, rest)
	if err != nil {
		return site{}, deniedUnreadable()
	}
	return s, nil
}

// parseDocument finds host and path in an http or https URL that the browser
// serialised: its authority ends at the first slash, and there is one.
func parseDocument(url string) (site, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	s, err := parseAuthority(scheme, authority)
	if err != nil {
		return site{}, deniedUnreadable()
	}
	s.path = "/"
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		tail = tail[:i]
	}
	if tail != "" {
		s.path = tail
	}
	return s, nil
}

// document decides whether a document may be at s. pathless is the answer of
// blocks with a path when that of s is not known.
func (p *Policy) document(s site, pathless bool) error {
	if err := p.blocked(s, pathless); err != nil {
		return err
	}
	if !p.listed(s) {
		return deniedUnlisted(s, p.deniesAll())
	}
	return p.literal(s)
}

// blocked tells what nothing can open: our own ports, what is built in, and
// the block list.
func (p *Policy) blocked(s site, pathless bool) error {
	if s.loopback() && p.owns(s.port) {
		return deniedOwnPort(s.port)
	}
	if err := builtin(s, pathless); err != nil {
		return err
	}
	for _, b := range p.block {
		if b.denies(s, pathless) {
			return deniedBlocked(s.host, b)
		}
	}
	return nil
}

// listed reports whether the allow list covers s. Everything-allowed does not
// mean this machine.
func (p *Policy) listed(s site) bool {
	if p.named(s) {
		return true
	}
	return p.config.AllDomains && (!s.loopback() || p.opens(loopbackOf(s)))
}

// loopbackOf returns the address of a loopback host.
func loopbackOf(s site) netip.Addr {
	if s.addr.IsValid() {
		return s.addr
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// named reports whether a pattern that allows covers s.
func (p *Policy) named(s site) bool {
	return slices.ContainsFunc(p.allow, func(a Pattern) bool { return a.allows(s) })
}

// opens reports whether the user opened the private address addr.
func (p *Policy) opens(addr netip.Addr) bool { return within(p.private, addr) }

// literal holds a host that is an address to what a proxy would decide when
// dialing it: a pattern names an address, but only a loopback one opens it.
func (p *Policy) literal(s site) error {
	if !s.addr.IsValid() || IsPublic(s.addr) || s.addr.IsLoopback() || p.opens(s.addr) {
		return nil
	}
	return deniedPrivate(s)
}
