package executor

// Hints whose wording depends on how the client makes its calls. A client that
// shows hints to a person or a model replaces them with its own words.
const (
	// HintMoreTime is the hint for a call that did not finish in its time.
	HintMoreTime = "Try again with more time."
	// HintReadLess is the hint for a page that is too large to read completely
	// during one call.
	HintReadLess = "The page is large: read a part of it."
	// HintNameTab is the hint for a call that does not say which of several tabs it
	// is for.
	HintNameTab = "Name the tab, make one active, or open one."
	// HintOpenTab is the hint for a call that needs a tab when there is none.
	HintOpenTab = "Open a tab."
	// HintPressKeys is a clause of a hint: enter the text as key presses, one for each
	// character.
	HintPressKeys = "type it with pressed keys"
)
