package errs_test

import (
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

func Example() {
	var err error = errs.Errorf(errs.ErrTargetGone, "Open another tab.", "the tab was closed")
	err = errs.Wrap("click", "cdp:k3:1", err)

	fmt.Println(err)
	fmt.Println(errors.Is(err, errs.ErrTargetGone))
	if e, ok := errors.AsType[*errs.Error](err); ok {
		fmt.Println(e.Hint)
	}
	// Output:
	// click cdp:k3:1: the tab was closed
	// true
	// Open another tab.
}
