package transcript

import (
	"fmt"
	"strings"
	"time"
)

// Markdown returns a chat as a Markdown document. Texts of the agent are Markdown already; those of
// pages and tools are in code blocks.
func (s *Store) Markdown(id string) (string, error) {
	c, err := s.Chat(id)
	if err != nil {
		return "", err
	}
	entries, _, err := s.Entries(id, 0, 0)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", oneLine(c.Title))
	about := []string{c.Agent, date(c.Created)}
	if c.Site != "" {
		about = append([]string{c.Site}, about...)
	}
	fmt.Fprintf(&b, "%s\n", oneLine(strings.Join(about, " · ")))
	for _, e := range entries {
		b.WriteByte('\n')
		writeEntry(&b, &e)
	}
	return b.String(), nil
}

func date(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }

func writeEntry(b *strings.Builder, e *Entry) {
	switch e.Kind {
	case KindUser:
		b.WriteString("## User\n\n")
		if e.Quote != nil {
			fmt.Fprintf(b, "Page text of %s:\n\n%s\n", oneLine(e.Quote.URL), fenced(e.Quote.Text, ""))
		}
		b.WriteString(e.Text + "\n")
	case KindAgent:
		b.WriteString("## Agent\n\n" + e.Text + "\n")
	case KindThought:
		b.WriteString("### Thought\n\n" + e.Text + "\n")
	case KindNotice:
		b.WriteString("*" + oneLine(e.Text) + "*\n")
	case KindTool:
		t := e.Tool
		if t == nil {
			return
		}
		fmt.Fprintf(b, "### Tool: %s (%s)\n", oneLine(t.Title), oneLine(t.Status))
		if t.Input != "" {
			b.WriteString("\n" + fenced(t.Input, "json"))
		}
		if t.Output != "" {
			b.WriteString("\nResult, which can contain page text:\n\n" + fenced(t.Output, ""))
		}
	case KindPlan:
		b.WriteString("### Plan\n\n")
		for _, step := range e.Plan {
			mark := " "
			if step.Status == "completed" {
				mark = "x"
			}
			fmt.Fprintf(b, "- [%s] %s\n", mark, oneLine(step.Text))
		}
	case KindPermission:
		p := e.Permission
		if p == nil {
			return
		}
		fmt.Fprintf(b, "### Permission: %s\n", oneLine(p.Title))
		if p.Detail != "" {
			b.WriteString("\n" + fenced(p.Detail, ""))
		}
		fmt.Fprintf(b, "\nAnswer: %s\n", oneLine(p.answer()))
	case KindUsage:
		if e.Usage != nil {
			fmt.Fprintf(b, "*Tokens: %d input, %d output, %d total*\n", e.Usage.Input, e.Usage.Output, e.Usage.Total)
		}
	}
}

// answer returns the answer of the user as text.
func (p *Permission) answer() string {
	if p.Chosen == nil {
		return "none"
	}
	for _, o := range p.Options {
		if o.ID == *p.Chosen {
			return o.Name
		}
	}
	return "canceled"
}

// fenced returns text in a code block that text cannot end.
func fenced(text, language string) string {
	fence := Fence(text)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// Fence returns a Markdown fence that is not in text.
func Fence(text string) string {
	longest, run := 2, 0
	for _, b := range []byte(text) {
		if b != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
