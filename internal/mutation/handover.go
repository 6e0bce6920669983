package mutation

var handovers = promises{
	"A page that is handed over to the user is blocked for all clients": {
		{
			File: "internal/page/call_queue.go",
			Old:  "		handedOver := q.group.handedOver()\n", New: "		handedOver := false\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/handover",
		},
		{
			File: "internal/record/recorder.go",
			Old:  "	if r.log != nil && !r.paused {", New: "	if r.log != nil {",
			Package: "./executor/chromium", Test: "TestExecutor/.*/handover",
		},
		{
			File: "relay/handover.go",
			Old:  "	if c.handedOver(cmd.session) {", New: "	if false {",
			Test: "TestHandedOverPage",
		},
		{
			File: "relay/events.go",
			Old:  "	if c.handedOver(s) && !c.forwardDuringHandover(ctx, s, m) {", New: "	if false {",
			Test: "TestHandedOverPage",
		},
		{
			File: "relay/client.go",
			Old:  "	case m.Error == nil && c.checkHandover(cmd) != nil:", New: "	case false:",
			Test: "TestHandedOverPage",
		},
		{
			File: "relay/release.go",
			Old:  "	if unchanged {", New: "	if true || unchanged {",
			Test: "TestSettingsDuringHandover",
		},
		{
			File: "relay/events.go",
			Old:  "	if c.requests.isUnseen(m) {", New: "	if false {",
			Test: "TestRequestsDuringHandover",
		},
		{
			File: "relay/methods.go",
			Old:  "audited(checkKnownRequest)", New: "audited(nil)",
			Test: "TestRequestsDuringHandover",
		},
		{
			File: "internal/page/handover.go",
			Old:  "	discardMessages(limit, t.tree)\n", New: "",
			Package: "./executor/chromium", Test: "TestCDPClientHandover",
		},
		{
			File: "relay/handover.go",
			Old:  `		e["userInput"] = "" //`, New: "		//",
			Test: "TestEntriesDuringHandover",
		},
		{
			File: "relay/handover.go",
			Old:  "	seen := err == nil && !c.browser.conn.HandedOver(frame)\n", New: "	seen := err == nil || frame != \"\"\n",
			Test: "TestEntriesDuringHandover",
		},
		{
			File: "executor/chromium/downloads.go",
			Old:  "tab != nil && tab.Page.HandedOverSince(start)", New: "tab != nil && start.IsZero()",
			Test: "TestExecutor/.*/handover",
		},
	},
	"What the user enters in a page that is handed over": {
		{
			File: "internal/page/secret.go",
			Old:  "	if len(fields) > 0 || len(f.entered.Of(f.client.Tree.Documents())) > 0 {", New: "	if false {",
			Package: "./executor/chromium", Test: "TestExecutor/.*/handover",
		},
		{
			File: "internal/page/handover.go",
			Old:  "	t.entered.HandoverEnded(s, docs)\n", New: "",
			Test: "TestDocumentKnownAfterHandover",
		},
		{
			File: "internal/session/page.go",
			Old:  "	v.Entered.Mask(result)\n", New: "",
			Package: "./executor/chromium", Test: "TestExecutor/.*/handover",
		},
		{
			File: "internal/page/entered.go",
			Old:  "	err := e.tab.entered.CheckMasked(d, op)\n", New: "	var err error\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/handover",
		},
		{
			File: "internal/page/frame_observer.go",
			Old:  "	o.recordArrival(s, f, restored, navigation)\n", New: "",
			Package: "./executor/chromium", Test: "TestExecutor/.*/handover",
		},
		{
			File: "internal/page/opener_group.go",
			Old:  "	if before.entered != nil {", New: "	if false {",
			Test: "^TestSharedAgainAfterHandover$",
		},
		{
			File: "internal/entered/values.go",
			Old:  "	if v.arrival == ArrivalNew {\n		worlds = nil\n", New: "	if true {\n		worlds = nil\n",
			Test: "TestReturnedDocument",
		},
		{
			File: "internal/entered/masker.go",
			Old:  "	s = m.Mask(s)\n", New: "",
			Test: "TestMaskValue",
		},
	},
	"Only the user answers the question of a handover": {
		{
			File: "mcp/handover.go",
			Old:  "		if q == nil || !q.byRepeatedCall() {", New: "		for _, q = range h.open {\n		}\n		if id = q.ID; !q.byRepeatedCall() {",
			Test: "TestForgedAnswer",
		},
		{
			File: "mcp/people.go",
			Old:  "mcptext.OneLine(a.Message), a.Tab", New: "a.Message, a.Tab",
			Test: "TestAskUserMessage",
		},
		{
			File: "mcp/handover.go",
			Old:  "	h.limit.Allow() //", New: "	//",
			Test: "TestAskUserLimits",
		},
		{
			File: "internal/handover/handover.go",
			Old:  "p.HandoverAsker == agent && p.Tab == tab", New: "p.Session == agent.Session && p.Tab == tab",
			Test: "TestOtherSession",
		},
		{
			File: "extension/handovers.js",
			Old:  "const keyOf = (server, id) => JSON.stringify([server, id]);", New: "const keyOf = (server, id) => JSON.stringify(['', id]);",
			Test: "an answer is kept for the next command of the same server only",
		},
	},
}
