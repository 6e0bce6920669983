package userbrowser

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

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
	b.Worker(t, "chrome.action.openPopup()", nil)
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
		b.Eval(t, session, fmt.Sprintf(`(() => {
			const e = [...document.querySelectorAll(%q)].find((e) => e.textContent.trim() === %q && !e.disabled);
			e?.click();
			return !!e;
		})()`, selector, text), &done)
		return done
	})
}
