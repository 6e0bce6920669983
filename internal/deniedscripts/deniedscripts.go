// Package deniedscripts holds the scripts that run in documents that the policy denies:
// they block input and hide the content of screenshots. The page engine runs them in the
// isolated world. The extension allows no others in such documents, and these only
// verbatim.
package deniedscripts

import _ "embed"

// Each script is the declaration of a function without parameters, see its file.
var (
	//go:embed block_input.js
	BlockInput string
	//go:embed lock_scrolling.js
	LockScrolling string
	//go:embed unblock_input.js
	UnblockInput string
	//go:embed hide_content.js
	HideContent string
	//go:embed wait_hidden.js
	WaitHidden string
	//go:embed show_content.js
	ShowContent string
)

// AtStart returns a script as the browser runs it in each new document.
func AtStart(script string) string { return "(" + script + ")()" }
