package transcript

import (
	"slices"
	"unicode/utf8"
)

const (
	// maxName bounds titles and ids, in bytes.
	maxName = 4 << 10
	// maxItems bounds the steps of a plan and the options of a permission.
	maxItems = 256
	// cutNote is the end of a text that was cut.
	cutNote = "\n[cut here: the text was too long]"
)

// limit cuts the texts of an entry that are too long, without changing what e refers to, and returns
// the total size of its texts.
func limit(e *Entry) (size int) {
	text := func(s *string, most int) {
		*s = cut(*s, most)
		size += len(*s)
	}
	text(&e.Text, MaxText)
	if e.Tool != nil {
		t := *e.Tool
		text(&t.ID, maxName)
		text(&t.Title, maxName)
		text(&t.Site, maxName)
		text(&t.Input, MaxText)
		text(&t.Output, MaxText)
		e.Tool = &t
	}
	if len(e.Plan) > 0 {
		e.Plan = slices.Clone(e.Plan[:min(len(e.Plan), maxItems)])
		for i := range e.Plan {
			text(&e.Plan[i].Text, maxName)
		}
	}
	if e.Permission != nil {
		p := *e.Permission
		p.Options = slices.Clone(p.Options[:min(len(p.Options), maxItems)])
		text(&p.Title, maxName)
		text(&p.Detail, MaxText)
		for i := range p.Options {
			text(&p.Options[i].Name, maxName)
		}
		e.Permission = &p
	}
	if e.Quote != nil {
		q := *e.Quote
		text(&q.Text, MaxText)
		text(&q.URL, maxName)
		e.Quote = &q
	}
	return size
}

// cut returns a prefix of s that consists of complete characters and a note, with at most most
// bytes, or s if it is not longer.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len(cutNote)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cutNote
}
