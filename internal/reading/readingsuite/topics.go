// Package readingsuite has the cases of what is read from pages: snapshots, refs, text, markup and
// screenshots. Their subjects are packages reading, elements and capture, which all backends use, so that the landing tests
// run them on one backend.
package readingsuite

import "github.com/chrome-mcp/chrome-mcp/internal/testing/suite"

// Topics are the cases that landing tests run.
var Topics = []suite.Topic{
	{Name: "snapshot", Cases: snapshot},
	{Name: "selectors", Cases: selectors},
	{Name: "shown_refs", Cases: shownRefs},
	{Name: "eval", Cases: eval},
	{Name: "read", Cases: read},
	{Name: "screenshot_formats", Cases: screenshotFormats},
}

// Details are the cases of unusual pages, which deep tests run.
var Details = []suite.Topic{
	{Name: "snapshot_states", Cases: snapshotStates},
	{Name: "snapshot_text", Cases: snapshotText},
	{Name: "read_text", Cases: readingText},
	{Name: "read_markdown", Cases: readingMarkdown},
	{Name: "read_links", Cases: readingLinks},
	{Name: "snapshot_structure", Cases: snapshotStructure},
	{Name: "snapshot_frames", Cases: snapshotFrames},
	{Name: "snapshot_shadow", Cases: snapshotShadow},
	{Name: "snapshot_modal", Cases: snapshotModal},
	{Name: "snapshot_refs", Cases: snapshotRefs},
	{Name: "snapshot_long", Cases: snapshotLong},
	{Name: "snapshot_rows", Cases: snapshotRows},
	{Name: "snapshot_part", Cases: snapshotPart},
	{Name: "snapshot_budget", Cases: snapshotBudget},
	{Name: "snapshot_secrets", Cases: snapshotSecrets},
	{Name: "snapshot_secrets_inferred", Cases: snapshotInferredSecrets},
	{Name: "snapshot_deep", Cases: snapshotDeep},
	{Name: "obstacles", Cases: obstacles},
	{Name: "screenshot_details", Cases: screenshotDetails},
	{Name: "zoom_details", Cases: zoomDetails},
	{Name: "screenshot_content", Cases: screenshotContent},
}
