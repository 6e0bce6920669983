package chromefortesting

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// maxArchiveBytes bounds the archive, which has about 200 MB.
const maxArchiveBytes = 1 << 30

// checkURL returns an error unless raw is an https URL, or an http URL of this machine.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" && u.User == nil {
		addr, _ := netip.ParseAddr(u.Hostname())
		if u.Scheme == "https" || u.Scheme == "http" && (addr.IsLoopback() || u.Hostname() == "localhost") {
			return nil
		}
	}
	return errs.Errorf(errs.ErrBadArgs, "", "the URL of %s is not an https URL", host(raw))
}

// host returns the host of a URL for messages.
func host(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Host
	}
	return "the download"
}

var errStalled = errors.New("the server sent nothing for a minute")

// get requests a URL. The caller reads the body and calls stop. Both end if ctx is done or if the
// server sends nothing for stallTimeout.
func (o Options) get(ctx context.Context, raw string) (res *http.Response, stop func(), err error) {
	if err := checkURL(raw); err != nil {
		return nil, nil, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	req, err := http.NewRequestWithContext(inner, http.MethodGet, raw, nil)
	if err != nil {
		end()
		return nil, nil, errs.Errorf(errs.ErrBadArgs, "", "invalid URL of %s", host(raw))
	}
	req.Header.Set("Accept-Encoding", "identity") // the checksums are those of the file
	client := &http.Client{Transport: o.Transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("too many redirects")
		}
		return checkURL(r.URL.String())
	}}
	res, err = client.Do(req)
	if err != nil {
		err = fetchError(inner, raw, err)
		end()
		return nil, nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		end()
		return nil, nil, errs.Errorf(errs.ErrDownloadFailed, "", "%s responded with status %d", host(raw), res.StatusCode)
	}
	res.Body = &watchedBody{inner, res.Body, timer}
	return res, func() {
		res.Body.Close()
		end()
	}, nil
}

// A watchedBody restarts the timer with each byte that arrives.
type watchedBody struct {
	ctx context.Context // of the one request
	io.ReadCloser
	timer *time.Timer
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(stallTimeout)
	}
	if cause := context.Cause(b.ctx); err != nil && cause != nil {
		err = cause
	}
	return n, err
}

// fetchError returns the error for a request that failed.
func fetchError(ctx context.Context, raw string, err error) error {
	if e, ok := errors.AsType[*errs.Error](err); ok { // of a redirect
		return e
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStalled):
		err = errStalled
	case cause != nil:
		return errs.Errorf(errs.ErrDownloadFailed, "", "the installation was interrupted")
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL
	}
	return errs.Errorf(errs.ErrDownloadFailed, "Check the network and the proxy, and try again.", "%s: %w", host(raw), err)
}

// A checksum is the expected value of a hash of the archive.
type checksum struct {
	name string
	hash hash.Hash
	want []byte
}

// checksums returns the checksums that a storage server sends with a file, as in
// "x-goog-hash: crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==". The header may be repeated.
func checksums(h http.Header) []checksum {
	var sums []checksum
	for _, value := range h.Values("X-Goog-Hash") {
		for part := range strings.SplitSeq(value, ",") {
			name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
			want, err := base64.StdEncoding.DecodeString(text)
			sum := checksum{name: name, want: want}
			switch {
			case name == "crc32c":
				sum.hash = crc32.New(crc32.MakeTable(crc32.Castagnoli))
			case name == "md5":
				sum.hash = md5.New()
			default:
				continue
			}
			if err != nil {
				sum.want = nil // matches nothing
			}
			sums = append(sums, sum)
		}
	}
	return sums
}

// download saves the archive of a release at path, and checks its size and checksums.
func (o Options) download(ctx context.Context, r release, path string) error {
	res, stop, err := o.get(ctx, r.url)
	if err != nil {
		return err
	}
	defer stop()
	sums := checksums(res.Header)
	switch {
	case len(sums) == 0:
		return errs.Errorf(errs.ErrDownloadFailed, "Use a server that sends the header x-goog-hash.", "%s sends no checksum of the archive", host(r.url))
	case res.ContentLength > maxArchiveBytes:
		return tooLarge(r)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return localError(directory(o.DataDir), err)
	}
	defer f.Close()
	received := int64(0)
	buf := make([]byte, 256<<10)
	for {
		n, err := res.Body.Read(buf)
		for _, sum := range sums {
			sum.hash.Write(buf[:n])
		}
		if _, err := f.Write(buf[:n]); err != nil {
			return localError(directory(o.DataDir), err)
		}
		if received += int64(n); received > maxArchiveBytes {
			return tooLarge(r)
		}
		if o.Progress != nil && n > 0 {
			o.Progress(r.version, received, res.ContentLength)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fetchError(ctx, r.url, err)
		}
	}
	if err := f.Close(); err != nil {
		return localError(directory(o.DataDir), err)
	}
	for _, sum := range sums {
		if !bytes.Equal(sum.hash.Sum(nil), sum.want) {
			return errs.Errorf(errs.ErrDownloadFailed, "Try again; a proxy may have changed the file.", "the archive from %s does not match its %s checksum", host(r.url), sum.name)
		}
	}
	return nil
}

func tooLarge(r release) error {
	return errs.Errorf(errs.ErrDownloadFailed, "", "the archive from %s is larger than %d bytes", host(r.url), int64(maxArchiveBytes))
}
