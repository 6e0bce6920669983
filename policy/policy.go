package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Policy decides which sites an agent may use and what pages may load. The zero Policy and a nil
// *Policy deny everything. Only [Policy.AddOwnPort] and [Policy.AddOwnPorts] change a Policy; if the
// user grants more, a [Guard] replaces it. Its methods are safe for concurrent use. A Policy must not be copied.
//
// Every error of its methods is an *executor.Error: ErrBadArgs for a malformed URL of a caller,
// otherwise ErrPolicyDenied. Errors name the denied host and no other part of its URL.
type Policy struct {
	config       Config
	allow        []Pattern
	block        []Pattern
	load         []Pattern // SubresourceDomains
	private      []netip.Prefix
	clipboard    []string // origins of PermitClipboard
	subresources Subresources
	own          *ownPorts // nil in the zero value
}

// ownPorts are the ports of this machine that belong to this program. Policies that differ in run-time
// grants share them.
type ownPorts struct {
	added     sync.Map // keys are uint16
	addresses ownAddresses

	mu    sync.Mutex // guards lists
	lists []func() []int
}

// A ConfigError reports an invalid entry of a [Config].
type ConfigError struct {
	Field string // field of Config, such as "AllowDomains"
	Value string // the entry
	Err   error  // what is wrong; its text follows the quoted entry in a sentence
}

// Error names the entry by the key of a policy file.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %q %v", fieldNames[e.Field], e.Value, e.Err)
}

// Unwrap returns e.Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// fieldNames contains the name of one entry of each list, for errors.
var fieldNames = map[string]string{
	"AllowDomains": "allow domain", "BlockDomains": "block domain",
	"SubresourceDomains": "subresource domain", "AllowPrivate": "allow private",
}

