// Gen writes the extension's copy of package wire, extension/wire.js.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// target is the generated file, from the folder of package wire.
var target = filepath.Join("..", "..", "extension", "wire.js")

func main() {
	text, err := render(".")
	if err == nil {
		err = os.WriteFile(target, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
