package relay

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestAuditCounts checks that equal commands are counted instead of written, and that the counts are
// written after a minute and at the end.
func TestAuditCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &entries{}
		a := newAuditor(log)
		c := &Client{ID: "1", Name: "Test/1"}
		for range 1000 {
			a.record(c, "cdp Runtime.evaluate", "cdp:r:1", "http://a.test", nil)
		}
		if got := log.of("cdp Runtime.evaluate"); len(got) != 1 || got[0].Count != 0 {
			t.Fatalf("%+v", got)
		}
		time.Sleep(countWindow + time.Second)
		synctest.Wait()
		a.record(c, "cdp Runtime.evaluate", "cdp:r:1", "http://a.test", denied("", "x"))
		a.record(c, "cdp Runtime.evaluate", "cdp:r:1", "http://a.test", nil)
		a.record(c, "cdp Runtime.evaluate", "cdp:r:1", "http://a.test", nil)
		a.flush()
		if got := log.of("cdp Runtime.evaluate"); len(got) != 5 || got[1].Count != 999 || got[2].Decision != audit.Denied || got[4].Count != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestAudit checks which commands are recorded, that the entries have no payload, and that no
// command acts while the log is not writable.
func TestAudit(t *testing.T) {
	log := &entries{}
	c, conn := attachPage(t, Options{Browser: newFake(), Audit: log})
	c.call("S", "Runtime.enable", nil)
	c.call("S", "Runtime.evaluate", map[string]any{"expression": "secret"})
	c.denied("S", "Page.navigate", map[string]any{"url": "http://secret.test/path"}, "secret.test")
	c.denied("S", "Page.navigate", map[string]any{"url": "no scheme"}, "Invalid parameters")
	c.denied("S", "Tracing.start", nil, "not available")
	c.denied("S", "Secret.one", nil, "not available")
	c.denied("S", "Secret.two", nil, "not available")
	c.call("S", "IO.read", map[string]any{"handle": "secret"})
	c.call("S", "Security.setIgnoreCertificateErrors", map[string]any{"ignore": true})
	c.denied("S", "Target.closeTarget", map[string]any{"targetId": "X"}, noTarget)
	for _, tool := range []string{"cdp Runtime.enable", "cdp Secret.one"} {
		if len(log.of(tool)) != 0 {
			t.Errorf("%s is recorded", tool)
		}
	}
	for tool, want := range map[string]audit.Entry{
		"cdp Runtime.evaluate":                    {Decision: audit.Allowed},
		"cdp Page.navigate":                       {Decision: audit.Denied, Code: "POLICY_DENIED"},
		"cdp Tracing.start":                       {Decision: audit.Denied, Code: "BAD_ARGS"},
		"cdp unknown command":                     {Decision: audit.Denied, Code: "BAD_ARGS"}, // counted
		"cdp IO.read":                             {Decision: audit.Allowed},
		"cdp Security.setIgnoreCertificateErrors": {Decision: audit.Allowed},
		"cdp Target.closeTarget":                  {Code: "BAD_ARGS"},
	} {
		got := log.of(tool)
		if tool == "cdp Page.navigate" && len(got) == 2 && got[1].Decision == "" && got[1].Code == "BAD_ARGS" {
			got = got[:1] // the second was invalid
		}
		if len(got) != 1 || got[0].Session == "" {
			t.Errorf("%s: %+v", tool, got)
			continue
		}
		want.Event, want.Client, want.Session, want.Tool, want.Origin = audit.EventCall, "Test/1", got[0].Session, tool, "http://127.0.0.1"
		want.Tab = "cdp:fake:P"
		if got[0] != want {
			t.Errorf("%s: %+v, want %+v", tool, got[0], want)
		}
	}
	// The origin is that of the current document, also if the client does not observe it.
	conn.emit("watch", "Target.targetInfoChanged", map[string]any{"targetInfo": target{ID: "P", Type: "page", URL: "http://127.0.0.1:81/x"}})
	conn.emit("S", "Page.loadEventFired", nil)
	c.event("Page.loadEventFired", nil)
	c.call("S", "DOM.getDocument", nil)
	if got := log.of("cdp DOM.getDocument"); len(got) != 1 || got[0].Origin != "http://127.0.0.1:81" {
		t.Errorf("%+v", got)
	}
	// A command to the browser names the page, which need not be a tab.
	for target, tab := range map[string]string{"P2": "cdp:fake:P2", "other": ""} {
		c.denied("", "Target.activateTarget", map[string]any{"targetId": target}, noTarget)
		if got := log.of("cdp Target.activateTarget"); len(got) == 0 || got[len(got)-1].Tab != tab {
			t.Errorf("%s: %+v, want tab %q", target, got, tab)
		}
	}
	log.mu.Lock()
	log.failing = errors.New("disk full")
	log.mu.Unlock()
	c.denied("S", "Runtime.evaluate", map[string]any{"expression": "1"}, "audit log is not writable")
	c.call("S", "Runtime.enable", nil)
}

// TestAuditOfRequests checks that HTTP requests which act are recorded with the client's name, and
// fail while the log is not writable.
func TestAuditOfRequests(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		switch m.Method {
		case "Target.getTargets":
			c.reply(m, map[string]any{"targetInfos": []target{{ID: "P", Type: "page", URL: "http://127.0.0.1/x"}}})
		case "Target.createTarget":
			c.reply(m, map[string]any{"targetId": "P2"})
		default:
			return false
		}
		return true
	}
	log := &entries{}
	_, address := serve(t, Options{Browser: b, Audit: log})
	asTest := func(r *http.Request) { r.Header.Set("User-Agent", "Test/1") }
	requests := []struct{ method, path, tool, tab, origin string }{
		{"PUT", "/json/new?http://127.0.0.1/y", "cdp /json/new", "cdp:fake:P2", "http://127.0.0.1"},
		{"GET", "/json/activate/P", "cdp Target.activateTarget", "cdp:fake:P", "http://127.0.0.1"},
		{"GET", "/json/close/P", "cdp Target.closeTarget", "cdp:fake:P", "http://127.0.0.1"},
	}
	for _, r := range requests {
		if status, body := get(t, r.method, address+r.path, asTest); status != http.StatusOK {
			t.Errorf("%s: %d %s", r.path, status, body)
		}
		if got := log.of(r.tool); len(got) != 1 || got[0].Client != "Test/1" || got[0].Tab != r.tab || got[0].Origin != r.origin || got[0].Decision != audit.Allowed {
			t.Errorf("%s: %+v", r.path, got)
		}
	}
	if status, _ := get(t, "PUT", address+"/json/new?127.0.0.1", asTest); status != http.StatusBadRequest {
		t.Errorf("a URL without a scheme: %d", status)
	}
	if got := log.of("cdp /json/new"); len(got) != 2 || got[1].Code != "BAD_ARGS" {
		t.Errorf("a URL without a scheme: %+v", got)
	}
	log.mu.Lock()
	log.failing = errors.New("disk full")
	log.mu.Unlock()
	before := len(b.sent())
	for _, r := range requests {
		if status, body := get(t, r.method, address+r.path, asTest); status != http.StatusForbidden {
			t.Errorf("%s without an audit log: %d %s", r.path, status, body)
		}
	}
	if sent := b.sent()[before:]; slices.Contains(sent, "Target.createTarget") || slices.Contains(sent, "Target.closeTarget") {
		t.Errorf("sent without an audit log: %v", sent)
	}
}
