package executortest

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"testing"
)

// A topic is a group of cases.
type topic struct {
	name  string
	about string // heading of the topic
	cases func(*suite, *testing.T)
}

// contract are the topics of Run, detailTopics those of RunDetail. A topic of both has one heading.
var (
	contract = []topic{
		{"tabs", "Tabs", (*suite).tabs},
		{"popups", "Popup windows", (*suite).popups},
		{"navigate", "Navigation", (*suite).navigate},
		{"history", "History", (*suite).history},
		{"error_pages", "Error pages", (*suite).errorPages},
		{"resubmission", "History", (*suite).resubmission},
		{"snapshot", "Snapshots", (*suite).snapshot},
		{"nested_frames", "Frames in snapshots", (*suite).nestedFrames},
		{"click", "Clicking", (*suite).click},
		{"click_targets", "Locators", (*suite).clickTargets},
		{"selectors", "Selectors", (*suite).selectors},
		{"refs", "Refs", (*suite).refs},
		{"shown_refs", "Refs", (*suite).shownRefs},
		{"type", "Typing", (*suite).typing},
		{"type_models", "Typing", (*suite).typingModels},
		{"press", "Keys", (*suite).press},
		{"clipboard", "Clipboard", (*suite).clipboard},
		{"hover", "Hovering", (*suite).hover},
		{"scroll", "Scrolling", (*suite).scroll},
		{"select_option", "Selecting options", (*suite).selectOption},
		{"fill_form", "Filling forms", (*suite).fillForm},
		{"secrets", "Secrets", (*suite).secrets},
		{"dialogs", "Dialogs", (*suite).dialogs},
		{"native_dialogs", "Native dialogs", (*suite).nativeDialogs},
		{"eval", "Evaluating", (*suite).eval},
		{"read", "Reading", (*suite).read},
		{"screenshot", "Screenshots", (*suite).screenshot},
		{"screenshot_formats", "Screenshots", (*suite).screenshotFormats},
		{"download", "Downloads", (*suite).download},
		{"drag", "Dragging", (*suite).drags},
		{"mouse", "Mouse at coordinates", (*suite).mouse},
		{"upload", "Uploads", (*suite).upload},
		{"save_pdf", "Saving as PDF", (*suite).savePDF},
		{"cookies", "Cookies", (*suite).cookies},
		{"storage", "Local and session storage", (*suite).storage},
		{"session_state", "Storage state", (*suite).sessionState},
		{"wait_for", "Waiting", (*suite).waitFor},
		{"gate", "Policy gate", (*suite).gate},
		{"denied_frames", "Policy gate", (*suite).deniedFrames},
		{"denied_pixels", "Policy gate", (*suite).deniedPixels},
		{"hostile_frame", "Hostile frames", (*suite).hostileFrame},
		{"denied_input", "Input and denied frames", (*suite).deniedInput},
		{"denied_pointer", "Input and denied frames", (*suite).deniedPointer},
		{"sessions", "Sessions", (*suite).sessions},
		{"concurrency", "Concurrent calls", (*suite).concurrency},
		{"console", "Console messages and errors", (*suite).inspectConsole},
		{"requests", "Network requests", (*suite).inspectRequests},
		{"emulation", "Emulation", (*suite).emulation},
		{"protocol", "Raw CDP commands", (*suite).protocol},
		{"events", "Events", (*suite).events},
		{"handover", "Handing a page over", (*suite).handover},
	}
	detailTopics = []topic{
		{"snapshot_states", "States in snapshots", (*suite).snapshotStates},
		{"snapshot_text", "Text in snapshots", (*suite).snapshotText},
		{"read_text", "Reading", (*suite).readingText},
		{"read_markdown", "Reading", (*suite).readingMarkdown},
		{"read_links", "Reading", (*suite).readingLinks},
		{"snapshot_structure", "Structure in snapshots", (*suite).snapshotStructure},
		{"snapshot_frames", "Frames in snapshots", (*suite).snapshotFrames},
		{"snapshot_shadow", "Shadow roots in snapshots", (*suite).snapshotShadow},
		{"snapshot_modal", "Modal dialogs and popovers", (*suite).snapshotModal},
		{"snapshot_refs", "Refs", (*suite).snapshotRefs},
		{"snapshot_long", "Long texts in snapshots", (*suite).snapshotLong},
		{"snapshot_rows", "Rows and nested clickables", (*suite).snapshotRows},
		{"snapshot_part", "Diffs of a part", (*suite).snapshotPart},
		{"snapshot_budget", "Snapshot options", (*suite).snapshotBudget},
		{"snapshot_secrets", "Secrets in snapshots", (*suite).snapshotSecrets},
		{"snapshot_secrets_inferred", "Secrets in snapshots", (*suite).snapshotInferredSecrets},
		{"snapshot_deep", "Deeply nested pages", (*suite).snapshotDeep},
		{"obstacles", "Obstacles", (*suite).obstacles},
		{"type_fields", "Typing", (*suite).typingFields},
		{"type_focus", "Typing", (*suite).typingFocus},
		{"type_editors", "Typing", (*suite).typingEditors},
		{"type_frameworks", "Typing", (*suite).typingFrameworks},
		{"press_keys", "Keys", (*suite).pressKeys},
		{"select_options", "Selecting options", (*suite).selectOptions},
		{"fill_forms", "Filling forms", (*suite).fillForms},
		{"navigation_dialogs", "Dialogs", (*suite).navigationDialogs},
		{"navigation_loading", "Navigation", (*suite).navigationLoading},
		{"navigation_history", "History", (*suite).navigationHistory},
		{"navigation_popups", "Popup windows", (*suite).navigationPopups},
		{"navigation_downloads", "Downloads", (*suite).navigationDownloads},
		{"navigation_hung_pages", "Hung pages", (*suite).hungPages},
		{"navigation_console_flood", "Console floods", (*suite).consoleFlood},
		{"navigation_waiting", "Waiting", (*suite).navigationWaiting},
		{"navigation_background_tabs", "Background tabs", (*suite).backgroundTabs},
		{"screenshot_details", "Screenshots", (*suite).screenshotDetails},
		{"zoom_details", "Zoomed pages", (*suite).zoomDetails},
		{"screenshot_content", "Screenshots", (*suite).screenshotContent},
		{"actionability", "Action points", (*suite).actionability},
		{"actionability_shapes", "Element shapes", (*suite).actionabilityShapes},
		{"actionability_frames", "Action points in frames", (*suite).actionabilityFrames},
		{"actionability_controls", "Controls", (*suite).actionabilityControls},
		{"covered", "Intercepting elements", (*suite).covered},
		{"actionability_wait", "Waiting for actionability", (*suite).actionabilityWait},
		{"hit_target", "Hit targets", (*suite).hitTarget},
		{"hover_menus", "Hovering", (*suite).hoverMenus},
		{"scroll_ends", "Scrolling", (*suite).scrollEnds},
		{"settle", "Settling after actions", (*suite).settle},
	}
)

