package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// TestManyResponses checks that, of the documents that a page requests and that are never loaded,
// only the last is stored in addition to the current document.
func TestManyResponses(t *testing.T) {
	tab := &Tab{main: "top", frames: map[cdp.FrameID]*frame{"top": {id: "top", loader: "here"}}, status: make(map[cdp.LoaderID]response)}
	tab.responded("here", &network.Response{Status: 200})
	for i := range 1000 {
		tab.responded(cdp.LoaderID(fmt.Sprint(i)), &network.Response{Status: 204})
	}
	if n := len(tab.status); n != 2 || tab.status["here"].status != 200 || tab.status["999"].status != 204 {
		t.Errorf("%d responses are stored: %v", n, tab.status)
	}
}
