package obstacle

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that detecting an obstacle in repetitive text takes limited
// time.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) {
		url := "http://a.example/" + text
		_ = FromResponse(url, text, 403)
		texts := []string{text, "x" + text}
		view := View{Text: text, Heading: text, Passwords: texts}
		frames := []Frame{{URL: url, Name: text, Width: 300, Height: 80}}
		_ = Detect(&Signals{
			URL: url, Status: 200, FrameURLs: []string{url, text}, Title: text, Widgets: texts, Frames: frames, Scripts: []string{url, text},
			Cover: &Cover{View: view, Share: 9, Of: 9, Names: text, Frames: frames}, View: view,
		})
	})
}