// A Part selects topics of a suite, so that slow ones can run less often.
type Part int

// The parts.
const (
	Whole Part = iota
	Fast       // the topics that test most of a backend in little time
	Slow       // the others
)

// slowTopics are the topics of the part Slow. Their cases mainly test code that all backends share.
var slowTopics = []string{
	"snapshot", "click", "click_targets", "selectors", "refs", "type", "type_models", "press", "hover", "scroll", "select_option", "fill_form", "eval", "read",
	"shown_refs", "emulation", "drag", "mouse", "native_dialogs", "wait_for", "console", "requests", "denied_input", "denied_pixels", "denied_pointer", "screenshot_formats",
}

// has reports whether the part includes a topic.
func (p Part) has(topic string) bool {
	return p == Whole || slices.Contains(slowTopics, topic) == (p == Slow)
}

// A Case is one case of the suite.
type Case struct {
	Topic  string // name of its subtest
	About  string // heading of the topic, such as "Clicking"
	Case   string // name of the case, such as "temporarily covered"
	Page   string // file in testdata that it starts on; empty if it opens its own
	Detail bool   // part of [RunDetail], not of [Run]
	Deep   bool   // a deep test (see package tier)
}

// Cases lists the cases of [Run] and [RunDetail], by topic.
func Cases() []Case {
	var all []Case
	index := map[string]int{}
	for _, part := range []struct {
		topics []topic
		detail bool
	}{{contract, false}, {detailTopics, true}} {
		for _, t := range part.topics {
			if _, ok := index[t.about]; !ok {
				index[t.about] = len(index)
			}
			s := &suite{list: func(name, file string, deep bool) {
				all = append(all, Case{t.name, t.about, name, file, part.detail, deep})
			}}
			t.cases(s, nil)
		}
	}
	slices.SortStableFunc(all, func(a, b Case) int { return cmp.Compare(index[a.About], index[b.About]) })
	return all
}

// sorted iterates over a map in the order of its keys, because the list of cases must be the same
// each time.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
