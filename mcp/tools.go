package mcp

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// coreTools are the tools of [ToolsCore], in the order of the documentation. Names, arguments and
// results are part of the contract in docs/tools.md.
var coreTools = []tool{
	onBrowser("tabs_list", reads, browsertools.TabsListArgs.Run, "List open tabs."),
	onBrowser("tab_select", navigates.idempotent(), browsertools.TabSelectArgs.Run, "Make a tab active, the default of every tabId. The browser's focus does not move."),
	onBrowser("tab_new", navigates, browsertools.TabNewArgs.Run, "Open a tab and wait for it to load."),
	onPage("tab_close", navigates.destructive().idempotent(), browsertools.TabCloseArgs.Run, "Close a tab. A tab that the user shared is detached instead."),
	onBrowser("navigate", navigates.idempotent(), browsertools.NavigateArgs.Run, "Load a URL and wait for it."),
	onPage("back", reloads, browsertools.HistoryArgs.Back, "Go back."),
	onPage("forward", reloads, browsertools.HistoryArgs.Forward, "Go forward."),
	onPage("reload", reloads, browsertools.HistoryArgs.Reload, "Reload the page."),
	onPage("click", mutates, browsertools.ClickArgs.Run, "Click an element: ref from snapshot, or selector (CSS, text=Sign in, role=button[name=\"Save\"]). Waits until it can be clicked and reports what changed."),
	onPage("type", mutates, browsertools.TypeArgs.Run, "Type text into an element."),
	onPage("press", mutates, browsertools.PressArgs.Run, "Press a key or chord."),
	onPage("hover", mutates.nonDestructive().idempotent(), browsertools.HoverArgs.Run, "Move the pointer onto an element."),
	onPage("scroll", navigates, browsertools.ScrollArgs.Run, "Scroll an element into view, or the page to x, y or by deltas in CSS pixels."),
	onPage("select_option", mutates.idempotent(), browsertools.SelectArgs.Run, "Select exactly the given options of a select element."),
	onPage("snapshot", reads, browsertools.SnapshotArgs.Run, "Outline of the page: roles, names, values, and a ref on each element to act on. Use it before acting."),
	def("screenshot", reads, (*toolRunner).screenshot, "Screenshot of the viewport, the full page or one element."),
	onPage("get_text", reads, browsertools.GetTextArgs.Run, "Rendered text of page or element."),
	onPage("get_html", reads, browsertools.GetHTMLArgs.Run, "HTML of page or element."),
	onPage("eval", evaluates, browsertools.EvalArgs.Run, "Run JavaScript in the page. Requires the eval grant."),
	onPage("wait_for", waits, browsertools.WaitForArgs.Run, "Wait until all conditions hold. On timeout, matched is false."),
	onPage("extract_links", reads, browsertools.LinksArgs.Run, "Links, each with a ref."),
	onPage("read_as_markdown", reads, browsertools.MarkdownArgs.Run, "Main content as markdown."),
	onPage("fill_form", mutates, browsertools.FillFormArgs.Run, "Fill several fields in order, then submit if asked to."),
	onPage("download_file", downloads, browsertools.DownloadArgs.Run, "Download a URL, or click an element that starts a download (exactly one)."),
	onPage("handle_dialog", answers, browsertools.HandleDialogArgs.Run, "Answer the open JavaScript dialog."),
	def("chrome_status", reads.closedWorld(), (*toolRunner).chromeStatus, "Current browser and policy. Never fails."),
}

// A tool is one entry of a toolset's table.
type tool struct {
	name   string
	kind   kind
	desc   string
	args   reflect.Type // a struct, see toolschema.Params
	result reflect.Type

	decode func(json.RawMessage) (any, error)
	run    func(s *toolRunner, ctx context.Context, args any) (mcptext.Result, error)
}

// def returns a tool with handler h, whose arguments are decoded into A.
func def[A any, R mcptext.Result](name string, k kind, h func(*toolRunner, context.Context, A) (R, error), desc string) tool {
	return tool{
		name: name, kind: k, desc: desc,
		args: reflect.TypeFor[A](), result: reflect.TypeFor[R](),
		decode: func(raw json.RawMessage) (any, error) {
			var args A
			err := toolschema.Decode(name, raw, &args)
			return args, err
		},
		run: func(r *toolRunner, ctx context.Context, args any) (mcptext.Result, error) {
			return h(r, ctx, args.(A))
		},
	}
}

