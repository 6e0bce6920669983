package chromium

import "testing"

// TestPoolStorage checks that a page in a shared browser, which stores everything in memory, gets a
// small quota.
func TestPoolStorage(t *testing.T) {
	site := newPoolSite(t)
	p, dir := newPool(t)
	s := newSession(t, inPool(t, p, dir, "127.0.0.1"))
	mustNavigate(t, s, site.on("127.0.0.1", "/"))
	got := eval(t, s, `(async () => {
		const dir = await navigator.storage.getDirectory();
		const chunk = new Uint8Array(32 << 20);
		for (let n = 0; n < 12; n++) {
			const w = await (await dir.getFileHandle('f' + n, {create: true})).createWritable();
			try { await w.write(chunk); await w.close(); } catch (e) { return e.name; }
		}
		return 'stored';
	})()`)
	if got != `"QuotaExceededError"` {
		t.Errorf("storing 384 MiB: %s", got)
	}
}
