// Package inputsuite has the cases of input: clicks, keys, text, forms, files, and what an action waits for.
// Their subject is package input, which all backends use, so that the landing tests run them on one
// backend.
package inputsuite

import "github.com/chrome-mcp/chrome-mcp/internal/testing/suite"

// Topics are the cases that landing tests run.
var Topics = []suite.Topic{
	{Name: "click", Cases: click},
	{Name: "click_targets", Cases: clickTargets},
	{Name: "refs", Cases: refs},
	{Name: "type", Cases: typing},
	{Name: "type_models", Cases: typingModels},
	{Name: "press", Cases: press},
	{Name: "hover", Cases: hover},
	{Name: "scroll", Cases: scroll},
	{Name: "select_option", Cases: selectOption},
	{Name: "fill_form", Cases: fillForm},
	{Name: "drag", Cases: drags},
	{Name: "mouse", Cases: mouse},
	{Name: "upload_targets", Cases: uploadTargets},
}

// Details are the cases of unusual pages, which deep tests run.
var Details = []suite.Topic{
	{Name: "type_fields", Cases: typingFields},
	{Name: "type_focus", Cases: typingFocus},
	{Name: "type_editors", Cases: typingEditors},
	{Name: "type_frameworks", Cases: typingFrameworks},
	{Name: "press_keys", Cases: pressKeys},
	{Name: "select_options", Cases: selectOptions},
	{Name: "fill_forms", Cases: fillForms},
	{Name: "actionability", Cases: actionability},
	{Name: "actionability_shapes", Cases: actionabilityShapes},
	{Name: "actionability_frames", Cases: actionabilityFrames},
	{Name: "actionability_controls", Cases: actionabilityControls},
	{Name: "covered", Cases: covered},
	{Name: "actionability_wait", Cases: actionabilityWait},
	{Name: "hit_target", Cases: hitTarget},
	{Name: "hover_menus", Cases: hoverMenus},
	{Name: "scroll_ends", Cases: scrollEnds},
	{Name: "settle", Cases: settle},
}
