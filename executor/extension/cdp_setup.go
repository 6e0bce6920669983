package extension

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A client that connects sends setup commands to every page, and waits for their results. They are
// answered from what is known without the debugger, and recorded. The first other command attaches
// the debugger and sends the recorded ones.

// A setup is the state of a session whose commands are not sent to the browser yet, and of what was
// reported to the client in that time.
type setup struct {
	commands  []executor.CDPMessage // to be sent when the debugger is attached
	waiting   []executor.CDPMessage // to be run after commands
	attaching bool
	replaying bool // commands are being sent
	contexts  []*placeholder
	scripts   []placeholderScript
	document  int // number of the current document
}

// A setupAnswer answers a setup command. It reports whether it can.
type setupAnswer func(s *cdpSession, m executor.CDPMessage) (result any, ok bool)

// setupCommands are the commands that are answered without the debugger: what Playwright 1.65 and
// Puppeteer 25 send to every page when they connect, and more of the same kind.
var setupCommands = map[string]setupAnswer{
	"CSS.enable":                            succeed,
	"DOM.enable":                            succeed,
	"Emulation.setDeviceMetricsOverride":    succeed,
	"Emulation.setEmulatedMedia":            succeed,
	"Emulation.setFocusEmulationEnabled":    succeed,
	"Emulation.setGeolocationOverride":      succeed,
	"Emulation.setTouchEmulationEnabled":    succeed,
	"Emulation.setUserAgentOverride":        succeed,
	"Inspector.enable":                      succeed,
	"Log.enable":                            succeed,
	"Network.enable":                        succeed,
	"Network.setBypassServiceWorker":        succeed,
	"Network.setCacheDisabled":              succeed,
	"Network.setExtraHTTPHeaders":           succeed,
	"Page.addScriptToEvaluateOnNewDocument": addPlaceholderScript,
	"Page.createIsolatedWorld":              createPlaceholderWorld,
	"Page.enable":                           succeed,
	"Page.getFrameTree":                     placeholderFrameTree,
	"Page.setFontFamilies":                  succeed,
	"Page.setInterceptFileChooserDialog":    succeed,
	"Page.setLifecycleEventsEnabled":        enableLifecycle,
	"Performance.enable":                    succeed,
	"Runtime.addBinding":                    succeed,
	"Runtime.enable":                        enableRuntime,
	"Runtime.runIfWaitingForDebugger":       succeed,
	"Target.setAutoAttach":                  succeed,
}

// succeed returns no result: the command has its effect when the debugger is attached.
func succeed(*cdpSession, executor.CDPMessage) (any, bool) { return nil, true }

// deferCommand answers a setup command, or lets the command wait until the debugger is attached.
func (s *cdpSession) deferCommand(m executor.CDPMessage) {
	if answer := setupCommands[m.Method]; answer != nil && !s.setup.attaching && !s.setup.replaying {
		if result, ok := answer(s, m); ok {
			if m.Method != "Page.createIsolatedWorld" && m.Method != "Runtime.runIfWaitingForDebugger" {
				s.setup.commands = append(s.setup.commands, m)
			}
			s.reply(m, result)
			return
		}
	}
	if s.setup.replaying && m.Method == "Page.handleJavaScriptDialog" { // a page with a dialog answers the others later
		s.run(m, func(result json.RawMessage, err *executor.CDPError) { s.answer(m, result, err) })
		return
	}
	s.setup.waiting = append(s.setup.waiting, m)
	if !s.setup.attaching && !s.setup.replaying {
		s.setup.attaching = true
		s.tab.attach(s)
	}
}

// attachFailed fails the commands that wait for the debugger. Later commands try again.
func (s *cdpSession) attachFailed(err error) {
	s.setup.attaching = false
	waiting := s.setup.waiting
	s.setup.waiting = nil
	for _, m := range waiting {
		s.fail(m, cdpError(err))
	}
}

// replaySetup sends the recorded commands, and runs the waiting ones when all have results.
func (s *cdpSession) replaySetup() {
	s.setup.attaching, s.setup.replaying = false, true
	commands := s.setup.commands
	s.setup.commands = nil
	for _, x := range s.setup.contexts {
		if x.name != "" {
			commands = append(commands, executor.CDPMessage{Method: "Page.createIsolatedWorld",
				Params: mustJSON(map[string]any{"frameId": s.tab.info.TargetID, "worldName": x.name})})
		}
	}
	var later []executor.CDPMessage // after the others, so that the origins of all frames are known
	s.runAll(commands, func(m executor.CDPMessage, script int, result json.RawMessage) {
		s.replayed(m, script, result, &later)
	}, func() {
		s.runAll(later, func(executor.CDPMessage, int, json.RawMessage) {}, s.replayDone)
	})
}

