package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// updateReadme writes code into a document. Between
//
//	<!-- code:begin examples/embed/main.go order -->
//	<!-- code:end -->
//
// it writes that file's declaration of that name, or the whole file if no name is
// given. The documentation therefore shows only code that is compiled and tested.
func updateReadme(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	filled, err := fill(string(text), filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if filled == string(text) {
		return nil
	}
	return os.WriteFile(name, []byte(filled), 0o644)
}

var marked = regexp.MustCompile(`(?s)(<!-- code:begin ([^ ]+)(?: (\w+))? -->\n).*?(<!-- code:end -->)`)

// fill returns text with the code between its markers. Files are named from
// root.
func fill(text, root string) (string, error) {
	var failed error
	out := marked.ReplaceAllStringFunc(text, func(part string) string {
		m := marked.FindStringSubmatch(part)
		code, err := source(filepath.Join(root, m[2]), m[3])
		if err != nil {
			failed = err
			return part
		}
		language := strings.TrimPrefix(filepath.Ext(m[2]), ".")
		return m[1] + "```" + language + "\n" + strings.TrimSpace(code) + "\n```\n" + m[4]
	})
	return out, failed
}

// source returns the file called name, or one of its declarations.
func source(name, declaration string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil || declaration == "" {
		return string(text), err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == declaration {
			start := f.Pos()
			if f.Doc != nil {
				start = f.Doc.Pos()
			}
			return string(bytes.TrimSpace(text[fset.Position(start).Offset:fset.Position(f.End()).Offset])), nil
		}
	}
	return "", fmt.Errorf("%s has no func %s", name, declaration)
}
