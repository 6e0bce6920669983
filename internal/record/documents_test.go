package record

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// TestManyResponses checks that, of the documents that a page requests and that are never loaded,
// only the last is stored in addition to the current document.
func TestManyResponses(t *testing.T) {
	var d Documents
	d.Responded("here", "here", &network.Response{Status: 200})
	for i := range 1000 {
		d.Responded(cdp.LoaderID(fmt.Sprint(i)), "here", &network.Response{Status: 204})
	}
	if n := len(d.byLoader); n != 2 || d.Of("here").Status != 200 || d.Of("999").Status != 204 {
		t.Errorf("%d responses are stored: %v", n, d.byLoader)
	}
}
