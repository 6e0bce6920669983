package extension

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// A recording acknowledges the frames of a client's screencast, and records their colors.
type recording struct {
	*cdpPeer
	session string
	read    int // number of the client's events that were read
	colors  map[string]int
}

// next waits for a frame in a color.
func (r *recording) next(color string) {
	r.t.Helper()
	await.Until(r.t, "a frame in "+color, func() bool {
		return r.frames()[color] > 0
	})
}

// frames reads the frames that have arrived since the last call, and returns how many have each color.
func (r *recording) frames() map[string]int {
	r.t.Helper()
	r.mu.Lock()
	events := r.events[r.read:]
	r.read = len(r.events)
	r.mu.Unlock()
	found := make(map[string]int)
	for _, m := range events {
		if m.Method != "Page.screencastFrame" || m.SessionID != r.session {
			continue
		}
		var frame struct {
			Data      string `json:"data"`
			SessionID int    `json:"sessionId"`
		}
		if err := json.Unmarshal(m.Params, &frame); err != nil {
			r.t.Fatal(err)
		}
		data, err := base64.StdEncoding.DecodeString(frame.Data)
		if err != nil {
			r.t.Fatal(err)
		}
		image, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			r.t.Fatal(err)
		}
		color := "another color"
		switch red, green, blue, _ := image.At(image.Bounds().Dx()/2, image.Bounds().Dy()/2).RGBA(); {
		case red > 0xc000 && green < 0x4000 && blue < 0x4000:
			color = "red"
		case green > 0xc000 && red < 0x4000 && blue < 0x4000:
			color = "lime"
		case blue > 0xc000 && red < 0x4000 && green < 0x4000:
			color = "blue"
		}
		found[color]++
		r.colors[color]++
		r.call(r.session, "Page.screencastFrameAck", map[string]any{"sessionId": frame.SessionID}, nil)
	}
	return found
}

// TestCDPScreencast records a tab that shows a denied document for some time, and has two clients and
// a tool.
func TestCDPScreencast(t *testing.T) {
	env := newCDPEnv(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>Shop</title><body style="background: lime"><script>
			// go draws the page in a color at another URL.
			const go = async (path, color) => {
				history.pushState({}, '', path);
				document.body.style.background = color;
				for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
				return color;
			};
		</script>`)
	}))
	t.Cleanup(site.Close)
	env.u.act("settings", map[string]any{"patch": map[string]any{"blockList": []string{"127.0.0.1/account"}}})
	// A shared tab would no longer be shared on the block list.
	id := openTab(t, env.s, site.URL+"/")
	page := env.u.target("page", strings.TrimPrefix(site.URL, "http://"))
	goTo := func(path, color string) {
		t.Helper()
		var drawn string
		if env.u.eval(page, fmt.Sprintf("go(%q, %q)", path, color), &drawn); drawn != color {
			t.Fatalf("the page is %q", drawn)
		}
	}

	first, second := connectNamed(t, env.b, "first"), connectNamed(t, env.b, "second")
	inFirst, inSecond := first.attachAll(site.URL+"/"), second.attachAll(site.URL+"/")
	params := map[string]any{"format": "jpeg", "maxWidth": 200, "maxHeight": 200}
	first.call(inFirst, "Page.startScreencast", params, nil)
	r := &recording{cdpPeer: first, session: inFirst, colors: make(map[string]int)}
	r.next("lime")
	second.denied(inSecond, "Page.startScreencast", params, "first records this tab")

	// The client receives no frame of the denied document, and the others again after it.
	goTo("/account", "red")
	second.denied(inSecond, "Page.captureScreenshot", nil, "")
	goTo("/next", "blue")
	r.next("blue")
	if r.colors["red"] > 0 {
		t.Errorf("the client received %d frames of the denied document", r.colors["red"])
	}

	// Tools also use the screencast of the tab, and do not end that of the client.
	tools := pagetest.Of(env.s, id)
	if _, err := tools.Screenshot(t.Context(), nil); err != nil {
		t.Error(err)
	}
	goTo("/third", "lime")
	r.next("lime")
	if second.count(inSecond, "Page.screencastFrame") > 0 {
		t.Error("the client that did not start the screencast received frames")
	}

	first.close()
	second.call(inSecond, "Page.startScreencast", params, nil)
	(&recording{cdpPeer: second, session: inSecond, colors: make(map[string]int)}).next("lime")
	second.call(inSecond, "Page.stopScreencast", nil, nil)
	if _, err := tools.Screenshot(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
