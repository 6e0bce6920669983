package page

import (
	"testing"

	"github.com/chromedp/cdproto/runtime"
)

// TestMessagesOfHandover checks that console messages of a handover are not recorded when the browser
// reports them again, also if nothing was recorded during the handover.
func TestMessagesOfHandover(t *testing.T) {
	for name, recorded := range map[string]bool{"recorded before": true, "recorded later": false} {
		t.Run(name, func(t *testing.T) {
			var tab Tab
			report := func(at runtime.Timestamp) (accepted bool) {
				if !tab.recording.accepts(at) {
					return false
				}
				tab.recording.update(func(l *activityLog) { accepted = !l.alreadyRecorded(at) })
				return accepted
			}
			if recorded {
				tab.recording.start()
			}
			if report(1) != recorded {
				t.Errorf("a message before the handover is accepted: %t", !recorded)
			}
			tab.recording.pause()
			report(2)
			tab.recording.unpause()
			tab.recording.update((*activityLog).pause) // the tab is detached
			if !recorded {
				tab.recording.start()
			}
			if report(1) || report(2) {
				t.Error("a message up to the end of the handover is accepted later")
			}
			if !report(3) {
				t.Error("a message after the handover is not accepted")
			}
		})
	}
}
