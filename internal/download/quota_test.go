package download

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

func TestQuotaTotal(t *testing.T) {
	d := open(t, 100)
	q := NewQuota(2, 250)
	d.all = q
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/unknown" {
			w.(http.Flusher).Flush() // the response has no declared length
		}
		io.WriteString(w, strings.Repeat("x", 100))
	}))
	defer site.Close()
	for _, tt := range []struct {
		path  string
		fails bool
		left  int64
	}{{"/a", false, 150}, {"/b", false, 50}, {"/c", true, 50}, {"/unknown", true, 50}} {
		file, _, err := d.Fetch(t.Context(), request(t, site.URL+tt.path))
		if tt.fails {
			wantCode(t, err, errs.ErrDownloadFailed, "the downloads would exceed 250 bytes in total")
		} else if err != nil || file.Bytes != 100 {
			t.Fatalf("%s: %+v, %v", tt.path, file, err)
		}
		if q.Remaining() != tt.left {
			t.Errorf("%s: %d bytes left, want %d", tt.path, q.Remaining(), tt.left)
		}
	}
	if _, err := d.Save("exactly", strings.NewReader(strings.Repeat("x", 50))); err != nil {
		t.Errorf("a file of exactly the remaining size: %v", err)
	}
}

func TestQuotaParallel(t *testing.T) {
	d := open(t, testLimit)
	q := NewQuota(1, 0)
	d.all = q
	began, goOn := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-goOn
		io.WriteString(w, "content")
	}))
	defer site.Close()
	done := make(chan error, 1)
	go func() {
		_, _, err := d.Fetch(t.Context(), request(t, site.URL))
		done <- err
	}()
	<-began
	e := wantCode(t, fetchErr(t.Context(), d, request(t, site.URL)), errs.ErrDownloadFailed, "1 download is already running")
	if !e.Retryable || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	go func() { <-began }()
	if err := fetchErr(t.Context(), d, request(t, site.URL)); err != nil {
		t.Errorf("after the first download: %v", err)
	}
	share, err := q.Begin()
	if err != nil {
		t.Fatal(err)
	}
	share.End(File{Bytes: 1})
	share.End(File{Bytes: 1}) // counts once
	if share, err = q.Begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Begin(); err == nil {
		t.Error("a second End of a share was counted")
	}
	share.End(File{})
}

// TestQuotaOfExistingFiles checks that existing files count, and are counted again for each download.
func TestQuotaOfExistingFiles(t *testing.T) {
	var existing Existing
	q := NewQuota(0, 100)
	q.ShareUsage("/files", NewUsage(func() Existing { return existing }))
	for _, tt := range []struct {
		bytes int64
		files int
		fails bool
	}{{99, 1, false}, {100, 1, true}, {0, maxFiles, true}, {0, maxFiles - 1, false}} {
		existing = Existing{Bytes: tt.bytes, Files: tt.files}
		share, err := q.Begin()
		if tt.fails {
			wantCode(t, err, errs.ErrDownloadFailed, "such as those in /files, would exceed 100 bytes or 10000 files")
		} else if err != nil || share.Remaining() != 100-tt.bytes {
			t.Errorf("%d bytes, %d files: %v, %d bytes remain", tt.bytes, tt.files, err, share.Remaining())
		}
		share.End(File{})
	}
}

// TestQuotasWithOneUsage downloads with two quotas that share a usage, as two sessions of one client do.
// What arrives counts for both immediately.
func TestQuotasWithOneUsage(t *testing.T) {
	var existing Existing
	usage := NewUsage(func() Existing { return existing })
	one, two := NewQuota(0, 100), NewQuota(0, 100)
	one.ShareUsage("/one", usage)
	two.ShareUsage("/two", usage)
	a, err := one.Begin()
	if err != nil {
		t.Fatal(err)
	}
	b, err := two.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Grow(60); err != nil {
		t.Fatal(err)
	}
	existing = Existing{UnfinishedBytes: 60, UnfinishedFiles: 1} // the same bytes on the disk
	wantCode(t, b.Grow(41), errs.ErrDownloadFailed, "such as those in /two, would exceed 100 bytes")
	if err := b.Grow(40); err != nil || b.Remaining() != 40 || one.Remaining() != 0 {
		t.Errorf("the second download: %v, %d and %d bytes remain", err, b.Remaining(), one.Remaining())
	}
	if _, err := one.Begin(); err == nil {
		t.Error("a third download began")
	}
	existing = Existing{Bytes: 60, Files: 1}
	a.End(File{Path: "/one/a", Bytes: 60})
	wantCode(t, b.Grow(41), errs.ErrDownloadFailed, "100 bytes")
	existing = Existing{}
	if err := b.Grow(100); err != nil {
		t.Errorf("after the first file was removed: %v", err)
	}
	b.End(File{})
	wantCode(t, b.Grow(1), errs.ErrDownloadFailed, "100 bytes")
	if bytes, files := usage.Used(); bytes != 0 || files != 0 {
		t.Errorf("at the end, %d bytes and %d files are in use", bytes, files)
	}
	existing = Existing{UnfinishedBytes: 100, UnfinishedFiles: 1} // of a program that was killed
	if _, err := one.Begin(); err == nil {
		t.Error("an unfinished file of another program does not count")
	}
}

// TestQuotaOfParallelFetches downloads two files at the same time whose lengths are unknown and that
// exceed the total only together.
func TestQuotaOfParallelFetches(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", 100))
		w.(http.Flusher).Flush()
		began <- struct{}{}
		<-goOn
		io.WriteString(w, strings.Repeat("x", 100))
	}))
	defer site.Close()
	usage := new(Usage)
	done := make(chan error, 2)
	for range 2 {
		d := open(t, testLimit)
		d.all = NewQuota(0, 300)
		d.all.ShareUsage(d.Path(), usage)
		go func() { done <- fetchErr(t.Context(), d, request(t, site.URL)) }()
	}
	<-began
	<-began
	close(goOn)
	failed := 0
	for range 2 {
		if err := <-done; err != nil {
			wantCode(t, err, errs.ErrDownloadFailed, "would exceed 300 bytes")
			failed++
		}
	}
	if bytes, files := usage.Used(); failed != 1 || bytes != 200 || files != 1 {
		t.Errorf("%d downloads failed, %d files of %d bytes in total", failed, files, bytes)
	}
}

// TestQuotaOfFiles starts empty downloads, one after another.
func TestQuotaOfFiles(t *testing.T) {
	q := NewQuota(0, 0)
	for i := range maxFiles {
		share, err := q.Begin()
		if err != nil {
			t.Fatalf("download %d: %v", i, err)
		}
		share.End(File{Path: "/empty"})
	}
	_, err := q.Begin()
	wantCode(t, err, errs.ErrDownloadFailed, "files were downloaded")

	q = NewQuota(0, 0)
	for i := range 2 * maxFiles {
		share, err := q.Begin()
		if err != nil {
			t.Fatalf("download %d without a saved file: %v", i, err)
		}
		share.End(File{})
	}
}
