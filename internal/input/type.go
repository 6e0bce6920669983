package input

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// Type enters text into the target.
func (a *Actor) Type(ctx context.Context, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.TypeOptions))
	given, err := findSecrets(ctx, a.opts.Secrets, text)
	if err != nil {
		return nil, err
	}
	if err := checkDelay(o.Delay, given.plain); err != nil {
		return nil, err
	}
	o.KeyEvents = o.KeyEvents || o.Delay > 0
	if given.hidden && o.KeyEvents {
		return nil, executor.Errorf(executor.ErrBadArgs, "Omit TypeOptions.KeyEvents and TypeOptions.Delay.", "a secret is not entered with a key press for each character")
	}
	return actionOf(a.act(ctx, target, actOptions{timeout: o.Timeout, brief: !o.PressEnter}, func(ctx context.Context, el *element) (string, error) {
		if o.PressEnter {
			el.effects = nil // the text is not the action's last input
		}
		e := a.newTextEntry(el, given.plain, o)
		defer e.check.end()
		var got entryResult
		var err error
		if given.hidden {
			got, err = (&secretEntry{a, el, given}).enter(ctx, o.Clear)
		} else if err = e.waitEditable(ctx, actionabilityOptions{Editable: true}); err == nil {
			got, err = e.enter(ctx)
		}
		if el.effects != nil && got.field != nil {
			el.effects.Entered = append(el.effects.Entered, got.field)
		}
		note := phrase.Notes(given.note, got.note)
		switch {
		case err != nil || !o.PressEnter:
		case got.stopped || a.tree.DialogError() != nil:
			note = phrase.Notes(note, "Enter was not pressed")
		default:
			var sent bool
			sent, err = a.pressEnter(ctx, el)
			progress := "the text was typed and Enter was not pressed"
			if sent {
				progress = "the text was typed, and Enter was sent: the page may still receive it"
			}
			err = shield.WithProgress(err, progress)
		}
		return note, err
	}))
}

// checkDelay returns ErrBadArgs if text cannot be typed with a delay between its characters.
func checkDelay(delay time.Duration, text string) error {
	if delay < 0 {
		return executor.Errorf(executor.ErrBadArgs, "Use a positive time.", "the delay %v is negative", delay)
	}
	gaps := max(utf8.RuneCountInString(text)-1, 0)
	if most := executor.MaxTypingDelay / time.Duration(max(gaps, 1)); delay > most {
		return executor.Errorf(executor.ErrBadArgs, "Use a shorter delay, or type the text in several calls.",
			"the delays between %d characters would take longer than %v", gaps+1, executor.MaxTypingDelay)
	}
	return nil
}
