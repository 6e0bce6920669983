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

func TestOrder(t *testing.T) {
	userbrowser.Find(t)
	_, address, stop, err := shop.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	receipt := order(await.Context(t), address)
	for _, want := range []string{"LO-1001", "Norway", "Gift wrap"} {
		if !strings.Contains(receipt, want) {
			t.Errorf("%q not found in the receipt:\n%s", want, receipt)
		}
	}
}
