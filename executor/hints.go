package executor

// Hints whose wording depends on how the client calls the Executor. A client that shows hints to a
// user or an agent replaces them with its own text.
const (
	// HintMoreTime is the hint for a call that did not finish in its time.
	HintMoreTime = "Try again with more time."
	// HintReadLess is the hint for a page that is too large to read completely
	// during one call.
	HintReadLess = "The page is large: read a part of it."
	// HintNameTab is the hint for a call that does not name one of several tabs.
	HintNameTab = "Name the tab, make one active, or open one."
	// HintOpenTab is the hint for a call that needs a tab when no tab is open.
	HintOpenTab = "Open a tab."
	// HintPressKeys is a clause of a hint: enter the text with one key press for each character.
	HintPressKeys = "type it with pressed keys"
)
