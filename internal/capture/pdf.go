package capture

import (
	"context"
	"strconv"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// A PrintedPDF is a page printed as a PDF file.
type PrintedPDF struct {
	Data  []byte
	Pages int    // number of pages; 0 if not known
	Title string // of the page
}

// PDF prints the page. Denied frames cannot be masked in a PDF, and a print may show content that
// the screen does not. Therefore PDF returns ErrPolicyDenied if the tab has any frame that the gate
// does not allow to be read.
func (c *Capturer) PDF(ctx context.Context, opts executor.PDFOptions) (*PrintedPDF, error) {
	ctx, cancel := context.WithTimeout(ctx, c.client.Tree.Timing().Read)
	defer cancel()
	top, err := c.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	before, attached := c.client.Tree.Loaders(), c.client.Tree.FramesAttached()
	c.client.Tree.WaitForFrames(ctx)
	if readable, known := c.client.AllReadable(ctx); !known {
		return nil, &executor.Error{Code: executor.ErrNotActionable, Retryable: true,
			Err:  frames.UnknownError("a frame", "denies"),
			Hint: "Try again when the frame has loaded, or read the page as markdown."}
	} else if !readable {
		return nil, executor.Errorf(executor.ErrPolicyDenied, "Take a screenshot instead, which masks the frame, or read the page as markdown.",
			"the page has a frame that the policy denies, and a PDF would show it")
	}
	if err := c.opts.CheckPrint(ctx); err != nil {
		return nil, err
	}
	title, _ := top.Title(ctx)
	var res cdppage.PrintToPDFResult
	err = c.client.Tree.Command(ctx, "Page.printToPDF", map[string]any{
		"landscape": opts.Landscape, "printBackground": opts.Background, "preferCSSPageSize": true,
	}, &res)
	if executor.CodeOf(err) == executor.ErrCDP {
		return nil, executor.Errorf(executor.ErrDownloadFailed, "Take a screenshot of the full page instead, or read the page as markdown.", "the browser did not print the page: %w", err)
	}
	if err != nil {
		return nil, frames.TimeoutAs(err, "the page to be printed")
	}
	// A page is notified when it is printed, and may load frames that were not checked.
	if !top.IsCurrent() || !c.client.Tree.NoNewDocuments(before) || c.client.Tree.FramesAttached() != attached {
		return nil, &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: frames.ErrDocumentGone, Hint: "The page loaded other documents while it was printed; try again."}
	}
	return &PrintedPDF{Data: res.Data, Pages: pagesOf(res.Data), Title: title}, nil
}

// pageCount matches the page count in a node of a PDF's page tree.
var pageCount = lazyregexp.New(`/Type /Pages\s*/Count (\d{1,6})\b`)

// pagesOf returns the number of pages of a PDF that the browser printed, or 0 if the PDF does not
// contain it as plain text.
func pagesOf(pdf []byte) int {
	most := 0
	for _, m := range pageCount().FindAllSubmatch(pdf, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		most = max(most, n)
	}
	return most
}
