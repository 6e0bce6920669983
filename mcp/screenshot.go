package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
)

// A pictureResult is a screenshot whose image is part of the result.
type pictureResult struct{ browsertools.ScreenshotResult }

func (s *toolSession) screenshot(ctx context.Context, a browsertools.ScreenshotArgs) (pictureResult, error) {
	p, err := s.ex.Page(ctx, a.TabID())
	if err != nil {
		return pictureResult{}, err
	}
	res, err := a.Run(ctx, p, s.opts.MaxImage)
	return pictureResult{res}, err
}

func (r pictureResult) images() []sdk.Content {
	return []sdk.Content{&sdk.ImageContent{Data: r.Data, MIMEType: r.MIMEType}}
}
