package extension

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
)

// A client that connects sends setup commands to every page, and waits for their results. They are
// answered from what is known without the debugger, and recorded. The first other command attaches
// the debugger and sends the recorded ones.

// A setup is the state of a session whose commands are not sent to the browser yet, and of what was
// reported to the client in that time.
type setup struct {
	cdpshare.Placeholders
	session   *cdpSession
	commands  []executor.CDPMessage // to be sent when the debugger is attached
	waiting   []executor.CDPMessage // to be run after commands
	attaching bool
	replaying bool // commands are being sent
	document  int  // number of the current document
}

// A setupAnswer answers a setup command. It reports whether it can.
type setupAnswer func(su *setup, m executor.CDPMessage) (result any, ok bool)

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
func succeed(*setup, executor.CDPMessage) (any, bool) { return nil, true }

// command answers a setup command, or lets the command wait until the debugger is attached.
func (su *setup) command(m executor.CDPMessage) {
	if answer := setupCommands[m.Method]; answer != nil && !su.attaching && !su.replaying {
		fits := su.fits(m)
		if !fits && m.Method != "Page.addScriptToEvaluateOnNewDocument" { // which waits if it has code
			su.session.fail(m, errSetupTooLarge)
			return
		}
		if fits {
			if result, ok := answer(su, m); ok {
				su.record(m)
				su.session.reply(m, result)
				return
			}
		}
	}
	if su.replaying && m.Method == "Page.handleJavaScriptDialog" { // a page with a dialog answers the others later
		su.session.run(m, func(result json.RawMessage, err *executor.CDPError) { su.session.answer(m, result, err) })
		return
	}
	if !su.wait(m) {
		su.session.fail(m, errTooManyCommands)
		return
	}
	if !su.attaching && !su.replaying {
		su.attaching = true
		su.session.tab.attach(su.session)
	}
}

// record stores a command that was answered, to be sent when the debugger is attached.
func (su *setup) record(m executor.CDPMessage) {
	switch i := su.replaced(m); {
	case m.Method == "Page.createIsolatedWorld", m.Method == "Runtime.runIfWaitingForDebugger":
	case i >= 0:
		su.commands[i] = m
	default:
		su.commands = append(su.commands, m)
	}
	su.session.countStored()
}

// replaced returns the index of the recorded command that m replaces, or -1: of most methods, only the
// last command has an effect.
func (su *setup) replaced(m executor.CDPMessage) int {
	if m.Method == "Page.addScriptToEvaluateOnNewDocument" || m.Method == "Runtime.addBinding" {
		return -1
	}
	return slices.IndexFunc(su.commands, func(x executor.CDPMessage) bool { return x.Method == m.Method })
}

// attachFailed fails the commands that wait for the debugger. Later commands try again.
func (su *setup) attachFailed(err error) {
	su.attaching = false
	for _, m := range su.takeWaiting() {
		su.session.fail(m, cdpError(err))
	}
}

// replay sends the recorded commands, and runs the waiting ones when all have results.
func (su *setup) replay() {
	su.attaching, su.replaying = false, true
	commands := su.commands
	su.commands = nil
	su.session.countStored()
	for _, x := range su.Contexts {
		if x.Name != "" {
			commands = append(commands, executor.CDPMessage{Method: "Page.createIsolatedWorld",
				Params: mustJSON(map[string]any{"frameId": su.session.tab.info.TargetID, "worldName": x.Name})})
		}
	}
	var later []executor.CDPMessage // after the others, so that the origins of all frames are known
	su.runAll(commands, func(m executor.CDPMessage, script int, result json.RawMessage) {
		su.replayed(m, script, result, &later)
	}, func() {
		su.runAll(later, func(executor.CDPMessage, int, json.RawMessage) {}, su.replayDone)
	})
}

// runAll runs commands. It calls each with the results, and with the number of the script among the
// scripts for new documents. Then it calls done, unless the session is detached.
func (su *setup) runAll(
	commands []executor.CDPMessage, each func(m executor.CDPMessage, script int, result json.RawMessage), done func(),
) {
	remaining := len(commands) + 1
	finish := func() {
		if remaining--; remaining == 0 && !su.session.detached {
			done()
		}
	}
	scripts := 0
	for _, m := range commands {
		script := scripts
		if m.Method == "Page.addScriptToEvaluateOnNewDocument" {
			scripts++
		}
		su.session.run(m, func(result json.RawMessage, err *executor.CDPError) {
			if err != nil {
				su.session.client.hub.backend.log.Debug("a setup command of a CDP client failed", "method", m.Method,
					"error", err.Message)
			} else {
				each(m, script, result)
			}
			finish()
		})
	}
	finish()
}

