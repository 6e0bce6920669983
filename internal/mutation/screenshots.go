package mutation

var screenshots = promises{
	"Screenshots show no content of a denied frame, however the page moves or transforms it": {
		{
			File:    "internal/capture/screenshot.go",
			Old:     "hidden, err := shield.HideFrames(ctx, c.client)",
			New:     "hidden, err := (*shield.FrameHider)(nil), error(nil)",
			Package: "./executor/chromium", Test: "^TestExecutor$/./^denied_pixels$/^(by_a_rule_of_a_style_sheet|in_an_allowed_frame_rotated_by_45)",
		},
		{
			File:    "internal/shield/view_transition.go",
			Old:     "denied := hidden || !complete",
			New:     "denied := !complete",
			Package: "./executor/chromium", Test: "^TestExecutor$/./^denied_pixels$/^view_transition_with_old",
		},
		{
			File:    "internal/frames/frame.go",
			Old:     `if f == nil && aux.FrameID != ""`,
			New:     "if false",
			Package: "./executor/chromium", Test: "^TestExecutor$/./^denied_pixels$/^denied_frames_restored",
		},
		{
			File:    "internal/page/js/mutations.js",
			Old:     "  || hasTransitionIn(document);",
			New:     "  ;",
			Package: "./executor/chromium", Test: "^TestExecutor$/./^denied_pixels$/^view_transition_with_old_element",
		},
		{
			File: "extension/methods.js",
			Old:  "FOR_DENIED.includes(params.functionDeclaration)",
			New:  "true",
			Test: "commands are allowed or denied",
		},
	},
}