// New creates a Policy from c. It returns a *ConfigError for an invalid entry of a list.
func New(c Config) (*Policy, error) {
	p := &Policy{config: c, subresources: c.Subresources, own: new(ownPorts)}
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

// AddOwnPort denies a port of this machine from now on: at loopback names, at all hosts that are
// addresses, and at names that resolve to an address of this machine. Callers pass the ports that this
// program listens on.
func (p *Policy) AddOwnPort(port int) {
	if p != nil && p.own != nil { // otherwise p denies everything
		p.own.added.Store(uint16(port), nil)
	}
}

// AddOwnPorts denies from now on, as AddOwnPort does, the ports that list returns at the time of a
// check. Callers pass the ports of other processes of this program. list is called only for loopback
// names and for addresses, and by several goroutines at the same time.
func (p *Policy) AddOwnPorts(list func() []int) {
	if p == nil || p.own == nil {
		return
	}
	p.own.mu.Lock()
	defer p.own.mu.Unlock()
	p.own.lists = append(p.own.lists, list)
}

// all returns the ports, sorted.
func (o *ownPorts) all() (ports []int) {
	if o == nil {
		return nil
	}
	o.added.Range(func(port, _ any) bool {
		ports = append(ports, int(port.(uint16)))
		return true
	})
	o.mu.Lock()
	lists := slices.Clone(o.lists)
	o.mu.Unlock()
	for _, list := range lists {
		ports = append(ports, list()...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// owns reports whether a port of this machine belongs to this program.
func (p *Policy) owns(port uint16) bool {
	if p.own == nil {
		return false
	}
	if _, added := p.own.added.Load(port); added {
		return true
	}
	return slices.Contains(p.own.all(), int(port))
}

// Notes returns sentences about settings that restrict less, or allow more, than a reader might
// expect. They are for the log and for doctor, never for the agent.
func (p *Policy) Notes() []string {
	if p == nil {
		return nil
	}
	var out []string
	for _, a := range p.allow {
		if a.path != "" {
			out = append(out, fmt.Sprintf("allow domain %q: a path is not a security boundary; the whole origin is allowed", a))
		}
	}
	if p.config.AllDomains {
		out = append(out, "all public sites are allowed: data read on one site can be sent to any other")
	}
	if p.config.Eval && p.config.Subresources == "" {
		out = append(out, "eval is granted, so pages load from allowed hosts only, since a script could send data "+
			"anywhere else; setting subresources to list or public changes that")
	}
	if p.config.Eval && p.subresources == SubresourcesPublic {
		out = append(out, "eval is granted and pages may load from any public host: scripts can send data anywhere")
	}
	return out
}

// Config returns the configuration of p, with the effective subresource tier and the ports of
// AddOwnPort and AddOwnPorts.
func (p *Policy) Config() Config {
	if p == nil {
		return Config{Subresources: SubresourcesSame}
	}
	c := p.config
	c.Subresources = p.Subresources()
	c.OwnPorts = p.own.all()
	for _, list := range []*[]string{&c.AllowDomains, &c.BlockDomains, &c.SubresourceDomains, &c.AllowPrivate} {
		*list = slices.Clone(*list)
	}
	return c
}

// Subresources returns the effective subresource tier.
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
		Clipboard:    p.config.Clipboard,
		Storage:      p.config.Storage,
		State:        p.config.StateDir != "",
		Subresources: string(p.Subresources()),
	}
}

// allowsNoSite reports whether p allows no site.
func (p *Policy) allowsNoSite() bool {
	return p == nil || (len(p.allow) == 0 && !p.config.AllDomains)
}

// CheckURL decides on a URL that a caller passes, and returns the form to send to the browser, as
// [ParseURL] does. about:blank is allowed if any site is.
func (p *Policy) CheckURL(raw string) (canonical string, err error) {
	u, err := ParseURL(raw)
	if err != nil {
		return "", err
	}
	switch {
	case p.allowsNoSite() && u.blank:
		return "", deniedEmpty()
	case p == nil:
		p = &Policy{}
	}
	if !u.blank {
		if err := p.checkSite(u.site, true); err != nil {
			return "", err
		}
	}
	return u.text, nil
}

// CheckOrigin decides on a document by its effective origin, as executor.Access defines it, and by
// its URL, as the browser serializes it. The URL can only restrict: it matters for schemes such as
// view-source:, and for patterns of the block list that have a path: an empty URL matches them, because
// its path is unknown.
func (p *Policy) CheckOrigin(origin, url string) error {
	if p.allowsNoSite() {
		return p.noSiteAllowedError(origin)
	}
	if origin == executor.OriginInternal {
		return p.checkInternalDocument(url)
	}
	s, err := parseOrigin(origin)
	if err != nil {
		return err
	}
	if url == "" {
		return p.checkSite(s, true)
	}
	if err := p.checkSite(s, false); err != nil {
		return err
	}
	return p.checkDocumentURL(url)
}

// checkOriginOnly is like CheckOrigin for a document whose URL is unknown here and was checked
// elsewhere.
func (p *Policy) checkOriginOnly(origin string) error {
	if p.allowsNoSite() {
		return deniedEmpty()
	}
	if origin == executor.OriginInternal {
		return nil
	}
	s, err := parseOrigin(origin)
	if err != nil {
		return err
	}
	return p.checkSite(s, false)
}

// checkSerializedURL decides on a URL, as the browser serializes it, whose origin is unknown: the
// URL of a result or the destination of a navigation.
func (p *Policy) checkSerializedURL(url string) error {
	if p.allowsNoSite() {
		return deniedEmpty()
	}
	return p.checkDocumentURL(url)
}

// CheckDocument decides whether a tab may navigate to url, which is as the browser serializes it.
// It is for intercepted requests of the browser. For URLs of callers, use CheckURL.
func (p *Policy) CheckDocument(url string) error { return p.checkSerializedURL(url) }

// CheckCookies decides whether the cookies of a host may be read and changed. The host is as in a
// cookie, without a leading dot. The browser sends its cookies to all ports of the host, so it is
// enough that a document of one port is allowed.
func (p *Policy) CheckCookies(scheme, host string) error {
	err := p.CheckDocument(scheme + "://" + host + "/")
	if err == nil || p == nil {
		return err
	}
	for _, a := range p.allow {
		if a.port != 0 && p.CheckDocument(fmt.Sprintf("%s://%s:%d/", scheme, host, a.port)) == nil {
			return nil
		}
	}
	return err
}

// checkInternalDocument accepts the URLs that a document of the internal origin can have.
func (p *Policy) checkInternalDocument(url string) error {
	if url == "" || isBlankURL(url) || strings.HasPrefix(url, errorPage) {
		return nil
	}
	return p.checkDocumentURL(url)
}

// errorPage begins the URL of the browser's error page.
const errorPage = "chrome-error://"

func isBlankURL(url string) bool {
	return url == Blank || strings.HasPrefix(url, Blank+"#") || strings.HasPrefix(url, Blank+"?")
}

// checkDocumentURL decides on the URL of a document, as the browser serializes it. ParseURL does not
// accept all of these.
func (p *Policy) checkDocumentURL(url string) error {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return ambiguousHostError()
	}
	switch scheme {
	case "blob":
		if strings.HasPrefix(rest, "null/") {
			return deniedOpaque()
		}
		if inner, _, _ := strings.Cut(rest, "#"); !strings.HasPrefix(inner, "http://") &&
			!strings.HasPrefix(inner, "https://") {
			return deniedScheme("blob")
		}
		s, err := parseDocument(rest)
		if err != nil {
			return err
		}
		s.path = "" // the path names the blob, not a page
		return p.checkSite(s, false)
	case "about":
		if isBlankURL(url) || url == "about:srcdoc" {
			return nil // the origin decides
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
		return p.checkSite(s, true)
	}
	if len(scheme) > 32 {
		return ambiguousHostError()
	}
	return deniedScheme(scheme)
}

// parseOrigin parses an origin. It returns a denial for an opaque origin and for other schemes.
func parseOrigin(origin string) (site, error) {
	if origin == executor.OriginOpaque || origin == "://" { // CDP reports an opaque origin like this
		return site{}, deniedOpaque()
	}
	scheme, rest, ok := strings.Cut(origin, "://")
	if !ok {
		return site{}, ambiguousHostError()
	}
	if scheme != "http" && scheme != "https" {
		if len(scheme) > 32 {
			return site{}, ambiguousHostError()
		}
		return site{}, deniedScheme(scheme)
	}
	s, err := parseAuthority(scheme, rest)
	if err != nil {
		return site{}, ambiguousHostError()
	}
	return s, nil
}

// parseDocument returns the site of an http or https URL that the browser serialized. Its authority
// ends at the first slash, which is always present.
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
		return site{}, ambiguousHostError()
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

// checkSite decides whether a document may be loaded from s. If the path of s is unknown,
// matchIfPathUnknown decides whether patterns of the block list that have a path match.
func (p *Policy) checkSite(s site, matchIfPathUnknown bool) error {
	if err := p.checkBlocked(s, matchIfPathUnknown); err != nil {
		return err
	}
	if !p.listed(s) {
		return deniedUnlisted(s, p.allowsNoSite())
	}
	return p.checkIPLiteral(s)
}

// checkBlocked denies what no setting allows: own ports, built-in blocks and the block
// list. An own port is denied at all addresses, because the extension does not know those of this
// machine and must decide alike.
func (p *Policy) checkBlocked(s site, matchIfPathUnknown bool) error {
	if (s.loopback() || s.addr.IsValid()) && p.owns(s.port) {
		return deniedOwnPort(s.port)
	}
	if err := builtin(s, matchIfPathUnknown); err != nil {
		return err
	}
	for _, b := range p.block {
		if b.denies(s, matchIfPathUnknown) {
			return deniedBlocked(s.host, b)
		}
	}
	return nil
}

// listed reports whether the allow list or AllDomains covers s. AllDomains does not include
// loopback hosts, unless AllowPrivate covers them.
func (p *Policy) listed(s site) bool {
	if p.named(s) {
		return true
	}
	return p.config.AllDomains && (!s.loopback() || p.allowsPrivate(loopbackOf(s)))
}

// loopbackOf returns the address of a loopback host.
func loopbackOf(s site) netip.Addr {
	if s.addr.IsValid() {
		return s.addr
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// named reports whether a pattern of the allow list covers s.
func (p *Policy) named(s site) bool {
	return slices.ContainsFunc(p.allow, func(a Pattern) bool { return a.allows(s) })
}

// allowsPrivate reports whether the configuration allows the private address addr.
func (p *Policy) allowsPrivate(addr netip.Addr) bool { return within(p.private, addr) }

// checkIPLiteral checks a host that is an address as a proxy does when it dials: a pattern that
// names an address is sufficient only for a loopback address.
func (p *Policy) checkIPLiteral(s site) error {
	if !s.addr.IsValid() || IsPublic(s.addr) || s.addr.IsLoopback() || p.allowsPrivate(s.addr) {
		return nil
	}
	return deniedPrivate(s)
}
