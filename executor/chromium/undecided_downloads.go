package chromium

import (
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
)

const (
	// downloaderInterval is how often an unknown frame is looked up.
	downloaderInterval = 20 * time.Millisecond
	// maxUndecided is how many downloads may wait for a decision: their files already arrive.
	maxUndecided = 8
)

// undecidedDownloads are the downloads of one browser whose document is not known yet. The start of a
// download overtakes the events of the page: a frame that a script has just created, or that has just
// navigated, may not be known. Then the decision waits. The browser reports the end of the download
// only once, so its last state is stored. The zero value has no downloads. The methods are safe for
// concurrent use.
type undecidedDownloads struct {
	mu sync.Mutex // guards last
	// last has the states to report, by GUID: the latest, or the first with too many bytes and the
	// final one.
	last map[string][]cdpbrowser.EventDownloadProgress
}

// add adds a download. It returns false if too many downloads wait for a decision.
func (u *undecidedDownloads) add(guid string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.last) >= maxUndecided {
		return false
	}
	if u.last == nil {
		u.last = make(map[string][]cdpbrowser.EventDownloadProgress)
	}
	u.last[guid] = nil
	return true
}

// count returns the number of downloads that wait for a decision.
func (u *undecidedDownloads) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.last)
}

// has reports whether a download waits for a decision.
func (u *undecidedDownloads) has(guid string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.last[guid]
	return ok
}

// progressed stores the progress of a download. It returns false if the download does not wait for a
// decision. It calls cancel once if more than limit bytes have arrived; that state is then reported
// before the final one, so that the download is reported as too large and its file is removed.
func (u *undecidedDownloads) progressed(e cdpbrowser.EventDownloadProgress, limit float64, cancel func(guid string)) bool {
	u.mu.Lock()
	last, ok := u.last[e.GUID]
	exceeded := len(last) > 0 && last[0].ReceivedBytes > limit
	switch {
	case ok && !exceeded:
		u.last[e.GUID] = []cdpbrowser.EventDownloadProgress{e}
	case ok && e.State != cdpbrowser.DownloadProgressStateInProgress:
		u.last[e.GUID] = []cdpbrowser.EventDownloadProgress{last[0], e}
	}
	u.mu.Unlock()
	if ok && !exceeded && e.ReceivedBytes > limit {
		cancel(e.GUID)
	}
	return ok
}

// remove removes a download, and returns the states to report.
func (u *undecidedDownloads) remove(guid string) []cdpbrowser.EventDownloadProgress {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last[guid]
	delete(u.last, guid)
	return last
}

// awaitDownloader waits until known returns true, but at most for limit.
func awaitDownloader(limit time.Duration, known func() bool) {
	for end := time.Now().Add(limit); !known() && time.Now().Before(end); {
		time.Sleep(downloaderInterval)
	}
}
