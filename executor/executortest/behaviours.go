package executortest

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"testing"
)

//go:generate go run ./gen ../../docs/behaviour.md

// A topic is a group of cases.
type topic struct {
	name  string
	about string // what the cases are of, as a heading
	cases func(*suite, *testing.T)
}

// contract are the topics of Run, torture those of Torture. A topic of both
// has one heading.
var (
	contract = []topic{
		{"tabs", "Tabs", (*suite).tabs},
		{"popups", "Popups", (*suite).popups},
		{"navigate", "Going to pages", (*suite).navigate},
		{"history", "History", (*suite).history},
		{"snapshot", "Snapshots", (*suite).snapshot},
		{"click", "Clicking", (*suite).click},
		{"click_targets", "Finding what to act on", (*suite).clickTargets},
		{"refs", "Refs", (*suite).refs},
		{"type", "Typing", (*suite).typing},
		{"press", "Keys", (*suite).press},
		{"hover", "Hovering", (*suite).hover},
		{"scroll", "Scrolling", (*suite).scroll},
		{"select_option", "Choosing options", (*suite).selectOption},
		{"fill_form", "Filling forms", (*suite).fillForm},
		{"dialogs", "Dialogs", (*suite).dialogs},
		{"native_dialogs", "Dialogs of the browser", (*suite).nativeDialogs},
		{"eval", "Evaluating", (*suite).eval},
		{"read", "Reading", (*suite).read},
		{"screenshot", "Pictures", (*suite).screenshot},
		{"download", "Downloads", (*suite).download},
		{"drag", "Dragging", (*suite).drags},
		{"mouse", "The mouse at a place", (*suite).mousing},
		{"upload", "Uploads", (*suite).upload},
		{"save_pdf", "Pages as PDF files", (*suite).savePDF},
		{"cookies", "Cookies", (*suite).cookieJar},
		{"storage", "Local and session storage", (*suite).storage},
		{"session_state", "What sites keep, in files", (*suite).sessionState},
		{"wait_for", "Waiting", (*suite).waitFor},
		{"gate", "What the policy denies", (*suite).gate},
		{"denied_frames", "What the policy denies", (*suite).deniedFrames},
		{"denied_pixels", "What the policy denies", (*suite).deniedPixels},
		{"hostile_frame", "Hostile frames", (*suite).hostileFrame},
		{"denied_input", "Input and denied frames", (*suite).deniedInput},
		{"denied_pointer", "Input and denied frames", (*suite).deniedPointer},
		{"sessions", "Sessions", (*suite).sessions},
		{"concurrency", "Several calls at once", (*suite).concurrency},
		{"console", "What pages say", (*suite).inspectConsole},
		{"requests", "What pages load", (*suite).inspectRequests},
		{"emulation", "What pages are shown", (*suite).emulation},
		{"protocol", "Raw calls", (*suite).protocol},
		{"events", "Events", (*suite).events},
	}
	torture = []topic{
		{"snapshot_states", "States in snapshots", (*suite).snapshotStates},
		{"snapshot_text", "Text in snapshots", (*suite).snapshotText},
		{"read_text", "Reading", (*suite).readingText},
		{"read_markdown", "Reading", (*suite).readingMarkdown},
		{"read_links", "Reading", (*suite).readingLinks},
		{"snapshot_structure", "Structure in snapshots", (*suite).snapshotStructure},
		{"snapshot_frames", "Frames in snapshots", (*suite).snapshotFrames},
		{"snapshot_shadow", "Shadow roots in snapshots", (*suite).snapshotShadow},
		{"snapshot_modal", "What is in front", (*suite).snapshotModal},
		{"snapshot_refs", "Refs", (*suite).snapshotRefs},
		{"snapshot_long", "Long texts in snapshots", (*suite).snapshotLong},
		{"snapshot_rows", "Rows and nested clickables", (*suite).snapshotRows},
		{"snapshot_part", "Differences of a part", (*suite).snapshotPart},
		{"snapshot_budget", "Parts of snapshots", (*suite).snapshotBudget},
		{"snapshot_secrets", "Secrets in snapshots", (*suite).snapshotSecrets},
		{"snapshot_secrets_untold", "Secrets in snapshots", (*suite).snapshotSecretsUntold},
		{"snapshot_deep", "Pages that are deep", (*suite).snapshotDeep},
		{"obstacles", "What stands in the way", (*suite).obstacles},
		{"type_fields", "Typing", (*suite).tortureFields},
		{"type_focus", "Typing", (*suite).tortureFocus},
		{"type_editors", "Typing", (*suite).tortureEditors},
		{"type_frameworks", "Typing", (*suite).tortureFrameworks},
		{"press_keys", "Keys", (*suite).tortureKeys},
		{"select_options", "Choosing options", (*suite).tortureOptions},
		{"fill_forms", "Filling forms", (*suite).tortureForms},
		{"travel_dialogs", "Dialogs", (*suite).travelDialogs},
		{"travel_loading", "Going to pages", (*suite).travelLoading},
		{"travel_history", "History", (*suite).travelHistory},
		{"travel_popups", "Popups", (*suite).travelPopups},
		{"travel_downloads", "Downloads", (*suite).travelDownloads},
		{"travel_stuck", "Pages that hang", (*suite).travelStuck},
		{"travel_flood", "Pages that say too much", (*suite).travelFlood},
		{"travel_waiting", "Waiting", (*suite).travelWaiting},
		{"travel_behind", "Tabs that are not in front", (*suite).travelBehind},
		{"travel_picture", "Pictures", (*suite).travelPicture},
		{"travel_zoom", "Pages that were zoomed", (*suite).travelZoom},
		{"travel_sheet", "Pictures", (*suite).travelSheet},
		{"aim", "Aiming", (*suite).aim},
		{"aim_shapes", "Shapes to aim at", (*suite).aimShapes},
		{"aim_frames", "Aiming into frames", (*suite).aimFrames},
		{"aim_controls", "Controls to aim at", (*suite).aimControls},
		{"cover", "What is in the way", (*suite).cover},
		{"patience", "Waiting until it can be acted on", (*suite).patience},
		{"confirm", "Who got the click", (*suite).confirm},
		{"hover_menus", "Hovering", (*suite).tortureHover},
		{"scroll_ends", "Scrolling", (*suite).tortureScroll},
		{"settle", "Coming to rest after an action", (*suite).settle},
	}
)