// runAll runs commands. It calls each with the results, and with the number of the script among the
// scripts for new documents. Then it calls done, unless s is detached.
func (s *cdpSession) runAll(commands []executor.CDPMessage, each func(m executor.CDPMessage, script int, result json.RawMessage), done func()) {
	remaining := len(commands) + 1
	finish := func() {
		if remaining--; remaining == 0 && !s.detached {
			done()
		}
	}
	scripts := 0
	for _, m := range commands {
		script := scripts
		if m.Method == "Page.addScriptToEvaluateOnNewDocument" {
			scripts++
		}
		s.run(m, func(result json.RawMessage, err *executor.CDPError) {
			if err != nil {
				s.client.hub.backend.log.Debug("a setup command of a CDP client failed", "method", m.Method, "error", err.Message)
			} else {
				each(m, script, result)
			}
			finish()
		})
	}
	finish()
}

// replayDone runs the commands that wait for the debugger.
func (s *cdpSession) replayDone() {
	s.setup.replaying, s.ready = false, true
	s.tab.keepRendering()
	waiting := s.setup.waiting
	s.setup.waiting = nil
	for _, m := range waiting {
		if !s.detached {
			s.command(m)
		}
	}
}

// replayed handles the result of a recorded command. It adds the commands that follow from it to
// later.
func (s *cdpSession) replayed(m executor.CDPMessage, script int, result json.RawMessage, later *[]executor.CDPMessage) {
	switch m.Method {
	case "Page.getFrameTree":
		for _, child := range member[frameTree](result, "frameTree").Children {
			s.frameAppeared(child, later)
		}
	case "Page.addScriptToEvaluateOnNewDocument":
		if script < len(s.setup.scripts) {
			s.setup.scripts[script].realID = member[string](result, "identifier")
		}
	case "Page.createIsolatedWorld":
		name := member[string](m.Params, "worldName")
		for _, x := range s.setup.contexts {
			if x.name == name && x.name != "" && x.realID == 0 {
				x.realID = member[int64](result, "executionContextId")
			}
		}
	}
}

// A frameTree is Page.FrameTree.
type frameTree struct {
	Frame    json.RawMessage `json:"frame"`
	Children []frameTree     `json:"childFrames"`
}

// frameAppeared reports the frames that getFrameTree left out without the debugger. A client expects
// its isolated worlds in frames that appear after its scripts for new documents.
func (s *cdpSession) frameAppeared(tree frameTree, later *[]executor.CDPMessage) {
	id := member[string](tree.Frame, "id")
	s.event("Page.frameAttached", map[string]any{"frameId": id, "parentFrameId": member[string](tree.Frame, "parentId")})
	s.event("Page.frameNavigated", map[string]any{"frame": tree.Frame, "type": "Navigation"})
	for _, world := range s.setup.worlds() {
		*later = append(*later, executor.CDPMessage{Method: "Page.createIsolatedWorld", Params: mustJSON(map[string]any{"frameId": id, "worldName": world})})
	}
	for _, child := range tree.Children {
		s.frameAppeared(child, later)
	}
}

// worlds returns the names of the isolated worlds of the scripts for new documents.
func (su *setup) worlds() (names []string) {
	for _, script := range su.scripts {
		if !slices.Contains(names, script.world) {
			names = append(names, script.world)
		}
	}
	return names
}

// recorded reports whether a command was recorded.
func (s *cdpSession) recorded(method string) bool {
	return slices.ContainsFunc(s.setup.commands, func(m executor.CDPMessage) bool { return m.Method == method })
}

// placeholderFrame describes the main frame with what is known about it.
func (s *cdpSession) placeholderFrame() map[string]any {
	at, fragment, found := strings.Cut(s.url(), "#")
	frame := map[string]any{
		"id": s.tab.info.TargetID, "loaderId": s.loader(), "url": at, "domainAndRegistry": "", "securityOrigin": s.origin(), "mimeType": "text/html",
		"secureContextType": "InsecureScheme", "crossOriginIsolatedContextType": "NotIsolated", "gatedAPIFeatures": []string{},
	}
	if found {
		frame["urlFragment"] = "#" + fragment
	}
	return frame
}

// loader returns the loader id of the current document, until the browser reports the real one.
func (s *cdpSession) loader() string { return fmt.Sprintf("%032X", s.setup.document+1) }

// url returns the URL of the tab.
func (s *cdpSession) url() string { return cmp.Or(s.tab.info.URL, "about:blank") }

// origin returns the origin of the tab, as the browser writes it in events.
func (s *cdpSession) origin() string {
	u, err := url.Parse(s.url())
	if err != nil || u.Host == "" {
		return "://"
	}
	return u.Scheme + "://" + u.Host
}

// placeholderFrameTree returns the main frame for Page.getFrameTree. Its children are reported when
// the debugger is attached, see frameAppeared.
func placeholderFrameTree(s *cdpSession, _ executor.CDPMessage) (any, bool) {
	return map[string]any{"frameTree": map[string]any{"frame": s.placeholderFrame()}}, true
}

