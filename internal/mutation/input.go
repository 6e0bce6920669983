package mutation

var input = promises{
	"Files are uploaded only to the frame of the target and to documents of its origin": {
		{
			File:    "internal/input/upload.go",
			Old:     "			if chooser.FrameID == el.Doc.Frame {\n",
			New:     "			if true || chooser.FrameID == el.Doc.Frame {\n",
			Package: "./internal/input/inputsuite", Test: "TestSuite/.*/upload_targets$",
		},
	},
	"No input reaches a denied frame, even if the page focuses it, moves it under the pointer or reloads it during the action": {
		{
			File:    "internal/shield/blocker.go",
			Old:     "	if b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			New:     "	if true || b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$/unchecked_input_to_a_denied_frame",
		},
		{
			File:    "internal/input/keyboard.go",
			Old:     "	if err := k.checkFocus(ctx, target, check, usesClipboard); err != nil {\n",
			New:     "	if err := k.checkFocus(ctx, target, check, usesClipboard); false && err != nil {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$/the_focus_moves_to_a_denied_frame_while_keys_are_typed",
		},
		{
			File:    "internal/shield/blocker.go",
			Old:     "	for _, c := range required {\n",
			New:     "	for _, c := range required[:0] {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$/input_next_to_a_denied_frame_that_is_loading",
		},
		{
			File:    "internal/shield/blocker.go",
			Old:     "	if b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			New:     "	if true || b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$/^paste$",
		},
		{
			File:    "internal/shield/blocker.go",
			Old:     "	if b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			New:     "	if true || b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$/^composition$",
		},
		{
			File:    "internal/shield/blocker.go",
			Old:     "	if b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			New:     "	if true || b.ended || len(b.scripts[s]) == len(b.sources) {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$",
		},
		{
			File:    "internal/page/eval.go",
			Old:     "		v.ReleaseButtons(ctx) // the caller may not send the rest\n",
			New:     "",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_input$/^buttons_pressed_before_raw_input",
		},
		{
			File:    "internal/input/mouse.go",
			Old:     "		if failed {",
			New:     "		if failed && false {",
			Package: "./executor/chromium", Test: "TestExecutor/.*/denied_pointer$/^drag_by_steps$",
		},
	},
	"Input for an element does not reach a frame of another document": {
		{
			File:    "internal/input/keyboard.go",
			Old:     "		ok = target == nil || d.World == target.doc.World || ok && target.inFrame\n",
			New:     "		ok = true\n",
			Package: "./internal/input/inputsuite", Test: "TestSuite/.*/press$/text_and_keys_for_a_field",
		},
		{
			File:    "internal/hitcheck/other_documents.go",
			Old:     "		if inPath || inFrame(d.Frame)",
			New:     "		if true || inPath || inFrame(d.Frame)",
			Package: "./internal/input/inputsuite", Test: "TestSuite/.*/click$/press_that_a_frame",
		},
		{
			File:    "internal/page/js/fields.js",
			Old:     "  if (focused) listen(token, field, { types: keyTypes, text });",
			New:     "  if (focused) listen(token, field, { types: keyTypes });",
			Package: "./internal/input/inputsuite", Test: "TestSuite/.*/press$/key_for_an_element",
		},
	},
	"In the user's Chrome, scripts run only in documents": {{
		File: "extension/methods.js",
		Old:  "  if (params.source !== `(${INPUT_BLOCK_SCRIPTS.block})()` && params.source !== `(${INPUT_BLOCK_SCRIPTS.lockScrolling})()`) return earlyScript(String(params.source));\n",
		New:  "",
		Test: "commands are allowed or denied",
	}},
}
