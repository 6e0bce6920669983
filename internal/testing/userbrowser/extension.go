package userbrowser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// limit matches a hang limit of the extension's timing.js.
var limit = regexp.MustCompile(`(?m)^(\s+\w+: )([\d_]+),$`)

// WriteExtension writes the extension to dir, for a browser to load unpacked. Its hang limits are
// scaled like those of the test, see [timing.Scale].
func WriteExtension(t testing.TB, dir string) {
	t.Helper()
	if err := extension.Write(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "timing.js")
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, limits, found := strings.Cut(string(source), "hangLimits:")
	scaled := limit.ReplaceAllStringFunc(limits, func(line string) string {
		m := limit.FindStringSubmatch(line)
		ms, err := strconv.Atoi(strings.ReplaceAll(m[2], "_", ""))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return m[1] + strconv.Itoa(ms*timing.Scale()) + ","
	})
	if !found || !limit.MatchString(limits) {
		t.Fatalf("%s has no hang limits", path)
	}
	if err := os.WriteFile(path, []byte(before+"hangLimits:"+scaled), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Worker runs an expression in the extension's worker.
func (b *Browser) Worker(t testing.TB, expression string, result any) {
	t.Helper()
	b.WithSession(t, b.Find(t, "service_worker", extension.ID()).ID, func(session string) {
		await.Until(t, "the worker to begin", func() bool {
			var begun bool
			b.Eval(t, session, "typeof chrome === 'object' && !!chrome.debugger", &begun)
			return begun
		})
		b.Eval(t, session, expression, result)
	})
}

// Popup opens the popup as the toolbar button does, calls work and closes the popup.
func (b *Browser) Popup(t testing.TB, work func(session string)) {
	t.Helper()
	await.Until(t, "the popup to open", func() bool { // Chromium rejects this while a window is being activated
		var opened bool
		b.Worker(t, `chrome.action.openPopup().then(() => true, (e) => {
			if (!/Failed to open popup/.test(e.message)) throw e;
			return false;
		})`, &opened)
		return opened
	})
	p := b.Find(t, "page", "/popup.html")
	b.WithSession(t, p.ID, work)
	b.closeTarget(t, p)
}

// KillWorker ends the extension's service worker.
func (b *Browser) KillWorker(t testing.TB) {
	t.Helper()
	b.closeTarget(t, b.Find(t, "service_worker", extension.ID()))
}

// closeTarget closes a target, and waits until no other command finds it.
func (b *Browser) closeTarget(t testing.TB, target Target) {
	t.Helper()
	<-b.Send("", "Target.closeTarget", map[string]any{"targetId": target.ID})
	await.Until(t, target.URL+" to close", func() bool {
		for _, x := range b.Targets(t) {
			if x.ID == target.ID {
				return false
			}
		}
		return true
	})
}

// Click waits for an enabled element with a text, and clicks it.
func (b *Browser) Click(t testing.TB, session, selector, text string) {
	t.Helper()
	await.Until(t, fmt.Sprintf("%s %q", selector, text), func() bool {
		var done bool
		b.Eval(t, session, withElement(selector, text, "e?.click(); return !!e"), &done)
		return done
	})
}

// ClickAndClose clicks an element of a target that may close with the click, so that the browser never
// responds to it.
func (b *Browser) ClickAndClose(t testing.TB, target Target, selector, text string) {
	t.Helper()
	b.WithSession(t, target.ID, func(session string) {
		await.Until(t, fmt.Sprintf("%s %q", selector, text), func() bool {
			var found bool
			b.Eval(t, session, withElement(selector, text, "return !!e"), &found)
			return found
		})
		clicked := b.Send(session, "Runtime.evaluate", map[string]any{"expression": withElement(selector, text, "e.click()"), "userGesture": true})
		await.Until(t, target.URL+" to respond or close", func() bool {
			select {
			case <-clicked:
				return true
			default:
			}
			return !slices.ContainsFunc(b.Targets(t), func(x Target) bool { return x.ID == target.ID })
		})
	})
}

// withElement returns an expression that runs a script with the enabled element e that has a text.
func withElement(selector, text, script string) string {
	return fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%q)].find((e) => e.textContent.trim() === %q && !e.disabled);
		%s;
	})()`, selector, text, script)
}