// enableLifecycle reports the lifecycle events of the current document, as the browser does.
func enableLifecycle(s *cdpSession, m executor.CDPMessage) (any, bool) {
	if !member[bool](m.Params, "enabled") {
		return nil, false
	}
	s.placeholderLifecycle()
	return nil, true
}

// placeholderLifecycle sends the lifecycle events of a document that is loaded.
func (s *cdpSession) placeholderLifecycle() {
	for _, name := range []string{"commit", "DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"} {
		s.event("Page.lifecycleEvent", map[string]any{"frameId": s.tab.info.TargetID, "loaderId": s.loader(), "name": name, "timestamp": 0})
	}
}

// enableRuntime reports a placeholder for the main world, and those for the isolated worlds that the
// client has created.
func enableRuntime(s *cdpSession, _ executor.CDPMessage) (any, bool) {
	if !slices.ContainsFunc(s.setup.contexts, func(x *placeholder) bool { return x.name == "" }) {
		s.setup.contexts = slices.Insert(s.setup.contexts, 0, s.newPlaceholder(""))
	}
	for _, x := range s.setup.contexts {
		s.contextCreated(x)
	}
	return nil, true
}

// newPlaceholder returns a placeholder for the world with a name, or for the main world if name is
// empty.
func (s *cdpSession) newPlaceholder(name string) *placeholder {
	s.client.hub.lastID++
	id := int64(firstPlaceholder + s.client.hub.lastID)
	return &placeholder{id: id, unique: "-" + strconv.FormatInt(id, 10) + ".1", name: name}
}

// contextCreated sends Runtime.executionContextCreated for a placeholder.
func (s *cdpSession) contextCreated(x *placeholder) {
	kind := "isolated"
	if x.name == "" {
		kind = "default"
	}
	s.event("Runtime.executionContextCreated", map[string]any{"context": map[string]any{
		"id": x.id, "uniqueId": x.unique, "origin": s.origin(), "name": x.name,
		"auxData": map[string]any{"isDefault": x.name == "", "type": kind, "frameId": s.tab.info.TargetID},
	}})
}

// createPlaceholderWorld returns the id of a placeholder for Page.createIsolatedWorld, if the world
// is in the main frame.
func createPlaceholderWorld(s *cdpSession, m executor.CDPMessage) (any, bool) {
	var p cdppage.CreateIsolatedWorldParams
	if cdpconn.Unmarshal([]byte(m.Params), &p) != nil || string(p.FrameID) != s.tab.info.TargetID || p.WorldName == "" {
		return nil, false
	}
	for _, x := range s.setup.contexts {
		if x.name == p.WorldName {
			return map[string]any{"executionContextId": x.id}, true
		}
	}
	x := s.newPlaceholder(p.WorldName)
	s.setup.contexts = append(s.setup.contexts, x)
	if s.recorded("Runtime.enable") {
		s.contextCreated(x)
	}
	return map[string]any{"executionContextId": x.id}, true
}

// addPlaceholderScript returns an identifier of ours for Page.addScriptToEvaluateOnNewDocument, if
// the script has no code: it only creates an isolated world.
func addPlaceholderScript(s *cdpSession, m executor.CDPMessage) (any, bool) {
	var p cdppage.AddScriptToEvaluateOnNewDocumentParams
	if cdpconn.Unmarshal([]byte(m.Params), &p) != nil || p.WorldName == "" {
		return nil, false
	}
	source := strings.TrimSpace(p.Source)
	if source != "" && (!strings.HasPrefix(source, "//") || strings.ContainsAny(source, "\r\n\u2028\u2029")) {
		return nil, false // it may be denied
	}
	id := fmt.Sprintf("setup-%d", len(s.setup.scripts)+1)
	s.setup.scripts = append(s.setup.scripts, placeholderScript{id: id, world: p.WorldName})
	return map[string]any{"identifier": id}, true
}

// navigated reports that the tab shows another document, of which only the URL is known.
func (s *cdpSession) navigated(before string) {
	if s.usesDebugger() {
		return // the browser reports it
	}
	old, _, _ := strings.Cut(before, "#")
	now, _, _ := strings.Cut(s.tab.info.URL, "#")
	if old == now {
		return
	}
	s.setup.document++
	if s.recorded("Page.enable") {
		s.event("Page.frameNavigated", map[string]any{"frame": s.placeholderFrame(), "type": "Navigation"})
	}
	s.setup.contexts = nil
	if s.recorded("Runtime.enable") {
		s.event("Runtime.executionContextsCleared", map[string]any{})
		for _, name := range append([]string{""}, s.setup.worlds()...) {
			x := s.newPlaceholder(name)
			s.setup.contexts = append(s.setup.contexts, x)
			s.contextCreated(x)
		}
	}
	if s.recorded("Page.setLifecycleEventsEnabled") {
		s.placeholderLifecycle()
	}
}
