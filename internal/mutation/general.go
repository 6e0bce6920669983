package mutation

var general = []Mutation{
	// Decisions.
	{
		"Prompts are only for a public site", "policy/runtime_grants.go",
		`	case executor.PermitMutations, executor.PermitDownloads:`, `	case executor.PermitMutations, executor.PermitDownloads, "eval":`,
		"./policy", "TestGrantRejectsUngrantable",
	},
	{
		"Prompts are only for a public site", "policy/runtime_grants.go",
		`	return icann && strings.Contains(s.host, ".") && !reservedTLDs[top]`, `	return icann || strings.Contains(s.host, ".") && !reservedTLDs[top]`,
		"./policy", "TestGrantRejectsUngrantable|TestMissingPermission",
	},
	{
		"Prompts are only for a public site", "policy/runtime_grants.go",
		`		added.call = callOf(ctx)`, `		_ = callOf(ctx)`,
		"./policy", "TestOnceGrant",
	},
	{
		"Prompts are only for a public site", "policy/runtime_grants.go",
		`		added.client = c.client`, `		_ = c.client`,
		"./policy", "TestClientGrant",
	},
	{
		"Prompts are only for a public site", "internal/prompting/prompter.go",
		`other.Site == p.Site && reflect.DeepEqual(other.Args, p.Args)`, `reflect.DeepEqual(p.Args, p.Args)`,
		"./mcp", "TestOnceGrantLimitedToCall",
	},
	{
		"Nothing fails open", "policy/policy.go",
		`	return p == nil || (len(p.allow) == 0 && !p.config.AllDomains)`, `	return p == nil`,
		"./policy", "TestZeroPolicyDenies",
	},
	{
		"Nothing fails open", "internal/egress/egress.go",
		`var errNoPolicy = errors.New("no policy is set")`, `var errNoPolicy = errors.Join()`,
		"./internal/egress", "TestNilPolicyDenies",
	},
	{
		"No call acts on an error page or a warning", "executor/gate.go",
		`	if !a.ErrorPage {`, `	if true {`,
		"./policy", "TestGuardErrorPage",
	},
	{
		"The body and the headers of a response of another site, with which a service worker answers", "internal/record/requests.go",
		`	return q.byWorker && q.Type`, `	return false && q.Type`,
		"./executor/chromium", "^TestWorkerBodies$",
	},
	{
		"The body and the headers of a response of another site, with which a service worker answers", "relay/requests.go",
		`opaque := e.Response.FromServiceWorker && e.Type`, `opaque := false && e.Type`,
		"./relay", "^TestServiceWorkerResponse$",
	},
	{
		"The body and the headers of a response of another site, with which a service worker answers", "extension/page_requests.js",
		`if (request) request.opaque = Boolean(`, `if (request) request.opaque = false && Boolean(`,
		"extension/test", "a client reads the response to a request after its event, unless a service worker may have it from another site",
	},
	{
		"An error in text of a denied site that a page runs as a script", "internal/record/page_errors.go",
		`	if s == "" || s != unknownSource && url(string(s)) {`, `	if url != nil {`,
		"./executor/chromium", "^TestScriptErrors$",
	},
	{
		"No call acts on an error page or a warning", "extension/methods.js",
		`if (s.url.startsWith('chrome-error:') && params.type`, `if (false && params.type`,
		"extension/test", "commands are allowed or denied",
	},
	{
		"`reload`, `back`, `forward` and scripts that reload send a form again", "internal/interception/guard.go",
		`return !known || !n.HistoryStep || g.blanks`, `return false`,
		"./internal/page/pagesuite", "^TestSuite$/.*/^resubmission$/reload_sends_a_form_again_only_with_resubmit",
	},
	{
		"`reload`, `back`, `forward` and scripts that reload send a form again", "policy/guard_navigate.go",
		`checkCall(ctx, op, p.tab, grantMutations)`, `checkCall(ctx, op, p.tab)`,
		"./policy", "TestWrapGrantsByArgument",
	},
	{
		"The user's clipboard is used only with the clipboard grant", "policy/guard.go",
		`		return p.checkClipboard(a.Origin)`, `		return nil`,
		"./policy", "TestClipboard",
	},
	{
		"The user's clipboard is used only with the clipboard grant", "policy/denial.go",
		`slices.Contains(p.clipboard, origin) {`, `len(slices.Clone(p.clipboard)) > 0 {`,
		"./policy", "TestClipboard",
	},
	{
		"The user's clipboard is used only with the clipboard grant", "executor/chromium/tabs.go",
		`UserClipboard:      in.proc == nil || !in.proc.Headless,`, `UserClipboard:      false,`,
		"./executor/chromium", "^TestAttachedClipboard$",
	},
	{
		"The user's clipboard is used only with the clipboard grant", "internal/launch/flags.go",
		`middleClickPasteAllowed=false`, `middleClickPasteAllowed=true`,
		"./internal/launch", "TestArgumentsUnderProxy",
	},
	{
		"Every method that accesses a page", "policy/guard_page.go",
		`	if err := p.x.checkCall(ctx, "cdp", p.tab, grantEval); err != nil {`, `	if err := p.x.checkCall(ctx, "cdp", p.tab); err != nil {`,
		"./policy", "TestEveryMethodIsGuarded",
	},
	{
		"Every method that accesses a page", "policy/guard_read.go",
		`	if denied := p.x.checkOrigin(ctx, op, p.tab, origin(r)); denied != nil {`, `	if denied := p.x.checkOrigin(ctx, op, p.tab, origin(r)); false {`,
		"./policy", "TestFinalURLCheckedForEveryMethod|TestWrapResults",
	},
	{
		"A caller's URL is accepted only", "policy/url.go",
		`		case c == '\\':`, `		case false:`,
		"./policy", "TestParseURLRejects",
	},
	{
		"A caller's URL is accepted only", "policy/url.go",
		`	if hasDotSegment(path) {
		return badURL(`, `	if false && hasDotSegment(path) {
		return badURL(`,
		"./policy", "TestParseURLRejects",
	},
	{
		"Server and extension make the same", "extension/policy.js",
		`if (local && rules.ownPorts.has(site.port))`, `if (rules.ownPorts.has(-1))`,
		"extension/test", "documents are allowed and denied as in package policy",
	},
	{
		"Patterns are strict", "policy/pattern.go",
		`	if !p.addr.IsValid() && isPublicSuffix(p.host, p.subdomains) {`, `	if false {`,
		"./policy", "TestPatternErrors",
	},
	{
		"The block list overrides the allow list", "policy/policy.go",
		`	for _, b := range p.block {
		if b.denies(s, matchIfPathUnknown) {`, `	for _, b := range p.block[:0] {
		if b.denies(s, matchIfPathUnknown) {`,
		"./policy", "TestCheckURL",
	},
	{
		"The block list overrides the allow list", "policy/policy.go",
		`(!s.loopback() || p.allowsPrivate(loopbackOf(s)))`, `true`,
		"./policy", "TestAllDomains",
	},
	{
		"The origin is the one that the browser", "internal/frames/frame.go",
		`	return executor.OriginOpaque
}`, `	return executor.OriginInternal
}`,
		"./internal/frames", "TestEffectiveOrigin",
	},
	{
		"The gate checks the tab, frame", "internal/frames/client.go",
		`	return d, c.Check(ctx, d, op, "")`, `	return d, nil`,
		"./executor/chromium", "TestExecutor/.*/gate$/^denied_document_is_hidden_from_all_methods$",
	},
	{
		"Scripts are bound to the document that was checked", "internal/evaluate/evaluate.go",
		`"uniqueContextId": d.MainWorld, "awaitPromise": await`, `"awaitPromise": await`,
		"./executor/chromium", "TestExecutor/.*/gate/page_navigates_while_the_gate_decides_about_eval$",
	},
	{
		"Every hop is checked again", "internal/egress/serve.go",
		`		return &deniedError{err}`, `		return nil`,
		"./internal/egress", "TestRedirectRechecked|TestForwardDenied",
	},

	// The network.
	{
		"The managed browser itself sends no request to", "internal/launch/flags.go",
		`		"--proxy-bypass-list=<-loopback>", // loopback also uses the proxy
`, "",
		"./internal/launch", "TestArgumentsUnderProxy",
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
		"./internal/egress", "TestDialsCheckedAddress",
	},
	{
		"A host name in a pattern does not allow a private", "policy/network.go",
		`	case p.allowsPrivate(addr) && (p.listed(s) || loadNamed):`, `	case p.allowsPrivate(addr) || p.named(s):`,
		"./policy", "TestCheckAddr",
	},
	{
		"Pages cannot reach our own ports.", "policy/policy.go",
		`	if (s.loopback() || s.addr.IsValid()) && p.owns(s.port) {`, `	if false {`,
		"./policy", "TestCheckHost|TestCheckURL",
	},
	{
		"Tunnels, WebSockets and connections through", "internal/egress/tunnel.go",
		`p.checkPolicy("", t, "")`, `p.checkPolicy("", hostPort{host: "allowed.test", port: 443}, "")`,
		"./internal/egress", "TestWebSocketByConnect|TestStrictTargets|TestTLS|TestForwardDenied",
	},

	{
		"In the user's Chrome, network rules apply to a shared tab", "extension/network_rules.js",
		`  for (const regexFilter of PRIVATE) add(`, `  for (const regexFilter of []) add(`,
		"extension/test", "network rules match the document decisions",
	},
	{
		"With `same`, no request reaches a denied", "policy/network.go",
		`	if !p.listed(s) && !p.allowsSubresource(s) {`, `	if false && !p.listed(s) && !p.allowsSubresource(s) {`,
		"./executor/chromium", "TestLeaks$",
	},

	// What is reported.
	{
		"Reads omit denied frames, also", "internal/frames/client.go",
		`		case denied[d.Parent], d.World != "" && c.Check(ctx, d, op, "") != nil:`, `		case d.IsTop() && c.Check(ctx, d, op, "") != nil:`,
		"./executor/chromium", "TestExecutor/.*/denied_frames/",
	},
	{
		"Lists, events, titles, changes and errors", "policy/guard_tabs.go",
		`			t.URL, t.Title = executor.DeniedURL, ""`, `			t.URL = executor.DeniedURL`,
		"./policy", "TestWrapResults",
	},
	{
		"No tool accepts a URL for cookies", "extension/methods.js",
		`if (origin === '' || !urls.every((url) => typeof url === 'string' && originOf(url) === origin)) {`, `if (origin === '') {`,
		"extension/test", "commands are allowed or denied",
	},
	{
		"Values of passwords and cards are masked", "internal/page/js/secret_fields.js",
		`  if (tag !== 'input' && tag !== 'textarea' && tag !== 'select') return false;
  const type`, `  if (tag !== 'select') return false;
  const type`,
		"./internal/reading/readingsuite", "TestSuite/.*/snapshot/passwords_are_masked$",
	},
	{
		"Page text is fenced with a nonce", "internal/mcptext/fence.go",
		`	for strings.Contains(folded, nonce) {`, `	for false && strings.Contains(folded, nonce) {`,
		"./internal/mcptext", "TestFenceHostileText",
	},
	{
		"Page text is fenced with a nonce", "internal/mcptext/fence.go",
		`		if r == 0x1b || r == 0x9b || r == 0x9d {`, `		if r == 0x9b || r == 0x9d {`,
		"./internal/mcptext", "TestClean",
	},

	// Files.
	{
		"Downloads stay in their directory", "internal/download/name.go",
		`	name = name[strings.LastIndexAny(name, ` + "`/\\`" + `)+1:]
`, "",
		"./internal/download", "TestCleanName",
	},
	{
		"Downloads stay in their directory", "internal/download/name.go",
		`		if executable(next) {`, `		if false {`,
		"./internal/download", "TestExecutableDownloadsRenamed",
	},
	{
		"Downloads stay in their directory", "internal/download/dir.go",
		`	if n > maxBytes {`, `	if false {`,
		"./internal/download", "TestSaveSizeLimit",
	},
	{
		"A page saves no file without the downloads", "policy/denial.go",
		`return c.Downloads }`, `return true }`,
		"./policy", "TestFinalURLCheckedForEveryMethod|TestGuardCheck|TestEveryMethodIsGuarded",
	},
	{
		"A download is not reported", "internal/download/save.go",
		`	case src.err != nil:
		return incompleteError(src.err, n)`, `	case src.err != nil:
		_ = n
		return nil`,
		"./internal/download", "TestFetchInterrupted|TestSaveReaderFails",
	},

	// Limits and ends.
	{
		"Every call returns by its deadline", "internal/cdpconn/session.go",
		`	return context.WithTimeout(ctx, DefaultCallTimeout)`, `	return ctx, func() {}`,
		"./internal/cdpconn", "^TestUnansweredCalls$",
	},
	{
		"If a browser, renderer, server or", "executor/chromium/backend.go",
		`		b.instance = nil
		b.lastExitErr, b.cleanupDone`, `		b.lastExitErr, b.cleanupDone`,
		"./executor/chromium", "TestKilledBrowserIsReplaced",
	},
	{
		"After its network process crashed, a browser", "executor/chromium/proxy_warmup.go",
		`	pc.known = pc.known && stored`, ``,
		"./executor/chromium", "TestKilledHelpers",
	},
	{
		"After hundreds of calls on hostile pages, the server uses little memory and leaves no goroutine, process, socket or file", "internal/owneronly/readwrite.go",
		`	if f != nil && !f.Replaced() {`, `	if false {`,
		"./cmd/chrome-mcp", "TestServeCleansUp",
	},
	{
		"Setting the clock closes no bridge", "bridge/handshakefile.go",
		`	if r.Process != "" {`, `	if false && r.Process != "" {`,
		"./bridge", "TestClockJump",
	},
	{
		"A browser that we start exits with the", "internal/profiles/orphan.go",
		`	if !id.alive() || !Uses(id.PID, dir) {`, `	if true {`,
		"./executor/chromium", "TestOrphanOnNamedProfile",
	},

	// The bridge.
	{
		"Only our extension can connect", "bridge/handler.go",
		`	case !slices.Contains(s.origins(), r.Header.Get("Origin")):`, `	case slices.Contains(s.origins(), ""):`,
		"./bridge", "TestAllowedOriginsAndHosts",
	},
	{
		"Only our extension can connect", "bridge/handler.go",
		`		host != "127.0.0.1" && host != "localhost" && host != "::1":`, `		host == "":`,
		"./bridge", "TestAllowedOriginsAndHosts",
	},
	{
		"Both sides prove that they know the token", "bridge/handshake.go",
		`	case !t.VerifyClient(key, proof.MAC):`, `	case proof.MAC == "":`,
		"./bridge", "TestBadInput",
	},
	{
		"Junk, floods, timeouts", "bridge/handshake.go",
		`	st.SetReadLimit(wire.MaxHandshakeMessage)`, `	st.SetReadLimit(2 * wire.MaxHandshakeMessage)`,
		"./bridge", "TestBadInput|TestRawSockets|TestRawJunk",
	},
	{
		"The token is in no log", "bridge/handshake.go",
		`"extension paired", "installation", hello.Installation`, `"extension paired", "installation", hello.Installation, "key", wire.EncodeKey(newKey)`,
		"./bridge", "TestSecretsStaySecret",
	},
	{
		"Only the user can access the handshake file", "bridge/data_dir.go",
		`		err = owneronly.CheckDir(info)`, `		_ = info`,
		"./bridge", "TestPrivateDirs",
	},
	{
		"Only the user can access the handshake file", "internal/owneronly/readwrite.go",
		`	return err != nil || !os.SameFile(info, f.info)`, `	return info == nil && err == nil`,
		"./bridge", "TestDeletedHandshakeFileClosesConnections",
	},
	{
		"A pairing string works once", "bridge/pairing.go",
		`	return age > PairingLifetime || age < -PairingLifetime`, `	return age < -PairingLifetime`,
		"./bridge", "TestPairingExpires",
	},
	{
		"A pairing string works once", "bridge/pairing.go",
		`return len(installations) == 0 || slices.Contains(installations, r.Installation)`, `return len(installations) > 1`,
		"./bridge", "TestUnpair",
	},
	{
		"The extension makes its own decisions", "extension/methods.js",
		`  const why = decide(s.rules, parsed.href);
  if (why) throw new CommandError('POLICY_DENIED', why);
  return { ...params, url: parsed.href };`, `  return { ...params, url: parsed.href };`,
		"extension/test", "commands are allowed or denied",
	},

	// Settings, grants and records.
	{
		"The server does not start with an invalid policy file, flag or environment variable", "policy/file.go",
		`			return c, fmt.Errorf("unknown key %q; the keys are %s", key, keyList(fields))`, `			continue`,
		"./policy", "TestParseFileErrors",
	},
	{
		"The policy checks each call of a batch or a script separately", "mcp/dispatch.go",
		`	if err := r.mayCall(t); err != nil {`, `	if err := r.mayCall(t); false {`,
		"./mcp", "TestBatchEnforcesPolicy|TestScriptEnforcesPolicy",
	},
	{
		"Uploads are regular files in the one configured directory", "internal/upload/read.go",
		`	case !filepath.IsLocal(name):
		return "", outsideDirError(dir, path)`, `	case !filepath.IsLocal(name):
		return filepath.Base(path), nil`,
		"./internal/upload", "TestRead$",
	},
	{
		"Reading or changing the values of cookies and storage needs the storage grant", "policy/guard_storage.go",
		`		return []grant{grantStorage}`, `		return nil`,
		"./policy", "TestWrapGrantsByArgument|TestEveryMethodIsGuarded",
	},
	{
		"Reading or changing the values of cookies and storage needs the storage grant", "internal/statefile/statefile.go",
		`	if !plainName().MatchString(base) {`, `	if base == "" {`,
		"./internal/statefile", "TestHostileNames",
	},
	{
		"The audit log contains no page text, no arguments, and only the origin of a URL", "audit/origin.go",
		`	origin := u.Scheme + "://" + u.Host`, `	origin := u.Scheme + "://" + u.Host + u.Path`,
		"./audit", "TestOrigin",
	},
	{
		"While the audit log cannot be written, only reads are allowed", "mcp/audit.go",
		`!runsScript(args) || a.writes() {`, `!runsScript(args) || a != nil {`,
		"./mcp", "TestAuditOutage",
	},
	{
		"Calls per minute, open tabs", "mcp/result_size.go",
		`	if n <= r.opts.MaxResultBytes {`, `	if n >= 0 {`,
		"./mcp", "TestMaxResult",
	},
}
