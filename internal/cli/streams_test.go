package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunWithTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("closed badly")
		if err := RunWithTimeout(time.Second, func() error { return want }); err != want {
			t.Errorf("within = %v, want %v", err, want)
		}
		release := make(chan struct{})
		start := time.Now()
		err := RunWithTimeout(time.Second, func() error { <-release; return nil })
		if !errors.Is(err, ErrCloseTimeout) || time.Since(start) != time.Second {
			t.Errorf("a close that hangs: %v after %v", err, time.Since(start))
		}
		close(release)
	})
}

func TestEOFNotifier(t *testing.T) {
	ended := 0
	r := &EOFNotifier{Reader: strings.NewReader("text"), Ended: func() { ended++ }}
	data, err := io.ReadAll(r)
	if string(data) != "text" || err != nil || ended != 1 {
		t.Errorf("read %q, %v; ended %d times, want once", data, err, ended)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF || ended != 1 {
		t.Errorf("reading on: %v, ended %d times", err, ended)
	}
}
