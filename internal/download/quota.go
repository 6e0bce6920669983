package download

import (
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// The defaults of [NewQuota].
const (
	DefaultParallel = 8
	DefaultTotal    = 2 << 30
)

// maxFiles limits the files of a [Quota]: empty files also use disk space, and a
// page can start ten downloads per second.
const maxFiles = 10_000

// A usage is an executor.FileUsage, which this package cannot import. [Usage] implements it.
type usage interface {
	Reserve(bytes int64, files int, maxBytes int64, maxFiles int) bool
	Release(bytes int64, files int, keptBytes int64, keptFiles int)
	Used() (bytes int64, files int)
}

// A Quota limits all downloads of one browser instance: the number of concurrent downloads, the
// number of files, and the total size, of which a running download uses what has arrived. Without it, a
// page could start any number of downloads. A Quota is safe for concurrent use. A nil Quota has no
// limits.
type Quota struct {
	parallel int
	total    int64
	usage    usage
	shared   string // directory of the shared usage; empty if it is not shared

	mu      sync.Mutex // guards running
	running int
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
	return &Quota{parallel: parallel, total: total, usage: new(Usage)}
}

// ShareUsage makes the files that u counts, such as those in dir, count toward the limits. Other Quotas
// can have the same u. Call ShareUsage before the Quota is used. If u is nil, nothing changes.
func (q *Quota) ShareUsage(dir string, u usage) {
	if u != nil {
		q.usage, q.shared = u, dir
	}
}

// A Share is the part of a Quota that one running download uses. A nil Share has no limits. Its methods
// are safe for concurrent use.
type Share struct {
	quota *Quota

	mu       sync.Mutex // guards the fields below
	reserved int64      // bytes
	ended    bool
}

// Begin registers the start of a download. It returns ErrDownloadFailed if a limit is reached.
func (q *Quota) Begin() (*Share, error) {
	if q == nil {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running >= q.parallel {
		e := errs.Errorf(errs.ErrDownloadFailed, "Wait until one of them has finished, then try again. The user can allow more with Options.MaxDownloads.",
			"%s already running", phrase.Count(q.running, "download is", "downloads are"))
		e.Retryable = true
		return nil, e
	}
	// An empty file also needs a byte, so that downloads end at the limit.
	if !q.usage.Reserve(1, 1, q.total, maxFiles) {
		if _, files := q.usage.Used(); q.shared == "" && files >= maxFiles {
			return nil, errs.Errorf(errs.ErrDownloadFailed, "Ask the user to restart chrome-mcp, which resets the count.",
				"%d files were downloaded, which is the limit", maxFiles)
		}
		return nil, q.exhausted()
	}
	q.running++
	return &Share{quota: q, reserved: 1}, nil
}

// Remaining returns how many more bytes may be downloaded.
func (q *Quota) Remaining() int64 {
	if q == nil {
		return unlimited
	}
	bytes, _ := q.usage.Used()
	return max(0, q.total-bytes)
}

// unlimited is more bytes than a file has.
const unlimited = 1 << 62

func (q *Quota) exhausted() error {
	if q.shared != "" {
		return errs.Errorf(errs.ErrDownloadFailed, "The user can remove files, or allow more with Options.MaxDownloadTotal.",
			"the downloads of all sessions, such as those in %s, would exceed %s or %d files in total", q.shared, SizeText(q.total), maxFiles)
	}
	return errs.Errorf(errs.ErrDownloadFailed, "The user can allow more with Options.MaxDownloadTotal, or restart chrome-mcp.",
		"the downloads would exceed %s in total", SizeText(q.total))
}

// Remaining returns how many bytes the download may have, including those that have arrived.
func (s *Share) Remaining() int64 {
	if s == nil {
		return unlimited
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, _ := s.quota.usage.Used()
	return max(0, s.quota.total-bytes+s.reserved)
}

// Grow reserves space for the first n bytes of the download. It returns ErrDownloadFailed if the
// downloads would exceed the total, or if the download has ended.
func (s *Share) Grow(n int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.reserved && !s.ended {
		return nil
	}
	if s.ended || !s.quota.usage.Reserve(n-s.reserved, 0, s.quota.total, maxFiles) {
		return s.quota.exhausted()
	}
	s.reserved = n
	return nil
}

// End registers the end of the download. f is the saved file, or the zero File if no file was
// saved.
func (s *Share) End(f File) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	files := 0
	if f.Path != "" {
		files = 1
	}
	s.quota.usage.Release(s.reserved, 1, f.Bytes, files)
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	s.quota.running--
}
