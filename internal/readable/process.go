package readable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/keylimit"
)

// converterName is the name under which converter processes are registered.
const converterName = "converter"

func init() { child.Handle(converterName, serveConverter) }

// A job is the request to a converter process.
type job struct {
	ContentType, Text, URL string
	Options                Options
}

// A report is the response of a converter process.
type report struct {
	Result Result
	Failed string
}

const (
	// maxConverters is the maximum number of concurrent conversions for one browser.
	maxConverters = 2
	// convertMemory is the memory limit of a conversion, in bytes. The element tree
	// of MaxBytes of markup fits, unless the markup consists only of tags.
	convertMemory = 256 << 20
)

// converters limits the converter processes, by browser: the pages of one do not make those of another
// wait.
var converters = keylimit.New[any](maxConverters)

// ErrTooLarge means that the conversion of a page needs too much memory, or that
// its markdown is too long.
var ErrTooLarge error = errs.Errorf(errs.ErrBackpressure, "Read a part of it with Page.Snapshot, or its text with Page.Text.", "the page is too large to convert")

// ConvertIn is [ConvertAs] in a process that is killed when ctx is done. Pages can
// make the libraries run for hours or use all memory, and a goroutine cannot be
// stopped. browser identifies the browser of the page, which has a limited number of processes.
func ConvertIn(ctx context.Context, browser any, contentType, text, pageURL string, opts Options) (Result, error) {
	return convertIn(ctx, browser, converterName, job{contentType, text, pageURL, opts})
}

// convertIn runs a job in a process registered under name.
func convertIn(ctx context.Context, browser any, name string, j job) (Result, error) {
	if err := converters.Acquire(ctx, browser); err != nil {
		return Result{}, err
	}
	defer converters.Release(browser)
	p, err := child.Start(name)
	if err != nil {
		return Result{}, fmt.Errorf("converter: %w", err)
	}
	r, err := convertBy(ctx, p, j)
	p.End()
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.Is(err, errNoReport) && errors.Is(p.Failure(), child.ErrMemory), errors.Is(err, child.ErrTooLong):
		return Result{}, ErrTooLarge
	case errors.Is(err, errNoReport):
		return Result{}, fmt.Errorf("converter: %w", p.Failure())
	case err != nil:
		return Result{}, err
	case r.Failed != "":
		return Result{}, errors.New(r.Failed)
	}
	return r.Result, nil
}

var errNoReport = errors.New("no response from the converter")

// convertBy sends a job to p and returns its report. It returns errNoReport if p
// exits without a report.
func convertBy(ctx context.Context, p *child.Process, j job) (*report, error) {
	defer context.AfterFunc(ctx, p.Kill)()
	if <-p.Messages() == nil { // ready
		return nil, errNoReport
	}
	if err := p.Send(child.NewMessage("job", j)); errors.Is(err, child.ErrTooLong) {
		return nil, err
	}
	m := <-p.Messages()
	if m == nil {
		return nil, errNoReport
	}
	r := new(report)
	return r, json.Unmarshal(m.Data, r)
}

// serveConverter runs one job in the converter process.
func serveConverter(parent *child.Parent) error {
	var j job
	if err := json.Unmarshal(parent.Receive().Data, &j); err != nil {
		return err
	}
	if err := parent.Confine(convertMemory); err != nil {
		return err
	}
	var r report
	var err error
	if r.Result, err = ConvertAs(j.ContentType, j.Text, j.URL, j.Options); err != nil {
		r.Failed = err.Error()
	}
	if md := r.Result.Markdown; len(md) > MaxBytes { // escapes add characters
		r.Result.Markdown, r.Result.Truncated = strings.ToValidUTF8(md[:MaxBytes], ""), true
	}
	return parent.Send(child.NewMessage("report", r))
}
