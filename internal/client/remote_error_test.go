package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRemoteErrorText checks that the error of a server cannot control the terminal.
func TestRemoteErrorText(t *testing.T) {
	for _, body := range []string{
		`{"error": {"code": -32000, "message": "not \u001b[31mfound"}}`,
		`{"error": {"code": "BAD_ARGS", "message": "not \u001b[31mfound"}}`,
		"not \x1b[31mfound",
	} {
		err := readRemoteError(&http.Response{Status: "404 Not Found", Body: io.NopCloser(strings.NewReader(body))})
		if text := err.Error(); !strings.Contains(text, "not \ufffd[31mfound") {
			t.Errorf("%s: %q", body, text)
		}
	}
}
