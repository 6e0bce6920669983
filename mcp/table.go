package mcp

import (
	"context"
	"encoding/json"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// coreTools are the tools of [ToolsCore], in the order in which documents list
// them. Each name, argument and result is part of the contract in
// docs/tools.md.
var coreTools = []tool{
	def("tabs_list", reads, (*session).tabsList, "List open tabs."),
	def("tab_select", navigates.repeatable(), (*session).tabSelect, "Make a tab the active tab, the default of every tabId. The browser's focus does not move."),
	def("tab_new", navigates, (*session).tabNew, "Open a tab and wait for it to load."),
	def("tab_close", navigates.destructive().repeatable(), (*session).tabClose, "Close a tab; a tab the user shared is only let go."),
	def("navigate", navigates.repeatable(), (*session).navigate, "Load a URL in a tab and wait for it."),
	def("back", navigates, (*session).back, "Go back in a tab's history."),
	def("forward", navigates, (*session).forward, "Go forward in a tab's history."),
	def("reload", navigates, (*session).reload, "Load the page again."),
	def("click", mutates, (*session).click, "Click an element: ref from snapshot, or selector (CSS, text=Sign in, role=button[name=\"Save\"]). Waits until it can be clicked and reports what changed."),
	def("type", mutates, (*session).typeText, "Type text into an element."),
	def("press", mutates, (*session).press, "Press a key or chord."),
	def("hover", mutates.harmless().repeatable(), (*session).hover, "Move the pointer onto an element."),
	def("scroll", navigates, (*session).scroll, "Scroll an element into view, or the page to x, y or by deltas in CSS pixels."),
	def("select_option", mutates.repeatable(), (*session).selectOption, "Select the given options of a select element, and only those."),
	def("snapshot", reads, (*session).snapshot, "Outline of the page: roles, names, values, and a ref on each element to act on. Use it before acting."),
	def("screenshot", reads, (*session).screenshot, "Picture of the viewport, the full page or one element."),
	def("get_text", reads, (*session).getText, "Rendered text of the page or an element."),
	def("get_html", reads, (*session).getHTML, "HTML of the page or an element."),
	def("eval", evaluates, (*session).eval, "Run JavaScript in the page. Needs a grant of its own."),
	def("wait_for", waits, (*session).waitFor, "Wait until all given conditions hold; running out of time gives matched: false."),
	def("extract_links", reads, (*session).extractLinks, "List links, each with a ref."),
	def("read_as_markdown", reads, (*session).readAsMarkdown, "Main content of the page as markdown."),
	def("fill_form", mutates, (*session).fillForm, "Fill several fields in order, then submit if asked to."),
	def("download_file", downloads, (*session).downloadFile, "Download a URL, or what clicking an element downloads (give exactly one)."),
	def("handle_dialog", answers, (*session).handleDialog, "Answer the open JavaScript dialog."),
	def("chrome_status", reads.local(), (*session).chromeStatus, "What browser and policy are in force. Never fails."),
}

// A tool is one entry of the table.
type tool struct {
	name   string
	kind   kind
	desc   string
	args   reflect.Type // a struct, see paramsOf
	result reflect.Type

	decode func(json.RawMessage) (any, error)
	run    func(s *session, ctx context.Context, args any) (result, error)
}

// A result is what a handler returns. It renders itself as the text that a
// model reads; marshalled as JSON it is the structured content.
type result interface {
	render(*text)
}

// def makes a tool of a handler, whose arguments are decoded into A.
func def[A any, R result](name string, k kind, h func(*session, context.Context, A) (R, error), desc string) tool {
	return tool{
		name: name, kind: k, desc: desc,
		args: reflect.TypeFor[A](), result: reflect.TypeFor[R](),
		decode: func(raw json.RawMessage) (any, error) {
			var args A
			err := decode(name, raw, &args)
			return args, err
		},
		run: func(s *session, ctx context.Context, args any) (result, error) {
			return h(s, ctx, args.(A))
		},
	}
}

// A kind says what a tool does to the world: which grant it needs, and what a
// host is told of it.
type kind struct {
	letter string // as in docs/tools.md
	hints  hints
}

// hints are the annotations of a tool, each of them told explicitly.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// The kinds.
var (
	reads     = kind{"R", hints{readOnly: true, idempotent: true, openWorld: true}}
	waits     = kind{"R, E with expression", reads.hints}
	navigates = kind{"N", hints{openWorld: true}}
	mutates   = kind{"M", hints{destructive: true, openWorld: true}}
	answers   = kind{"N, M to accept", hints{destructive: true, openWorld: true}}
	evaluates = kind{"E", hints{destructive: true, openWorld: true}}
	downloads = kind{"D", hints{openWorld: true}}
	stores    = kind{"R, S for values and changes", hints{destructive: true, openWorld: true}}
	states    = kind{"with --state-dir", hints{destructive: true, openWorld: true}}
	uploads   = kind{"M, with --uploads-dir", mutates.hints}
)

func (k kind) repeatable() kind  { k.hints.idempotent = true; return k }
func (k kind) destructive() kind { k.hints.destructive = true; return k }
func (k kind) harmless() kind    { k.hints.destructive = false; return k }
func (k kind) local() kind       { k.hints.openWorld = false; return k }

// describe returns the tool as tools/list tells it.
func (t *tool) describe(structured bool) *sdk.Tool {
	h := t.kind.hints
	d := &sdk.Tool{
		Name:        t.name,
		Description: t.desc,
		InputSchema: json.RawMessage(schemas[t.name].input),
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    h.readOnly,
			DestructiveHint: &h.destructive,
			IdempotentHint:  h.idempotent,
			OpenWorldHint:   &h.openWorld,
		},
	}
	if structured {
		d.OutputSchema = json.RawMessage(schemas[t.name].output)
	}
	return d
}
