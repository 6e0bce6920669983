package mcp

import (
	"context"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestScreenshotReportsTruncation(t *testing.T) {
	for _, c := range []struct {
		name, args string
		shot       executor.Screenshot
		want       string
	}{
		{"complete page", `{"fullPage":true}`, executor.Screenshot{Width: 1280, Height: 3000}, "1280 x 3000 pixels"},
		{"high page", `{"fullPage":true}`, executor.Screenshot{Width: 1280, Height: 16384, Truncated: true, FullHeight: 20000},
			"1280 x 16384 pixels\ntruncated: the page is 20000 pixels high"},
		{"high element", `{"selector":"#a"}`, executor.Screenshot{Width: 1280, Height: 16384, Truncated: true, FullHeight: 20000},
			"1280 x 16384 pixels\ntruncated: the element is 20000 pixels high"},
		{"wide element", `{"ref":"e1"}`, executor.Screenshot{Width: 16384, Height: 30, Truncated: true, FullHeight: 30},
			"16384 x 30 pixels\ntruncated: the element is wider"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{screenshot: func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
				c.shot.MIMEType = "image/png"
				return &c.shot, nil
			}}
			cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2"}), nil)
			if got := textOf(callTool(t, cs, "screenshot", c.args)); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
