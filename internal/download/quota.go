package download

import (
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// The defaults of [NewQuota].
const (
	DefaultParallel = 8
	DefaultTotal    = 2 << 30
)

// maxFiles limits the files of a [Quota]: empty files also use disk space, and a
// page can start ten downloads per second.
const maxFiles = 10_000

// A Quota limits all downloads of one browser instance: the number of concurrent downloads, the
// number of files, and the total size. Without it, a page could start any number of downloads. A
// Quota is safe for concurrent use. A nil Quota has no limits.
type Quota struct {
	parallel int
	total    int64
	dir      string                          // of existing
	existing func() (bytes int64, files int) // nil unless existing files count

	mu      sync.Mutex // guards the fields below
	running int
	used    int64
	files   int
}

// NewQuota returns a Quota of parallel concurrent downloads and total bytes. 0 means
// DefaultParallel and DefaultTotal.
func NewQuota(parallel int, total int64) *Quota {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	if total <= 0 {
		total = DefaultTotal
	}
	return &Quota{parallel: parallel, total: total}
}

// CountExisting makes existing files count toward the limits: those of which used returns the total
// size and the number, such as the ones in dir. Call it before the Quota is used. Nil means that no
// existing files count.
func (q *Quota) CountExisting(dir string, used func() (bytes int64, files int)) {
	q.dir, q.existing = dir, used
}

// A Share is the part of a Quota that one running download uses.
type Share struct {
	quota *Quota
	once  sync.Once
}

// Begin registers the start of a download. It returns ErrDownloadFailed if a limit is reached.
func (q *Quota) Begin() (*Share, error) {
	if q == nil {
		return nil, nil
	}
	var bytes int64
	var files int
	if q.existing != nil {
		bytes, files = q.existing()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.existing != nil {
		q.used, q.files = bytes, files
	}
	if q.running >= q.parallel {
		e := errs.Errorf(errs.ErrDownloadFailed, "Wait until one of them has finished, then try again. The user can allow more with Options.MaxDownloads.",
			"%d downloads are already running", q.running)
		e.Retryable = true
		return nil, e
	}
	if q.used >= q.total {
		return nil, q.exhausted()
	}
	if q.files+q.running >= maxFiles {
		if q.existing != nil {
			return nil, q.exhausted()
		}
		return nil, errs.Errorf(errs.ErrDownloadFailed, "Ask the user to restart chrome-mcp, which resets the count.",
			"%d files were downloaded, which is the limit", maxFiles)
	}
	q.running++
	return &Share{quota: q}, nil
}

// Remaining returns how many more bytes may be downloaded.
func (q *Quota) Remaining() int64 {
	if q == nil {
		return 1 << 62
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, q.total-q.used)
}

func (q *Quota) exhausted() error {
	if q.existing != nil {
		return errs.Errorf(errs.ErrDownloadFailed, "The user can remove files, or allow more with Options.MaxDownloadTotal.",
			"the downloads of all sessions, such as those in %s, would exceed %s or %d files in total", q.dir, sizeText(q.total), maxFiles)
	}
	return errs.Errorf(errs.ErrDownloadFailed, "The user can allow more with Options.MaxDownloadTotal, or restart chrome-mcp.",
		"the downloads would exceed %s in total", sizeText(q.total))
}

// End registers the end of the download. f is the saved file, or the zero File if no file was
// saved.
func (s *Share) End(f File) {
	if s == nil {
		return
	}
	s.once.Do(func() {
		s.quota.mu.Lock()
		defer s.quota.mu.Unlock()
		s.quota.running--
		s.quota.used += f.Bytes
		if f.Path != "" {
			s.quota.files++
		}
	})
}
