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
	var d documentResponses
	d.responded("here", "here", &network.Response{Status: 200})
	for i := range 1000 {
		d.responded(cdp.LoaderID(fmt.Sprint(i)), "here", &network.Response{Status: 204})
	}
	if n := len(d.byLoader); n != 2 || d.of("here").status != 200 || d.of("999").status != 204 {
		t.Errorf("%d responses are stored: %v", n, d.byLoader)
	}
}
