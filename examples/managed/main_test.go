package main

import (
	"os"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	userbrowser.Find(t)
	_, address, stop, err := shop.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var out strings.Builder
	if err := run(await.Context(t), address, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"before the first call: running: false", "after it: running: true, backend: cdp", "link \"Order this lamp\""} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q not found in the output:\n%s", want, &out)
		}
	}
}
