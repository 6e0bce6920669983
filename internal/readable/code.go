package readable

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markLanguage writes the language of a code block into the class of its <pre>, where the converter
// expects it. Highlighters store it in many places.
func markLanguage(pre *html.Node) {
	nodes := []*html.Node{pre}
	for c := range pre.ChildNodes() {
		if c.DataAtom == atom.Code {
			nodes = append(nodes, c)
			break
		}
	}
	// GitHub and Sphinx set it on a wrapper.
	for p, i := pre.Parent, 0; p != nil && i < 2; p, i = p.Parent, i+1 {
		nodes = append(nodes, p)
	}
	for _, n := range nodes {
		if lang := languageOf(n); lang != "" {
			setAttr(pre, "class", "language-"+lang)
			return
		}
	}
}

func languageOf(n *html.Node) string {
	for _, key := range []string{"data-lang", "data-language"} {
		if lang := language(attr(n, key)); lang != "" {
			return lang
		}
	}
	classes := strings.Fields(attr(n, "class"))
	for i, class := range classes {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-"} {
			if rest, ok := strings.CutPrefix(class, prefix); ok {
				if lang := language(rest); lang != "" {
					return lang
				}
			}
		}
		// For example "brush: js;" and "sourceCode python".
		if (class == "brush:" || class == "sourceCode") && i+1 < len(classes) {
			return language(strings.TrimSuffix(classes[i+1], ";"))
		}
	}
	return ""
}

// language returns name in lower case if it looks like the name of a language, and "" otherwise.
func language(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	unusual := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("+-#._", r)
	}
	switch {
	case len(name) > 20, strings.ContainsFunc(name, unusual):
		return ""
	case name == "none", name == "default", name == "plaintext", name == "notranslate":
		return ""
	}
	return name
}
