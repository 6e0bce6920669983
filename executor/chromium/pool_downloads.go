package chromium

import (
	"github.com/chromedp/cdproto/browser"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// downloadBegan passes a download to the instance whose tab started it. While the frame that started
// it is unknown, the download waits for a decision. A download that no tab started is canceled.
func (b *pooledBrowser) downloadBegan(e browser.EventDownloadWillBegin) {
	if in := b.downloader(e); in != nil {
		in.downloads.began(e)
		return
	}
	if !b.undecided.add(e.GUID) {
		b.cancelDownload(e.GUID)
		return
	}
	b.work.Go(func() {
		awaitDownloader(timing.Current().AttachTab, func() bool { return b.downloader(e) != nil || b.conn.Err() != nil })
		if in := b.downloader(e); in != nil && b.startWork(in) {
			defer in.work.Done()
			in.downloads.began(e)
		} else {
			b.cancelDownload(e.GUID)
		}
		for _, last := range b.undecided.remove(e.GUID) {
			b.downloadProgressed(last)
		}
	})
}

// downloader returns the instance whose tab started a download, or nil if it is unknown.
func (b *pooledBrowser) downloader(e browser.EventDownloadWillBegin) *instance {
	for _, in := range b.all() {
		if tab, _ := in.tabs.downloader(string(e.FrameID)); tab != nil {
			return in
		}
	}
	return nil
}

// startWork adds one to r.work, unless r leaves the browser.
func (b *pooledBrowser) startWork(in *instance) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.instances[in.contextID] != in {
		return false
	}
	in.work.Add(1)
	return true
}

// cancelDownload cancels a download of any instance, because the events do not name the context.
func (b *pooledBrowser) cancelDownload(guid string) {
	for _, in := range b.all() {
		in.downloads.cancel(guid)
	}
}

// downloadProgressed passes the progress of a download to the instance that it belongs to. Without
// one, it was denied.
func (b *pooledBrowser) downloadProgressed(e browser.EventDownloadProgress) {
	instances := b.all()
	var limit float64
	for _, in := range instances {
		limit = max(limit, in.downloads.limit())
	}
	if b.undecided.progressed(e, limit, b.cancelDownload) {
		return
	}
	for _, in := range instances {
		if in.downloads.has(e.GUID) {
			in.downloads.progressed(e)
			return
		}
	}
	for _, in := range instances {
		in.downloads.progressed(e) // discards the file
	}
}
