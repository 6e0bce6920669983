// Package skillcmd is the command skill, which prints instructions for coding agents.
package skillcmd

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/client"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// skillPages are the pages of the skill. The first page is in the format of Agent Skills
// (agentskills.io); {{version}}, {{tools}} and {{topics}} in it are replaced.
//
//go:embed skill/*.md
var skillPages embed.FS

// skillTopics are the topics of the skill that have a page in skillPages. The toolsets are topics
// too.
var skillTopics = []struct{ name, short string }{
	{"sessions", "several browsers, users and tabs"},
	{"files", "results in files, downloads, uploads"},
	{"scripts", "many calls in one: scripts, batches, the shell"},
}

// Command returns the command skill.
func Command(s *cli.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "skill [TOPIC]",
		Short: "print instructions for coding agents",
		Long: `Prints instructions for a coding agent that uses the commands of this program, in the
format of Agent Skills. They describe this version. TOPIC is one that the first page
lists, or the name of a tool.`,
		Example: `  mkdir -p ~/.claude/skills/chrome-mcp
  chrome-mcp skill > ~/.claude/skills/chrome-mcp/SKILL.md`,
		Args: s.MaxArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(words) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return skillNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, words []string) error {
			text, err := skill(s.Version, words)
			if err == nil {
				_, err = io.WriteString(cmd.OutOrStdout(), text)
			}
			return err
		},
	}
}

// skillNames returns the names of all topics: those with a page, the toolsets and the tools.
func skillNames() (names []string) {
	for _, topic := range skillTopics {
		names = append(names, topic.name)
	}
	for _, tool := range mcp.Tools() {
		names = append(names, string(tool.Toolset), tool.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// skill returns the first page, or the page of a topic.
func skill(version string, topic []string) (string, error) {
	if len(topic) == 0 {
		return firstSkillPage(version)
	}
	name := topic[0]
	var b strings.Builder
	if slices.ContainsFunc(skillTopics, func(t struct{ name, short string }) bool { return t.name == name }) {
		page, err := skillPages.ReadFile("skill/" + name + ".md")
		if err != nil {
			return "", err
		}
		b.Write(page)
	}
	for _, tool := range mcp.Tools() {
		if string(tool.Toolset) != name && tool.Name != name {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		describeTool(&b, tool)
	}
	if b.Len() == 0 {
		return "", cli.Usagef("`chrome-mcp skill` lists the topics.", "unknown topic %q", name).DidYouMean(typo.Nearest(name, slices.Values(skillNames())))
	}
	return b.String(), nil
}

// firstSkillPage returns the first page, with the tools and topics of this version.
func firstSkillPage(version string) (string, error) {
	page, err := skillPages.ReadFile("skill/first.md")
	if err != nil {
		return "", err
	}
	var core, topics strings.Builder
	others := map[mcp.Toolset][]string{}
	for _, tool := range mcp.Tools() {
		if tool.Toolset == mcp.ToolsCore {
			fmt.Fprintf(&core, "* `%s`: %s\n", tool.Name, firstSentence(tool.Description))
			continue
		}
		others[tool.Toolset] = append(others[tool.Toolset], "`"+tool.Name+"`")
	}
	for _, topic := range skillTopics {
		fmt.Fprintf(&topics, "* `%s`: %s", topic.name, topic.short)
		if tools := others[mcp.Toolset(topic.name)]; len(tools) > 0 {
			fmt.Fprintf(&topics, "; the tools %s", phrase.List(tools, "and"))
			delete(others, mcp.Toolset(topic.name))
		}
		topics.WriteString("\n")
	}
	for _, set := range mcp.Toolsets() {
		switch tools := others[set]; {
		case set == mcp.ToolsCore:
			fmt.Fprintf(&topics, "* `%s`: the arguments of the tools above\n", set)
		case len(tools) > 0:
			fmt.Fprintf(&topics, "* `%s`: the tools %s\n", set, phrase.List(tools, "and"))
		}
	}
	return strings.NewReplacer(
		"{{version}}", version,
		"{{tools}}", strings.TrimSuffix(core.String(), "\n"),
		"{{topics}}", strings.TrimSuffix(topics.String(), "\n"),
	).Replace(string(page)), nil
}

// firstSentence returns the first sentence of a description, without its period.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	first, _, _ = strings.Cut(first, ": ref from") // the first page explains how to name an element
	return strings.TrimSuffix(first, ".")
}

// describeTool writes the description and the arguments of a tool.
func describeTool(b *strings.Builder, tool mcp.ToolInfo) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", tool.Name, tool.Description)
	s := client.SchemaOf(tool)
	if len(s.Properties) == 0 {
		b.WriteString("No arguments.\n")
	}
	for _, name := range s.Names() {
		p := s.Properties[name]
		what := []string{}
		if slices.Contains(s.Required, name) {
			what = append(what, "required")
		}
		if len(p.Enum) > 0 {
			what = append(what, phrase.List(p.Enum, "or"))
		} else if len(p.Items.Enum) > 0 {
			what = append(what, "array of "+phrase.List(p.Items.Enum, "or"))
		} else if kind, ok := p.Type.(string); ok {
			what = append(what, kind)
		}
		fmt.Fprintf(b, "* `%s` (%s)", name, strings.Join(what, ", "))
		if p.Description != "" {
			fmt.Fprintf(b, ": %s", p.Description)
		}
		b.WriteString("\n")
	}
}