// onBrowser returns a tool that works on the browser.
func onBrowser[A any, R mcptext.Result](name string, k kind, run func(A, context.Context, executor.Executor) (R, error), desc string) tool {
	return def(name, k, func(r *toolRunner, ctx context.Context, args A) (R, error) { return run(args, ctx, r.ex) }, desc)
}

// onPage returns a tool that works on the page of one tab, which A names.
func onPage[A interface{ TabID() executor.TabID }, R mcptext.Result](name string, k kind, run func(A, context.Context, executor.Page) (R, error), desc string) tool {
	return def(name, k, func(r *toolRunner, ctx context.Context, args A) (R, error) {
		p, err := r.ex.Page(ctx, args.TabID())
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

// KindsLegend explains the letters of the kinds, in Markdown.
const KindsLegend = "R reads; N navigates and manages tabs; M changes a page and requires `--enable-mutations`;\n" +
	"E runs JavaScript, D downloads, S reads or changes cookies and storage: each requires its own grant."

// hints are the annotations of a tool. The server sends all of them explicitly.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

func (h hints) annotations() *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{
		ReadOnlyHint: h.readOnly, DestructiveHint: &h.destructive, IdempotentHint: h.idempotent, OpenWorldHint: &h.openWorld,
	}
}

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
	d := &sdk.Tool{
		Name:        t.name,
		Description: t.desc,
		InputSchema: json.RawMessage(toolschema.Input(t.args)),
		Annotations: t.kind.hints.annotations(),
	}
	if structured {
		d.OutputSchema = json.RawMessage(toolschema.Output(t.result))
	}
	return d
}

// devtoolsTools are the tools of [ToolsDevtools].
var devtoolsTools = []tool{
	onPage("console_messages", reads, browsertools.ConsoleArgs.Run, "Console messages of the tab's pages, newest last."),
	onPage("page_errors", reads, browsertools.PageErrorsArgs.Run, "Uncaught errors and rejections in the tab, newest last."),
	onPage("network_requests", reads, browsertools.RequestsArgs.Run, "Requests that pages of the tab made, newest last; with id one of them in full. Secrets in headers are omitted."),
	onPage("resize", navigates, browsertools.ResizeArgs.Run, "Set the viewport size of the tab, in CSS pixels, until the session ends. The window does not change."),
	onPage("emulate", emulates, browsertools.EmulateArgs.Run, "Emulate another device, preferences or network for the tab, until the session ends. Adds to what is emulated. locale, timezone, cpu, permissions, headers: managed browser only."),
}

// filesTools are the tools of [ToolsFiles].
var filesTools = []tool{
	onPage("upload_file", uploads, browsertools.UploadArgs.Run, "Give files to a file input, to what clicking an element asks to choose, or to a drop zone. Only files in the directory of --uploads-dir."),
	onPage("save_pdf", downloads, browsertools.SavePDFArgs.Run, "Save the page as a PDF file."),
}

// inputTools are the tools of [ToolsInput].
var inputTools = []tool{
	onPage("drag", mutates, browsertools.DragArgs.Run, "Drag an element onto another: with its data, or what follows the pointer (sliders, sortable lists). Reports how it ended."),
	onPage("mouse", mutates, browsertools.MouseArgs.Run, "Mouse or touch at a point of the viewport, in CSS pixels of a screenshot, for canvases and maps; click is better for elements. A pressed button is released by up, and by any other action."),
}

// storageTools are the tools of [ToolsStorage]. cookies and storage access only the site of the
// tab's document, so they have no URL argument. They list values only on request. Values and
// changes need the grant of --enable-storage.
var storageTools = []tool{
	onPage("cookies", stores, browsertools.CookiesArgs.Run, "Cookies that the page sends to its own site. get lists them, without values unless requested; set, delete and clear change them."),
	onPage("storage", stores, browsertools.StorageArgs.Run, "Local or session storage of the page's origin. get lists keys and sizes, values only on request; set, remove and clear change it."),
	onBrowser("session_state", states, browsertools.StateArgs.Run, "Save the browser's cookies, and the local storage of open tabs' origins, of all sites that are allowed, in a file in the directory of --state-dir, or load such a file: to stay logged in. Values are in the file only. In a browser that chrome-mcp starts."),
}
