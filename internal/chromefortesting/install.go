package chromefortesting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/filelock"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// DefaultVersionsURL is the URL of the JSON file with the latest version of each channel.
	DefaultVersionsURL = "https://googlechromelabs.github.io/chrome-for-testing/last-known-good-versions-with-downloads.json"
	// maxVersionsBytes bounds the JSON file, which has some KB.
	maxVersionsBytes = 4 << 20
	// stallTimeout ends a download that receives nothing.
	stallTimeout = time.Minute
	// temporaryPrefix is that of the directories of installations in progress and of versions that
	// are being replaced.
	temporaryPrefix = ".new-"
)

// Options are the options of [Install].
type Options struct {
	// DataDir is the directory to install in. It is required.
	DataDir string
	// VersionsURL is the URL of the JSON file with the versions. Empty means DefaultVersionsURL. It
	// and the URL of the archive are https URLs, or http URLs of this machine.
	VersionsURL string
	// Transport sends the requests. nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Force downloads the latest version even if one is installed. It replaces the same version.
	Force bool
	// Progress, if not nil, is called while the archive of a version is downloaded, with the
	// received and all bytes; total is -1 if the server does not send it.
	Progress func(version string, received, total int64)

	platform string // empty means that of this machine
}

// Install installs the latest stable version, unless one is installed, and returns it. installed
// reports whether Install has installed it.
//
// A version appears in the data directory when it is complete, and Install removes what it
// downloaded if it fails. If several processes install at the same time, one of them downloads and
// the others wait.
//
// It returns ErrNoBackend if there is no build for this machine, ErrBadArgs for an invalid URL, and
// ErrDownloadFailed if the archive cannot be downloaded, does not match its checksum, or cannot be
// written.
func Install(ctx context.Context, o Options) (b Browser, installed bool, err error) {
	o.VersionsURL = cmp.Or(o.VersionsURL, DefaultVersionsURL)
	o.platform = cmp.Or(o.platform, platform(runtime.GOOS, runtime.GOARCH))
	if o.platform == "" {
		return Browser{}, false, noBuild(runtime.GOOS + "/" + runtime.GOARCH)
	}
	dir := directory(o.DataDir)
	if err := owneronly.MakeDir(dir); err != nil {
		return Browser{}, false, localError(dir, err)
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(dir, "lock"), nil)
	if err != nil {
		return Browser{}, false, localError(dir, err)
	}
	defer unlock()
	if b, found := find(o.DataDir, o.platform); found && !o.Force {
		return b, false, nil
	}
	removeTemporary(dir) // of an installation whose process was killed
	b, err = o.install(ctx, dir)
	if err != nil {
		removeTemporary(dir)
		return Browser{}, false, err
	}
	return b, true, nil
}

// install installs the latest version in dir.
func (o Options) install(ctx context.Context, dir string) (Browser, error) {
	release, err := o.latest(ctx)
	if err != nil {
		return Browser{}, err
	}
	work, err := os.MkdirTemp(dir, temporaryPrefix)
	if err != nil {
		return Browser{}, localError(dir, err)
	}
	archive := filepath.Join(work, "archive.zip")
	if err := o.download(ctx, release, archive); err != nil {
		return Browser{}, err
	}
	files := filepath.Join(work, "files")
	if err := unzip(ctx, archive, files); err != nil {
		return Browser{}, archiveError(dir, err)
	}
	program := executable(o.platform)
	if info, err := os.Stat(filepath.Join(files, program)); err != nil || !isProgram(info) {
		return Browser{}, errs.Errorf(errs.ErrDownloadFailed, "", "the archive of Chrome for Testing %s has no program %s for this machine", release.version, filepath.ToSlash(program))
	}
	final := filepath.Join(dir, release.version+"-"+o.platform)
	if err := replaceDir(files, final, filepath.Join(work, "old")); err != nil {
		return Browser{}, localError(dir, err)
	}
	removeTemporary(dir)
	return Browser{release.version, filepath.Join(final, program)}, nil
}

// replaceDir renames directory from to to. A directory at to is renamed to old first, and restored
// if renaming from fails.
func replaceDir(from, to, old string) error {
	err := os.Rename(to, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	existed := err == nil
	if err := os.Rename(from, to); err != nil {
		if existed {
			err = errors.Join(err, os.Rename(old, to))
		}
		return err
	}
	return nil
}

// removeTemporary removes unfinished and replaced installations. The caller has the lock.
func removeTemporary(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, temporaryPrefix+"*"))
	for _, path := range found {
		_ = os.RemoveAll(path) // otherwise the next installation removes it
	}
}

// A release is a version that can be downloaded.
type release struct{ version, url string }

// latest returns the latest stable version for the platform.
func (o Options) latest(ctx context.Context) (release, error) {
	res, stop, err := o.get(ctx, o.VersionsURL)
	if err != nil {
		return release{}, err
	}
	defer stop()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxVersionsBytes+1))
	if err != nil {
		return release{}, fetchError(ctx, o.VersionsURL, err)
	}
	var versions struct {
		Channels struct {
			Stable struct {
				Version   string `json:"version"`
				Downloads struct {
					Chrome []struct {
						Platform string `json:"platform"`
						URL      string `json:"url"`
					} `json:"chrome"`
				} `json:"downloads"`
			}
		} `json:"channels"`
	}
	if err := json.Unmarshal(data, &versions); err != nil || len(data) > maxVersionsBytes {
		return release{}, errs.Errorf(errs.ErrDownloadFailed, "", "%s is not a list of versions of Chrome for Testing", host(o.VersionsURL))
	}
	stable := versions.Channels.Stable
	if !versionPattern().MatchString(stable.Version) {
		return release{}, errs.Errorf(errs.ErrDownloadFailed, "", "the list of versions at %s has no valid stable version", host(o.VersionsURL))
	}
	for _, d := range stable.Downloads.Chrome {
		if d.Platform == o.platform {
			return release{stable.Version, d.URL}, nil
		}
	}
	return release{}, noBuild(o.platform)
}

func noBuild(platform string) error {
	return errs.Errorf(errs.ErrNoBackend, "Install Chromium or another browser with the package manager of your system.",
		"there is no Chrome for Testing for %s", platform)
}

// localError returns the error for a file or directory in dir that cannot be written.
func localError(dir string, err error) error {
	hint := "Make the directory writable for you, or choose another with Options.DataDir."
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errs.Errorf(errs.ErrDownloadFailed, "", "the installation was interrupted")
	case errors.Is(err, syscall.ENOSPC):
		hint = "Free about 1 GB, or choose a directory on another disk with Options.DataDir."
	}
	return errs.Errorf(errs.ErrDownloadFailed, hint, "Chrome for Testing cannot be installed in %s: %w", dir, withoutPath(err))
}

// archiveError returns the error for an archive that cannot be extracted in dir.
func archiveError(dir string, err error) error {
	if _, local := errors.AsType[*fs.PathError](err); local || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return localError(dir, err)
	}
	return errs.Errorf(errs.ErrDownloadFailed, "", "the archive of Chrome for Testing cannot be extracted: %w", err)
}

// withoutPath returns the error of a system call without the temporary path.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", strings.TrimSuffix(e.Op, "at"), e.Err)
	}
	return err
}
