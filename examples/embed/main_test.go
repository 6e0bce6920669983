package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

func TestOrder(t *testing.T) {
	if _, err := chromium.Find(""); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	_, address, stop, err := shop.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	receipt := order(ctx, address)
	for _, want := range []string{"LO-1001", "Norway", "Gift wrap"} {
		if !strings.Contains(receipt, want) {
			t.Errorf("the receipt lacks %q:\n%s", want, receipt)
		}
	}
}
