package download

import (
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The defaults of [NewQuota].
const (
	DefaultParallel = 8
	DefaultTotal    = 2 << 30
)

// maxFiles limits the files of a [Quota]: empty files also use disk space, and a
// page can start ten downloads per second.
const maxFiles = 10_000

// A Quota bounds the downloads of one run of a browser together: how many there
// are at the same time, how many files there are, and how many bytes they have
// in sum. A page can begin as
// many as it likes. It is safe for concurrent use; a nil one bounds nothing.
type Quota struct {
	parallel int
	total    int64

	mu      sync.Mutex // guards what follows
	running int
	used    int64
	files   int
}

// NewQuota returns a quota of downloads at the same time and of bytes in sum; 0
// means DefaultParallel and DefaultTotal.
func NewQuota(parallel int, total int64) *Quota {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	if total <= 0 {
		total = DefaultTotal
	}
	return &Quota{parallel: parallel, total: total}
}

// A Share is one download's part of a Quota, from its beginning to its end.
type Share struct {
	quota *Quota
	once  sync.Once
}

// Begin counts a download that begins, or returns ErrDownloadFailed when there
// are too many, or too much was downloaded already.
func (q *Quota) Begin() (*Share, error) {
	if q == nil {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running >= q.parallel {
		e := executor.Errorf(executor.ErrDownloadFailed, "Wait until one of them has ended, then try again; the user can allow more with --parallel-downloads.",
			"%d downloads are running already", q.running)
		e.Retryable = true
		return nil, e
	}
	if q.used >= q.total {
		return nil, q.exhausted()
	}
	if q.files+q.running >= maxFiles {
		return nil, executor.Errorf(executor.ErrDownloadFailed, "Ask the user to restart chrome-mcp, which resets the count.",
			"%d files were downloaded, which is the limit", maxFiles)
	}
	q.running++
	return &Share{quota: q}, nil
}

// Room returns how many bytes may still be downloaded.
func (q *Quota) Room() int64 {
	if q == nil {
		return 1 << 62
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, q.total-q.used)
}

func (q *Quota) exhausted() error {
	return executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with --max-download-total, or start chrome-mcp anew.",
		"the downloads would have more than %s in sum", sizeText(q.total))
}

// End counts a download that ended. f is the saved file, or the zero File if no
// file was saved.
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