// A Part is some of a suite's topics, for tests that are run often and seldom.
type Part int

// The parts.
const (
	Whole  Part = iota
	Often       // what tells most of a backend in the time that it takes
	Seldom      // the rest
)

// seldom are the topics of the part Seldom: of Run, those whose cases meet little
// but the code that all backends share; of Torture, large pages, many frames and
// long waits.
var seldom = []string{
	"snapshot", "click", "click_targets", "refs", "type", "press", "hover", "scroll", "select_option", "fill_form", "eval", "read",
	"drag", "mouse", "native_dialogs", "wait_for", "console", "requests", "denied_pointer",

	"snapshot_frames", "snapshot_shadow", "snapshot_budget", "snapshot_deep", "type_focus", "type_editors", "type_frameworks", "press_keys",
	"travel_dialogs", "travel_loading", "travel_history", "travel_popups", "travel_downloads", "travel_stuck", "travel_waiting",
	"travel_behind", "travel_picture", "travel_zoom", "travel_sheet", "aim_frames", "aim_controls", "aim_shapes",
}

// has reports whether a part has a topic.
func (p Part) has(topic string) bool {
	return p == Whole || slices.Contains(seldom, topic) == (p == Seldom)
}

// A Behaviour is one case of the suite.
type Behaviour struct {
	Topic   string // the name of the subtest that it is in
	About   string // the topic as a heading: "Clicking"
	Case    string // what the case is about: "covered for a while"
	Page    string // the file in testdata that it begins on; empty when it opens its own
	Torture bool   // it belongs to [Torture], not to [Run]
}

// Behaviours lists the cases of [Run] and [Torture], by topic.
func Behaviours() []Behaviour {
	var all []Behaviour
	place := map[string]int{}
	for _, part := range []struct {
		topics  []topic
		torture bool
	}{{contract, false}, {torture, true}} {
		for _, t := range part.topics {
			if _, ok := place[t.about]; !ok {
				place[t.about] = len(place)
			}
			s := &suite{list: func(name, file string) {
				all = append(all, Behaviour{t.name, t.about, name, file, part.torture})
			}}
			t.cases(s, nil)
		}
	}
	slices.SortStableFunc(all, func(a, b Behaviour) int { return cmp.Compare(place[a.About], place[b.About]) })
	return all
}

// sorted goes through a map in the order of its keys: the list of the cases
// must be the same each time.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