// replayDone runs the commands that wait for the debugger.
func (su *setup) replayDone() {
	su.replaying, su.session.ready = false, true
	su.session.tab.keepRendering()
	for _, m := range su.takeWaiting() {
		if !su.session.detached {
			su.session.command(m)
		}
	}
}

// replayed handles the result of a recorded command. It adds the commands that follow from it to
// later.
func (su *setup) replayed(m executor.CDPMessage, script int, result json.RawMessage, later *[]executor.CDPMessage) {
	switch m.Method {
	case "Page.getFrameTree":
		for _, child := range member[frameTree](result, "frameTree").Children {
			su.frameAppeared(child, later)
		}
	case "Page.addScriptToEvaluateOnNewDocument":
		if script < len(su.Scripts) {
			su.Scripts[script].RealID = member[string](result, "identifier")
		}
	case "Page.createIsolatedWorld":
		name := member[string](m.Params, "worldName")
		for _, x := range su.Contexts {
			if x.Name == name && x.Name != "" && x.RealID == 0 {
				x.RealID = member[int64](result, "executionContextId")
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
func (su *setup) frameAppeared(tree frameTree, later *[]executor.CDPMessage) {
	id := member[string](tree.Frame, "id")
	su.session.event("Page.frameAttached", map[string]any{
		"frameId": id, "parentFrameId": member[string](tree.Frame, "parentId"),
	})
	su.session.event("Page.frameNavigated", map[string]any{"frame": tree.Frame, "type": "Navigation"})
	for _, world := range su.worlds() {
		*later = append(*later, executor.CDPMessage{
			Method: "Page.createIsolatedWorld", Params: mustJSON(map[string]any{"frameId": id, "worldName": world}),
		})
	}
	for _, child := range tree.Children {
		su.frameAppeared(child, later)
	}
}

// worlds returns the names of the isolated worlds of the scripts for new documents.
func (su *setup) worlds() (names []string) {
	for _, script := range su.Scripts {
		if !slices.Contains(names, script.World) {
			names = append(names, script.World)
		}
	}
	return names
}

// recorded reports whether a command was recorded.
func (su *setup) recorded(method string) bool {
	return slices.ContainsFunc(su.commands, func(m executor.CDPMessage) bool { return m.Method == method })
}

// frame describes the main frame with what is known about it.
func (su *setup) frame() map[string]any {
	at, fragment, found := strings.Cut(su.session.tab.url(), "#")
	frame := map[string]any{
		"id": su.session.tab.info.TargetID, "loaderId": su.loader(), "url": at,
		"domainAndRegistry": "", "securityOrigin": su.session.tab.origin(), "mimeType": "text/html",
		"secureContextType": "InsecureScheme", "crossOriginIsolatedContextType": "NotIsolated",
		"gatedAPIFeatures": []string{},
	}
	if found {
		frame["urlFragment"] = "#" + fragment
	}
	return frame
}

// loader returns the loader id of the current document, until the browser reports the real one.
func (su *setup) loader() string { return fmt.Sprintf("%032X", su.document+1) }

// placeholderFrameTree returns the main frame for Page.getFrameTree. Its children are reported when
// the debugger is attached, see frameAppeared.
func placeholderFrameTree(su *setup, _ executor.CDPMessage) (any, bool) {
	return map[string]any{"frameTree": map[string]any{"frame": su.frame()}}, true
}

// enableLifecycle reports the lifecycle events of the current document, as the browser does.
func enableLifecycle(su *setup, m executor.CDPMessage) (any, bool) {
	if !member[bool](m.Params, "enabled") {
		return nil, false
	}
	su.sendLifecycle()
	return nil, true
}

// sendLifecycle sends the lifecycle events of a document that is loaded.
func (su *setup) sendLifecycle() {
	for _, name := range []string{"commit", "DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"} {
		su.session.event("Page.lifecycleEvent", map[string]any{
			"frameId": su.session.tab.info.TargetID, "loaderId": su.loader(), "name": name, "timestamp": 0,
		})
	}
}

// enableRuntime reports a placeholder for the main world, and those for the isolated worlds that the
// client has created.
func enableRuntime(su *setup, _ executor.CDPMessage) (any, bool) {
	if !slices.ContainsFunc(su.Contexts, func(x *cdpshare.Placeholder) bool { return x.Name == "" }) {
		su.Contexts = slices.Insert(su.Contexts, 0, su.newPlaceholder(""))
	}
	for _, x := range su.Contexts {
		su.contextCreated(x)
	}
	return nil, true
}

// firstPlaceholder is the first id of a placeholder. The browser counts its ids from 1.
const firstPlaceholder = 1 << 30

// newPlaceholder returns a placeholder for the world with a name, or for the main world if name is
// empty.
func (su *setup) newPlaceholder(name string) *cdpshare.Placeholder {
	su.session.client.hub.lastID++
	id := int64(firstPlaceholder + su.session.client.hub.lastID)
	return &cdpshare.Placeholder{ID: id, Unique: "-" + strconv.FormatInt(id, 10) + ".1", Name: name}
}

// contextCreated sends Runtime.executionContextCreated for a placeholder.
func (su *setup) contextCreated(x *cdpshare.Placeholder) {
	kind := "isolated"
	if x.Name == "" {
		kind = "default"
	}
	su.session.event("Runtime.executionContextCreated", map[string]any{"context": map[string]any{
		"id": x.ID, "uniqueId": x.Unique, "origin": su.session.tab.origin(), "name": x.Name,
		"auxData": map[string]any{"isDefault": x.Name == "", "type": kind, "frameId": su.session.tab.info.TargetID},
	}})
}

// createPlaceholderWorld returns the id of a placeholder for Page.createIsolatedWorld, if the world
// is in the main frame.
func createPlaceholderWorld(su *setup, m executor.CDPMessage) (any, bool) {
	var p cdppage.CreateIsolatedWorldParams
	if cdpconn.Unmarshal([]byte(m.Params), &p) != nil || string(p.FrameID) != su.session.tab.info.TargetID ||
		p.WorldName == "" {
		return nil, false
	}
	for _, x := range su.Contexts {
		if x.Name == p.WorldName {
			return map[string]any{"executionContextId": x.ID}, true
		}
	}
	x := su.newPlaceholder(p.WorldName)
	su.Contexts = append(su.Contexts, x)
	if su.recorded("Runtime.enable") {
		su.contextCreated(x)
	}
	return map[string]any{"executionContextId": x.ID}, true
}

// addPlaceholderScript returns an identifier of ours for Page.addScriptToEvaluateOnNewDocument, if
// the script has no code: it only creates an isolated world.
func addPlaceholderScript(su *setup, m executor.CDPMessage) (any, bool) {
	var p cdppage.AddScriptToEvaluateOnNewDocumentParams
	if cdpconn.Unmarshal([]byte(m.Params), &p) != nil || p.WorldName == "" {
		return nil, false
	}
	source := strings.TrimSpace(p.Source)
	if source != "" && (!strings.HasPrefix(source, "//") || strings.ContainsAny(source, "\r\n\u2028\u2029")) {
		return nil, false // it may be denied
	}
	id := fmt.Sprintf("setup-%d", len(su.Scripts)+1)
	su.Scripts = append(su.Scripts, cdpshare.PlaceholderScript{ID: id, World: p.WorldName})
	return map[string]any{"identifier": id}, true
}

// navigated reports that the tab shows another document, of which only the URL is known.
func (su *setup) navigated(before string) {
	if su.session.usesDebugger() {
		return // the browser reports it
	}
	old, _, _ := strings.Cut(before, "#")
	now, _, _ := strings.Cut(su.session.tab.info.URL, "#")
	if old == now {
		return
	}
	su.document++
	if su.recorded("Page.enable") {
		su.session.event("Page.frameNavigated", map[string]any{"frame": su.frame(), "type": "Navigation"})
	}
	su.Contexts = nil
	if su.recorded("Runtime.enable") {
		su.session.event("Runtime.executionContextsCleared", map[string]any{})
		for _, name := range append([]string{""}, su.worlds()...) {
			x := su.newPlaceholder(name)
			su.Contexts = append(su.Contexts, x)
			su.contextCreated(x)
		}
	}
	if su.recorded("Page.setLifecycleEventsEnabled") {
		su.sendLifecycle()
	}
}
