package page

import (
	_ "embed"
	"sync"
)

// BindingName is the binding through which page scripts report to Go. It exists only in our
// isolated world. Its calls arrive even if a dialog or a navigation prevents the response to the
// command that caused them.
const BindingName = "__cmReport"

//go:generate go tool -modfile=../../tools/go.mod esbuild js/main.js js/document_start.js --bundle --format=iife --target=chrome120 --charset=utf8 --minify-whitespace --legal-comments=none --log-level=warning --outdir=bundle
//go:generate go test -run ^TestEarlyDigests$ -count=1 . -update

// mainScript installs the page scripts: the functions that js/main.js lists.
//
//go:embed bundle/main.js
var mainScript string

// listenScript is js/document_start.js.
//
//go:embed bundle/document_start.js
var listenScript string

// installScript returns a script that installs the page scripts in a document that does not have
// them. A document that is restored from the back/forward cache has them, and a second copy would
// assign new element ids. The check requires the window's own property, because an element such as
// <div id="__cm"> adds a property of that name in every world.
var installScript = sync.OnceValue(func() string {
	return "if (!Object.hasOwn(globalThis, '__cm')) " + mainScript
})

// documentStartScript returns the script that runs in our isolated world before any script of a
// document. It adds listeners to the window for the events that confirm input. Therefore a page
// that stops these events cannot hide them, and a press that another element would receive can be
// blocked. The script does nothing until one of our calls requests it.
//
// If bundled is set, the script also installs the page scripts if the document is the top document
// of a tab, and reports that. They are needed there immediately, and the browser caches the
// compiled code for the next document. It does not cache the compiled code of scripts that are sent
// to each document.
//
// The script also runs in denied documents. The extension allows no other script there: it
// identifies the script by its digest.
func documentStartScript(bundled bool) string {
	script := listenScript
	if bundled {
		script += "if (self === top) {\n" + installScript() + BindingName + "('" + installedReport + "');\n}"
	}
	return script
}

// installedReport is what a document reports when the page scripts are installed in it.
const installedReport = `{"installed":true}`
