package mutation

var general = []Mutation{
	// Decisions.
	{
		"A user is asked for nothing but", "policy/permit.go",
		`	case executor.PermitMutations, executor.PermitDownloads:`, `	case executor.PermitMutations, executor.PermitDownloads, "eval":`,
		"./policy", "TestPermitCannot",
	},
	{
		"A user is asked for nothing but", "policy/permit.go",
		`	return icann && strings.Contains(s.host, ".") && !reservedTLDs[top]`, `	return icann || strings.Contains(s.host, ".") && !reservedTLDs[top]`,
		"./policy", "TestPermitCannot|TestMissing",
	},
	{
		"A user is asked for nothing but", "policy/permit.go",
		`		added.call = callOf(ctx)`, `		_ = callOf(ctx)`,
		"./policy", "TestPermitOnce",
	},
	{
		"A user is asked for nothing but", "mcp/ask.go",
		`of.site == q.site && reflect.DeepEqual(of.args, q.args)`, `reflect.DeepEqual(q.args, q.args)`,
		"./mcp", "TestOnceIsForWhatWasAsked",
	},
	{
		"Nothing fails open", "policy/policy.go",
		`	return p == nil || (len(p.allow) == 0 && !p.config.AllDomains)`, `	return p == nil`,
		"./policy", "TestZeroPolicyDenies",
	},
	{
		"Nothing fails open", "internal/egress/egress.go",
		`var errNoDecider = errors.New("no policy is set")`, `var errNoDecider = errors.Join()`,
		"./internal/egress", "TestNilDeciderDenies",
	},
	{
		"Every method that touches a page", "policy/wrap.go",
		`	if err := x.enter(ctx, "cdp", tab, grantEval); err != nil {`, `	if err := x.enter(ctx, "cdp", tab); err != nil {`,
		"./policy", "TestEveryMethodIsGuarded",
	},
	{
		"Every method that touches a page", "policy/wrap_read.go",
		`	if denied := x.from(ctx, op, tab, origin(r)); denied != nil {`, `	if denied := x.from(ctx, op, tab, origin(r)); false {`,
		"./policy", "TestDeniedEndOfEveryMethod|TestWrapResults",
	},
	{
		"A URL of a caller is taken only", "policy/url.go",
		`		case c == '\\':`, `		case false:`,
		"./policy", "TestParseURLRefuses",
	},
	{
		"A URL of a caller is taken only", "policy/url.go",
		`	if hasDotSegment(path) {
		return badURL(`, `	if false && hasDotSegment(path) {
		return badURL(`,
		"./policy", "TestParseURLRefuses",
	},
	{
		"Server and extension decide alike", "extension/rules.js",
		`if (isLoopbackHost(site.host) && rules.ownPorts.has(site.port))`, `if (rules.ownPorts.has(-1))`,
		"extension/test", "documents are decided on as in package policy",
	},
	{
		"Patterns are strict", "policy/pattern.go",
		`	if !p.addr.IsValid() && isPublicSuffix(p.host, p.subdomains) {`, `	if false {`,
		"./policy", "TestPatternErrors",
	},
	{
		"What is denied beats what is allowed", "policy/policy.go",
		`	for _, b := range p.block {
		if b.denies(s, pathless) {`, `	for _, b := range p.block[:0] {
		if b.denies(s, pathless) {`,
		"./policy", "TestCheckURL",
	},
	{
		"What is denied beats what is allowed", "policy/policy.go",
		`(!s.loopback() || p.opens(loopbackOf(s)))`, `true`,
		"./policy", "TestAllDomains",
	},
	{
		"The origin is the browser's word", "internal/page/frame.go",
		`	return executor.OriginOpaque
}`, `	return executor.OriginOurs
}`,
		"./internal/page", "TestEffectiveOrigin",
	},
	{
		"The gate is asked about the tab", "internal/page/view.go",
		`	return d, v.check(ctx, d, op, "")`, `	return d, nil`,
		"./executor/chromium", "TestExecutor/.*/gate$/^hidden_from_everything$",
	},
	{
		"Scripts are bound to the document that was checked", "internal/page/eval.go",
		`"uniqueContextId": d.main, "awaitPromise": await`, `"awaitPromise": await`,
		"./executor/chromium", "TestExecutor/.*/gate/page_leaves_while_the_gate_decides_about_eval$",
	},
	{
		"Every hop is decided anew", "internal/egress/serve.go",
		`		return &deniedError{err}`, `		return nil`,
		"./internal/egress", "TestRedirectIsDecidedAnew|TestForwardDenied",
	},

	// The network.
	{
		"The managed browser asks no host that is denied", "executor/chromium/launch_flags.go",
		`			"--proxy-bypass-list=<-loopback>", // loopback goes through it as well
`, "",
		"./executor/chromium", "TestArgumentsUnderProxy|TestLeaks$",
	},
	{
		"The address that was checked is the one", "policy/network.go",
		`	case IsPublic(addr):
		return nil`, `	case true:
		return nil`,
		"./policy", "TestCheckAddr",
	},
	{
		"The address that was checked is the one", "internal/egress/dial.go",
		`		allowed = append(allowed, a)`, `		allowed = append(allowed, addrs...)`,
		"./internal/egress", "TestDialsWhatWasChecked",
	},
	{
		"A name in a pattern opens no private address", "policy/network.go",
		`	case p.opens(addr) && (p.listed(s) || loadNamed):`, `	case p.opens(addr) || p.named(s):`,
		"./policy", "TestCheckAddr",
	},
	{
		"Our own ports are closed to pages", "policy/policy.go",
		`	if s.loopback() && p.owns(s.port) {`, `	if false {`,
		"./policy", "TestCheckHost|TestCheckURL",
	},
	{
		"Tunnels, WebSockets and upstream proxies", "internal/egress/tunnel.go",
		`p.decide("", t, "")`, `p.decide("", target{host: "allowed.test", port: 443}, "")`,
		"./internal/egress", "TestWebSocketByConnect|TestStrictTargets|TestTLS|TestForwardDenied",
	},

	{
		"In the user's Chrome a shared tab is held at the network", "extension/network.js",
		`  for (const regexFilter of PRIVATE) add(`, `  for (const regexFilter of []) add(`,
		"extension/test", "the network is held as the documents are",
	},
	{
		"With `same` nothing reaches a denied host", "policy/network.go",
		`	if !p.listed(s) && !p.loadable(s) {`, `	if false && !p.listed(s) && !p.loadable(s) {`,
		"./executor/chromium", "TestLeaks$",
	},

	// What is reported.
	{
		"Reads leave denied frames out", "internal/page/view.go",
		`		if denied[string(d.parent)] || v.check(ctx, d, op, "") != nil {`, `		if d.top() && v.check(ctx, d, op, "") != nil {`,
		"./executor/chromium", "TestExecutor/.*/denied_frames/",
	},
	{
		"Lists, events, titles, changes and errors", "policy/wrap_tabs.go",
		`			t.URL, t.Title = executor.DeniedURL, ""`, `			t.URL = executor.DeniedURL`,
		"./policy", "TestWrapResults",
	},
	{
		"No tool takes a URL for cookies", "extension/methods.js",
		`if (origin === '' || !urls.every((url) => typeof url === 'string' && originOf(url) === origin)) {`, `if (origin === '') {`,
		"extension/test", "commands pass, or do not",
	},
	{
		"Values of passwords and cards are masked", "internal/page/js/secrets.js",
		`  if (tag !== 'input' && tag !== 'textarea' && tag !== 'select') return false;
  const type`, `  if (tag !== 'select') return false;
  const type`,
		"./executor/chromium", "TestExecutor/.*/snapshot/passwords_are_masked$",
	},
	{
		"Page text is fenced by a nonce", "mcp/fence.go",
		`	for strings.Contains(folded, nonce) {`, `	for false && strings.Contains(folded, nonce) {`,
		"./mcp", "TestFenceHoldsHostileText",
	},
	{
		"Page text is fenced by a nonce", "mcp/fence.go",
		`		if r == 0x1b || r == 0x9b || r == 0x9d {`, `		if r == 0x9b || r == 0x9d {`,
		"./mcp", "TestClean",
	},

	// Files.
	{
		"Downloads stay in their folder", "internal/download/name.go",
		`	name = name[strings.LastIndexAny(name, ` + "`/\\`" + `)+1:]
`, "",
		"./internal/download", "TestCleanName",
	},
	{
		"Downloads stay in their folder", "internal/download/name.go",
		`		if executable(next) {`, `		if false {`,
		"./internal/download", "TestExecutablesAreDefused",
	},
	{
		"Downloads stay in their folder", "internal/download/save.go",
		`	limit := min(d.max, d.all.Room())`, `	limit := int64(1 << 40)`,
		"./internal/download", "TestSaveCap",
	},
	{
		"A page saves nothing without the grant", "policy/policy.go",
		`		return p.config.Downloads`, `		return true`,
		"./policy", "TestDeniedEndOfEveryMethod|TestGuardCheck|TestEveryMethodIsGuarded",
	},
	{
		"A full disk, a cut line", "internal/download/save.go",
		`	case src.err != nil:
		return n, unread(src.err, n)`, `	case src.err != nil:
		return n, nil`,
		"./internal/download", "TestFetchCut|TestSaveReaderFails",
	},

	// Limits and ends.
	{
		"Every call ends at its deadline", "internal/cdpconn/session.go",
		`	return context.WithTimeout(ctx, DefaultCallTimeout)`, `	return ctx, func() {}`,
		"./internal/cdpconn", "^TestUnansweredCalls$",
	},
	{
		"A killed browser, renderer, server", "executor/chromium/browser.go",
		`		b.run = nil
		b.lost, b.leaving`, `		b.lost, b.leaving`,
		"./executor/chromium", "TestKilledBrowserIsReplaced",
	},
	{
		"A browser whose network process crashed", "executor/chromium/run.go",
		`		r.warmUpAgain()`, `		// r.warmUpAgain()`,
		"./executor/chromium", "TestKilledHelpers",
	},
	{
		"After hundreds of calls on hostile pages, the server uses little memory and leaves no goroutine, process, socket or file", "bridge/handshakefile.go",
		`	if h != nil && !h.gone() {`, `	if false {`,
		"./cmd/chrome-mcp", "TestServeLeavesNothing",
	},
	{
		"Setting the clock ends no session", "bridge/handshakefile.go",
		`	if r.Process != "" {`, `	if false && r.Process != "" {`,
		"./bridge", "TestClockJump",
	},
	{
		"A browser that we start ends with us", "executor/chromium/orphan.go",
		`	if !id.alive() || !usesProfile(id.PID, dir) {`, `	if true {`,
		"./executor/chromium", "TestOrphanOnNamedProfile",
	},

	// The bridge.
	{
		"Only our extension may dial", "bridge/handler.go",
		`	case r.Header.Get("Origin") != s.origin():`, `	case false:`,
		"./bridge", "TestWhoMayDial",
	},
	{
		"Only our extension may dial", "bridge/handler.go",
		`		host != "127.0.0.1" && host != "localhost" && host != "::1":`, `		host == "":`,
		"./bridge", "TestWhoMayDial",
	},
	{
		"Both sides prove that they know the token", "bridge/handshake.go",
		`	case !t.VerifyClient(key, proof.MAC):`, `	case proof.MAC == "":`,
		"./bridge", "TestBadInput",
	},
	{
		"Junk, floods, silence", "bridge/handshake.go",
		`	st.SetReadLimit(wire.MaxHandshakeFrame)`, `	st.SetReadLimit(2 * wire.MaxHandshakeFrame)`,
		"./bridge", "TestBadInput|TestRawSockets|TestRawJunk",
	},
	{
		"The token is in no log", "bridge/handshake.go",
		`"an extension was paired", "instance", hello.Instance`, `"an extension was paired", "instance", hello.Instance, "key", wire.EncodeKey(newKey)`,
		"./bridge", "TestSecretsStaySecret",
	},
	{
		"Its file is ours alone", "bridge/folder.go",
		`		err = owneronly.CheckDir(info)`, `		_ = info`,
		"./bridge", "TestFolders",
	},
	{
		"Its file is ours alone", "bridge/handshakefile.go",
		`	return err != nil || !os.SameFile(info, h.info)`, `	return info == nil && err == nil`,
		"./bridge", "TestDeletingEndsSessions",
	},
	{
		"A pairing string works once", "bridge/pairing.go",
		`	return age > PairingLifetime || age < -PairingLifetime`, `	return age < -PairingLifetime`,
		"./bridge", "TestPairingExpires",
	},
	{
		"A pairing string works once", "bridge/pairing.go",
		`return len(instances) == 0 || slices.Contains(instances, r.Instance)`, `return len(instances) > 1`,
		"./bridge", "TestUnpair",
	},
	{
		"The extension decides for itself", "extension/methods.js",
		`  const why = decide(s.rules, parsed.href);
  if (why) throw new Refusal('POLICY_DENIED', why);
  return { ...params, url: parsed.href };`, `  return { ...params, url: parsed.href };`,
		"extension/test", "commands pass, or do not",
	},

	// Settings, grants and records.
	{
		"The server does not start with an invalid policy file, flag or environment variable", "policy/file.go",
		`			return c, fmt.Errorf("unknown key %q; the keys are %s", key, keyList(fields))`, `			continue`,
		"./policy", "TestParseFileErrors",
	},
	{
		"The policy checks each call of a batch or a script separately", "mcp/dispatch.go",
		`	if err = s.mayCall(t); err != nil {`, `	if err = s.mayCall(t); false {`,
		"./mcp", "TestBatchIsNoWayAround|TestScriptIsNoWayAround",
	},
	{
		"Uploads are regular files in the one configured directory", "internal/upload/read.go",
		`	case !filepath.IsLocal(name):
		return "", outside(dir, path)`, `	case !filepath.IsLocal(name):
		return filepath.Base(path), nil`,
		"./internal/upload", "TestRead$",
	},
	{
		"Reading or changing the values of cookies and storage needs the storage grant", "policy/wrap_storage.go",
		`		return []grant{grantStorage}`, `		return nil`,
		"./policy", "TestWrapGrantsByArgument|TestEveryMethodIsGuarded",
	},
	{
		"Reading or changing the values of cookies and storage needs the storage grant", "internal/statefile/statefile.go",
		`	if !plainName.MatchString(base) {`, `	if base == "" {`,
		"./internal/statefile", "TestHostileNames",
	},
	{
		"The audit log contains no page text, no arguments, and only the origin of a URL", "audit/origin.go",
		`	origin := u.Scheme + "://" + u.Host`, `	origin := u.Scheme + "://" + u.Host + u.Path`,
		"./audit", "TestOrigin",
	},
	{
		"While the audit log cannot be written, only reads are allowed", "mcp/audit.go",
		`	if a.to.Ready() == nil {`, `	if a != nil {`,
		"./mcp", "TestAuditOutage",
	},
	{
		"Calls per minute, open tabs", "mcp/limits.go",
		`	if n <= s.maxResult {`, `	if n >= 0 {`,
		"./mcp", "TestMaxResult",
	},
}
