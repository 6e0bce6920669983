package transcript

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Markdown returns a chat as a Markdown document. Texts of the agent are Markdown already; those of
// pages and tools are in code blocks.
func (s *Store) Markdown(id string) (string, error) {
	text, _, err := s.MarkdownPart(id, Position{}, math.MaxInt)
	return text, err
}

// A Position is a position in the Markdown document of a chat. The zero value is the beginning.
type Position struct {
	Seq    int64 `json:"seq"`    // of an entry; 0 means the heading
	Offset int   `json:"offset"` // in the text of the entry, in bytes
}

// MarkdownPart returns the part of the document of [Store.Markdown] that begins at from and has at most
// size bytes, which is at least 1 KiB, and where the next part begins: nil if there is none. Parts do
// not split characters. If the chat changes between two calls, each part is of the chat as it is then.
func (s *Store) MarkdownPart(id string, from Position, size int) (text string, next *Position, err error) {
	c, err := s.Chat(id)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	add := func(seq int64, text string) (more bool) {
		offset := 0
		if seq == from.Seq {
			offset = min(max(from.Offset, 0), len(text))
		}
		end := len(text)
		if end-offset > size-b.Len() {
			end = offset + size - b.Len()
			for end > offset && !utf8.RuneStart(text[end]) {
				end--
			}
			next = &Position{seq, end}
		}
		b.WriteString(text[offset:end])
		return next == nil
	}
	if from.Seq == 0 && !add(0, heading(&c)) {
		return b.String(), next, nil
	}
	err = s.each(id, from.Seq, func(e *Entry) (more bool) {
		var text strings.Builder
		text.WriteByte('\n')
		writeEntry(&text, e)
		return add(e.Seq, text.String())
	})
	return b.String(), next, err
}

// MarkdownEnd returns the end of the document of [Store.Markdown], at most size bytes, and whether that is
// all of it. It reads only the entries that it needs. It does not split characters.
func (s *Store) MarkdownEnd(id string, size int) (text string, all bool, err error) {
	c, err := s.Chat(id)
	if err != nil {
		return "", false, err
	}
	const step = 16 // entries
	var parts []string
	total := 0
	add := func(text string) {
		parts = append(parts, text)
		total += len(text)
	}
	more, before := true, int64(0)
	for more && total <= size {
		var entries []Entry
		if entries, more, err = s.Entries(id, before, step); err != nil {
			return "", false, err
		}
		for _, e := range slices.Backward(entries) {
			var b strings.Builder
			b.WriteByte('\n')
			writeEntry(&b, &e)
			add(b.String())
			before = e.Seq
		}
	}
	if !more {
		add(heading(&c))
	}
	slices.Reverse(parts)
	text = strings.Join(parts, "")
	start := max(len(text)-size, 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:], start == 0 && !more, nil
}

// heading returns the beginning of the document of a chat.
func heading(c *Chat) string {
	about := []string{c.Agent, date(c.Created)}
	if c.Site != "" {
		about = append([]string{c.Site}, about...)
	}
	return fmt.Sprintf("# %s\n\n%s\n", oneLine(c.Title), oneLine(strings.Join(about, " · ")))
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
			b.WriteString("*" + e.Usage.text() + "*\n")
		}
	}
}

// text returns what the agent reported.
func (u *Usage) text() string {
	var parts []string
	if u.Total > 0 || u.Context == 0 {
		parts = append(parts, fmt.Sprintf("Tokens: %d input, %d output, %d total", u.Input, u.Output, u.Total))
	}
	switch {
	case u.Size > 0:
		parts = append(parts, fmt.Sprintf("Context: %d of %d tokens", u.Context, u.Size))
	case u.Context > 0:
		parts = append(parts, fmt.Sprintf("Context: %d tokens", u.Context))
	}
	return strings.Join(parts, " · ")
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
