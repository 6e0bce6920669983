// Package suites lists the suites of package suite.
package suites

import (
	"slices"

	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/input/inputsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/page/pagesuite"
	"github.com/chrome-mcp/chrome-mcp/internal/reading/readingsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// Shared are the topics whose subjects all backends share. The landing tests run some of them, on one
// backend.
var Shared = slices.Concat(
	inputsuite.Topics, inputsuite.Details, readingsuite.Topics, readingsuite.Details, pagesuite.Topics, pagesuite.Details,
)

// Dirs are the directories of the suites, relative to the root of the module.
var Dirs = []string{"internal/executortest", "internal/input/inputsuite", "internal/reading/readingsuite", "internal/page/pagesuite"}

// Cases lists the cases of all suites.
func Cases() []suite.Info {
	return slices.Concat(
		suite.List(executortest.Topics, false),
		suite.List(inputsuite.Topics, false), suite.List(inputsuite.Details, true),
		suite.List(readingsuite.Topics, false), suite.List(readingsuite.Details, true),
		suite.List(pagesuite.Topics, false), suite.List(pagesuite.Details, true),
	)
}
