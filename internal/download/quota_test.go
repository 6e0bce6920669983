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
	e := wantCode(t, fetchErr(t.Context(), d, request(t, site.URL)), errs.ErrDownloadFailed, "1 downloads are already running")
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
	var bytes int64
	var files int
	q := NewQuota(0, 100)
	q.CountExisting("/files", func() (int64, int) { return bytes, files })
	for _, tt := range []struct {
		bytes int64
		files int
		fails bool
	}{{99, 1, false}, {100, 1, true}, {0, maxFiles, true}, {0, maxFiles - 1, false}} {
		bytes, files = tt.bytes, tt.files
		share, err := q.Begin()
		if tt.fails {
			wantCode(t, err, errs.ErrDownloadFailed, "such as those in /files, would exceed 100 bytes or 10000 files")
		} else if err != nil || q.Remaining() != 100-bytes {
			t.Errorf("%d bytes, %d files: %v, %d bytes remain", bytes, files, err, q.Remaining())
		}
		share.End(File{})
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
