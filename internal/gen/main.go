// Gen writes the generated files of this repository.
//
//	gen wire DIR FILE            wire.js of the extension, from package wire in DIR
//	gen readme FILE              the code in the documentation
//	gen egress-matrix FILE       the network egress test matrix
package main

//go:generate go run . readme ../../docs/library.md

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "wire":
		return writeWire(args[1], args[2])
	case len(args) == 2 && args[0] == "readme":
		return updateReadme(args[1])
	case len(args) == 2 && args[0] == "egress-matrix":
		return writeEgressMatrix(args[1])
	}
	return fmt.Errorf("unknown arguments %q", args)
}
