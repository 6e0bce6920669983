package page

import (
	"context"
	"regexp"
	"strconv"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Printed is a page as a PDF file.
type Printed struct {
	Data  []byte
	Pages int    // 0 when it is not known
	Title string // of the page
}

// PDF prints the page. A file cannot be painted over as a picture can, and
// printing may show what the screen does not: so none is made of a page with a
// frame that may not be read, wherever that is.
func (v *View) PDF(ctx context.Context, opts executor.PDFOptions) (*Printed, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	top, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	before, attached := v.loaders(), v.tab.framesAttached()
	if err := v.allReadable(ctx); err != nil {
		return nil, err
	}
	title, _ := top.title(ctx)
	var res struct {
		Data []byte `json:"data"`
	}
	err = v.command(ctx, "Page.printToPDF", map[string]any{
		"landscape": opts.Landscape, "printBackground": opts.Background, "preferCSSPageSize": true,
	}, &res)
	if executor.CodeOf(err) == executor.ErrCDP {
		return nil, executor.Errorf(executor.ErrDownloadFailed, "It works in a Chromium that chrome-mcp starts, and in Chrome with a page that can be printed.", "the browser did not print the page: %w", err)
	}
	if err != nil {
		return nil, timeoutAs(err, "the page to be printed")
	}
	// A page hears that it is printed, and may bring in what was not checked.
	if !top.current() || !v.sameLoaders(before) || v.tab.framesAttached() != attached {
		return nil, &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: errDocumentGone, Hint: "The page changed its documents while it was printed; try again."}
	}
	return &Printed{Data: res.Data, Pages: pagesOf(res.Data), Title: title}, nil
}

// allReadable returns ErrPolicyDenied when a frame of the tab may not be read.
func (v *View) allReadable(ctx context.Context) error {
	readable := make(map[string]bool)
	for _, d := range v.allowed(ctx, executor.OpRead) {
		readable[string(d.frame)] = true
	}
	for _, d := range v.tab.frameList() {
		if !readable[string(d.frame)] {
			return executor.Errorf(executor.ErrPolicyDenied, "Take a screenshot instead, which leaves it out, or read the page as markdown.",
				"the page has a frame that the policy denies, and a PDF would show it")
		}
	}
	return nil
}

// framesAttached returns how many frames the tab ever had.
func (t *Tab) framesAttached() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.attached
}

// pageCount finds how many pages a node of a PDF's tree of pages has.
var pageCount = regexp.MustCompile(`/Type /Pages\s*/Count (\d{1,6})\b`)

// pagesOf returns how many pages a PDF of the browser's has, 0 if it does not
// say so in plain text.
func pagesOf(pdf []byte) int {
	most := 0
	for _, m := range pageCount.FindAllSubmatch(pdf, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		most = max(most, n)
	}
	return most
}
