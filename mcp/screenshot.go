package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
)

// An imageResult is a screenshot whose image is part of the result.
type imageResult struct{ browsertools.ScreenshotResult }

func (r *toolRunner) screenshot(ctx context.Context, a browsertools.ScreenshotArgs) (imageResult, error) {
	p, err := r.ex.Page(ctx, a.TabID())
	if err != nil {
		return imageResult{}, err
	}
	res, err := a.Run(ctx, p, r.opts.MaxImage)
	return imageResult{res}, err
}

func (r imageResult) images() []sdk.Content {
	return []sdk.Content{&sdk.ImageContent{Data: r.Data, MIMEType: r.MIMEType}}
}
