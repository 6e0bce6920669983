package extension_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

var screenshots = flag.String("screenshots", "", "write screenshots of the extension pages for the documents to this directory")

var storeImages = flag.String("store-images", "", "write the images for the Chrome Web Store to this directory")

// The size of the images for the Chrome Web Store.
const storeWidth, storeHeight = 1280, 800

// TestScreenshots takes the screenshots of the documents, and with -store-images (make store) those
// of the Chrome Web Store:
//
//	go test ./extension -run TestScreenshots -screenshots "$PWD/docs"
func TestScreenshots(t *testing.T) {
	if *screenshots == "" && *storeImages == "" {
		t.Skip("writes files; requires -screenshots or -store-images")
	}
	web := newSite(t)
	b := start(t, "--host-resolver-rules="+fmt.Sprintf("MAP *.example 127.0.0.1:%d", web.port()))
	policy := wire.Policy{Allow: []string{"http://shop.example", "http://tickets.example", "http://mail.example"}, Subresources: "public"}
	claude, editor := newServer(t, "Claude Code", policy), newServer(t, "Zed", wire.Policy{Allow: []string{"http://docs.example"}, Subresources: "public"})
	claude.version, editor.version = "1.0.0", "1.0.0"
	b.run(claude, editor)
	tabs := []struct{ url, title string }{
		{"http://tickets.example/board/7", "Board 7 — Tickets"},
		{"http://docs.example/guide/start", "Getting started — Docs"},
		{"http://shop.example/orders/1042", "Order 1042 — Shop"},
	}
	page := b.Find(t, "page", "about:blank")
	ids := map[string]int{}
	for i, tab := range tabs {
		target := url.QueryEscape(tab.title)
		if i == 0 {
			b.GoTo(t, page.ID, tab.url+"?title="+target)
		} else {
			var made struct {
				TargetID string `json:"targetId"`
			}
			b.Call(t, "", "Target.createTarget", map[string]any{"url": tab.url + "?title=" + target}, &made)
		}
		await.Until(t, tab.title, func() bool {
			title, _ := json.Marshal(tab.title)
			var id int
			b.Worker(t, fmt.Sprintf("chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.title === %s)?.id ?? 0)", title), &id)
			ids[tab.url] = id
			return id != 0
		})
		b.Popup(t, func(s string) {
			if i == 1 {
				b.Eval(t, s, "document.getElementById('until').value = 'time'", nil)
			}
			b.Click(t, s, "#share", "Share this tab")
		})
	}
	c, e := claude.next(t), editor.next(t)
	shop, docs := ids["http://shop.example/orders/1042"], ids["http://docs.example/guide/start"]
	c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: shop}, &wire.Tab{})
	e.call(t, wire.MethodTabAttach, wire.TabRef{TabID: docs}, &wire.Tab{})
	e.cdp(t, docs, "Page.captureScreenshot", map[string]any{"format": "jpeg", "quality": 1})
	click := map[string]any{"type": "mousePressed", "x": 5, "y": 5, "button": "left", "clickCount": 1}
	c.cdp(t, shop, "Input.dispatchMouseEvent", click)
	c.start(wire.MethodConsent, wire.PromptParams{Kind: "eval", Origin: "http://shop.example", Call: "1"})

	// A popup is at most 600 pixels high. In a separate window, all of it is
	// visible.
	b.Worker(t, `chrome.windows.getLastFocused().then((w) => chrome.windows.create({ url: 'popup.html', focused: false }).then(() => chrome.windows.update(w.id, { focused: true }))).then(() => 1)`, nil)
	popup := b.Find(t, "page", "/popup.html")
	b.WithSession(t, popup.ID, func(s string) {
		b.shows(t, s, "#questions", "wants to run")
		b.shows(t, s, "#title", "Order 1042")
		b.Call(t, s, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 384, "height": 400, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.holds(t, s, "![...document.querySelectorAll('#questions button')].some((e) => e.disabled)")
		b.screenshot(t, s, "extension-popup.png")
		b.storeImage(t, s, "1-popup.png")
		b.Click(t, s, "#questions button", "Allow this session")
	})
	c.start(wire.MethodHandover, wire.HandoverParams{ID: "1", TabID: shop, Message: "Enter the code from your phone to sign in. I will continue with the order after that."})
	b.WithSession(t, popup.ID, func(s string) {
		b.shows(t, s, "#questions", "asks you to act on")
		b.Call(t, s, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 384, "height": 400, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.holds(t, s, "![...document.querySelectorAll('#questions button')].some((e) => e.disabled)")
		b.screenshot(t, s, "extension-handover.png")
		b.Click(t, s, "#questions button", "Done")
	})
	var opened struct {
		TargetID string `json:"targetId"`
	}
	b.Call(t, "", "Target.createTarget", map[string]any{"url": "chrome-extension://" + extension.ID() + "/options.html"}, &opened)
	b.WithSession(t, opened.TargetID, func(s string) {
		b.shows(t, s, "#servers", "Claude Code")
		for _, site := range []string{"bank.example", "mail.example/settings"} {
			b.fill(t, s, "#pattern", site)
			b.Click(t, s, "#block button", "Block")
			b.shows(t, s, "#blocked", site)
		}
		b.shows(t, s, "#log", "Allowed scripts")
		b.Eval(t, s, "document.activeElement.blur()", nil)
		b.Call(t, s, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 720, "height": 400, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.screenshot(t, s, "extension-options.png")
		if *storeImages != "" {
			b.Call(t, s, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 600, "height": 400, "deviceScaleFactor": 1, "mobile": false}, nil)
			b.storeImage(t, s, "2-options.png")
		}
	})
}

// screenshot writes a screenshot of a page for the documents.
func (b *browser) screenshot(t *testing.T, session, name string) {
	t.Helper()
	if *screenshots == "" {
		return
	}
	sides := b.sides(t, session)
	const gap = 24
	a, z := sides[0].Bounds(), sides[1].Bounds()
	writePNG(t, filepath.Join(*screenshots, name), sideBySide(sides, a.Dx()+z.Dx()+3*gap, max(a.Dy(), z.Dy())+2*gap))
}

// storeImage writes a screenshot of a page for the Chrome Web Store.
func (b *browser) storeImage(t *testing.T, session, name string) {
	t.Helper()
	if *storeImages == "" {
		return
	}
	writePNG(t, filepath.Join(*storeImages, name), sideBySide(b.sides(t, session), storeWidth, storeHeight))
}

// sides takes screenshots of a page in light and in dark.
func (b *browser) sides(t *testing.T, session string) []image.Image {
	t.Helper()
	var sides []image.Image
	for _, scheme := range []string{"light", "dark"} {
		b.Call(t, session, "Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, nil)
		b.Call(t, session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		var size struct{ Width, Height float64 }
		b.Eval(t, session, "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r({ Width: innerWidth, Height: document.body.offsetHeight }))))", &size)
		var shot struct {
			Data string `json:"data"`
		}
		b.Call(t, session, "Page.captureScreenshot", map[string]any{
			"captureBeyondViewport": true, "clip": map[string]any{"x": 0, "y": 0, "width": size.Width, "height": size.Height, "scale": 1},
		}, &shot)
		data, err := base64.StdEncoding.DecodeString(shot.Data)
		if err != nil {
			t.Fatal(err)
		}
		side, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, side)
	}
	return sides
}

// sideBySide draws two images side by side on a canvas with the given size, in the middle. An image
// that is too high continues below the canvas.
func sideBySide(sides []image.Image, width, height int) image.Image {
	both := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(both, both.Bounds(), image.NewUniform(color.RGBA{0x8a, 0x93, 0x9e, 0xff}), image.Point{}, draw.Src)
	a, z := sides[0].Bounds(), sides[1].Bounds()
	gap := (width - a.Dx() - z.Dx()) / 3
	top := max(24, (height-max(a.Dy(), z.Dy()))/2)
	draw.Draw(both, a.Add(image.Pt(gap, top)), sides[0], a.Min, draw.Src)
	draw.Draw(both, z.Add(image.Pt(2*gap+a.Dx(), top)), sides[1], z.Min, draw.Src)
	return both
}

// writePNG writes an image to a file.
func writePNG(t *testing.T, path string, img image.Image) {
	t.Helper()
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
