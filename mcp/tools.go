package mcp

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// coreTools are the tools of [ToolsCore], in the order of the documentation. Names, arguments and
// results are part of the contract in docs/tools.md.
var coreTools = []tool{
	def("tabs_list", reads, (*toolSession).tabsList, "List open tabs."),
	def("tab_select", navigates.idempotent(), (*toolSession).tabSelect, "Make a tab active, the default of every tabId. The browser's focus does not move."),
	def("tab_new", navigates, (*toolSession).tabNew, "Open a tab and wait for it to load."),
	onPage("tab_close", navigates.destructive().idempotent(), tabCloseArgs.run, "Close a tab. A tab that the user shared is detached instead."),
	def("navigate", navigates.idempotent(), (*toolSession).navigate, "Load a URL and wait for it."),
	onPage("back", navigates, historyArgs.back, "Go back in the history."),
	onPage("forward", navigates, historyArgs.forward, "Go forward in the history."),
	onPage("reload", reloads, reloadArgs.reload, "Load the page again."),
	onPage("click", mutates, clickArgs.run, "Click an element: ref from snapshot, or selector (CSS, text=Sign in, role=button[name=\"Save\"]). Waits until it can be clicked and reports what changed."),
	onPage("type", mutates, typeArgs.run, "Type text into an element."),
	onPage("press", mutates, pressArgs.run, "Press a key or chord."),
	onPage("hover", mutates.nonDestructive().idempotent(), hoverArgs.run, "Move the pointer onto an element."),
	onPage("scroll", navigates, scrollArgs.run, "Scroll an element into view, or the page to x, y or by deltas in CSS pixels."),
	onPage("select_option", mutates.idempotent(), selectArgs.run, "Select exactly the given options of a select element."),
	onPage("snapshot", reads, snapshotArgs.run, "Outline of the page: roles, names, values, and a ref on each element to act on. Use it before acting."),
	def("screenshot", reads, (*toolSession).screenshot, "Screenshot of the viewport, the full page or one element."),
	onPage("get_text", reads, getTextArgs.run, "Rendered text of the page or an element."),
	onPage("get_html", reads, getHTMLArgs.run, "HTML of the page or an element."),
	onPage("eval", evaluates, evalArgs.run, "Run JavaScript in the page. Requires the eval grant."),
	onPage("wait_for", waits, waitForArgs.run, "Wait until all conditions hold. On timeout, matched is false."),
	onPage("extract_links", reads, linksArgs.run, "List links, each with a ref."),
	onPage("read_as_markdown", reads, markdownArgs.run, "Main content of the page as markdown."),
	onPage("fill_form", mutates, fillFormArgs.run, "Fill several fields in order, then submit if asked to."),
	onPage("download_file", downloads, downloadArgs.run, "Download a URL, or click an element that starts a download (exactly one)."),
	onPage("handle_dialog", answers, handleDialogArgs.run, "Answer the open JavaScript dialog."),
	def("chrome_status", reads.closedWorld(), (*toolSession).chromeStatus, "Current browser and policy. Never fails."),
}

// A tool is one entry of a toolset's table.
type tool struct {
	name   string
	kind   kind
	desc   string
	args   reflect.Type // a struct, see toolschema.Params
	result reflect.Type

	decode func(json.RawMessage) (any, error)
	run    func(s *toolSession, ctx context.Context, args any) (mcptext.Result, error)
}

// def returns a tool with handler h, whose arguments are decoded into A.
func def[A any, R mcptext.Result](name string, k kind, h func(*toolSession, context.Context, A) (R, error), desc string) tool {
	return tool{
		name: name, kind: k, desc: desc,
		args: reflect.TypeFor[A](), result: reflect.TypeFor[R](),
		decode: func(raw json.RawMessage) (any, error) {
			var args A
			err := toolschema.Decode(name, raw, &args)
			return args, err
		},
		run: func(s *toolSession, ctx context.Context, args any) (mcptext.Result, error) {
			return h(s, ctx, args.(A))
		},
	}
}

// onPage returns a tool that works on the page of one tab, which A names.
func onPage[A interface{ tabID() executor.TabID }, R mcptext.Result](name string, k kind, run func(A, context.Context, executor.Page) (R, error), desc string) tool {
	return def(name, k, func(s *toolSession, ctx context.Context, args A) (R, error) {
		p, err := s.ex.Page(ctx, args.tabID())
		if err != nil {
			var none R
			return none, err
		}
		return run(args, ctx, p)
	}, desc)
}

// A kind is a class of tools: the grant that they need and their annotations.
type kind struct {
	letter string // of the grant, as in docs/tools.md
	hints  hints
}

// kindsLegend explains the letters of the kinds, in Markdown.
const kindsLegend = "R reads; N navigates and manages tabs; M changes a page and requires `--enable-mutations`;\n" +
	"E runs JavaScript, D downloads, S reads or changes cookies and storage: each requires its own grant."

// hints are the annotations of a tool. The server sends all of them explicitly.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// The kinds.
var (
	reads     = kind{"R", hints{readOnly: true, idempotent: true, openWorld: true}}
	waits     = kind{"R, E with expression", reads.hints}
	navigates = kind{"N", hints{openWorld: true}}
	reloads   = kind{"N, M with resubmit", navigates.hints}
	mutates   = kind{"M", hints{destructive: true, openWorld: true}}
	answers   = kind{"N, M to accept", hints{destructive: true, openWorld: true}}
	emulates  = kind{"N, M with headers", navigates.hints}
	evaluates = kind{"E", hints{destructive: true, openWorld: true}}
	downloads = kind{"D", hints{openWorld: true}}
	stores    = kind{"R, S for values and changes", hints{destructive: true, openWorld: true}}
	states    = kind{"with --state-dir", hints{destructive: true, openWorld: true}}
	uploads   = kind{"M, with --uploads-dir", mutates.hints}
)

func (k kind) idempotent() kind     { k.hints.idempotent = true; return k }
func (k kind) destructive() kind    { k.hints.destructive = true; return k }
func (k kind) nonDestructive() kind { k.hints.destructive = false; return k }
func (k kind) closedWorld() kind    { k.hints.openWorld = false; return k }

// describe returns the entry of the tool in the tools/list result.
func (t *tool) describe(structured bool) *sdk.Tool {
	h := t.kind.hints
	d := &sdk.Tool{
		Name:        t.name,
		Description: t.desc,
		InputSchema: json.RawMessage(toolschema.Input(t.args)),
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    h.readOnly,
			DestructiveHint: &h.destructive,
			IdempotentHint:  h.idempotent,
			OpenWorldHint:   &h.openWorld,
		},
	}
	if structured {
		d.OutputSchema = json.RawMessage(toolschema.Output(t.result))
	}
	return d
}

// nonNil returns s, or an empty slice if s is nil, because JSON encodes nil as null.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
