package mcp

import (
	"context"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

type resizeArgs struct {
	Width  int  `json:"width,omitempty" min:"100" max:"5000"`
	Height int  `json:"height,omitempty" min:"100" max:"5000"`
	Reset  bool `json:"reset,omitempty" jsonschema:"instead: the window's size"`
	tabArg
}

func (a resizeArgs) check() error {
	switch size := a.Width != 0 || a.Height != 0; {
	case a.Reset && size:
		return badArgs("Give one or the other.", "reset and width or height contradict each other")
	case !a.Reset && (a.Width == 0 || a.Height == 0):
		return badArgs("Give width and height, or reset.", "viewport size is missing")
	}
	return nil
}

func (a resizeArgs) run(ctx context.Context, p executor.Page) (resizeResult, error) {
	v, err := p.Resize(ctx, executor.ResizeOptions{Width: a.Width, Height: a.Height, Reset: a.Reset})
	return resizeResult{v}, err
}

type resizeResult struct{ *executor.Viewport }

func (r resizeResult) render(t *text) { t.viewport(*r.Viewport) }

// viewport adds a line with the size of a viewport.
func (t *text) viewport(v executor.Viewport) {
	t.line("viewport %dx%d, device scale %.4g", v.Width, v.Height, v.Scale)
}

type emulateArgs struct {
	Device        executor.Device            `json:"device,omitempty" enum:"desktop|phone|tablet"`
	ColorScheme   executor.ColorScheme       `json:"colorScheme,omitempty" enum:"light|dark"`
	ReducedMotion *bool                      `json:"reducedMotion,omitempty"`
	Media         executor.MediaType         `json:"media,omitempty" enum:"screen|print"`
	Locale        string                     `json:"locale,omitempty" jsonschema:"such as nb-NO"`
	Timezone      string                     `json:"timezone,omitempty" jsonschema:"such as Asia/Tokyo"`
	Network       executor.NetworkConditions `json:"network,omitempty" enum:"online|offline|slow3g|fast3g|fast4g"`
	CPU           float64                    `json:"cpu,omitempty" jsonschema:"slower by, 1 to 20"`
	Reset         bool                       `json:"reset,omitempty" jsonschema:"undo all other emulation"`
	tabArg
}

func (a emulateArgs) check() error {
	if (a == emulateArgs{tabArg: a.tabArg}) {
		return badArgs("Specify what to emulate, or reset.", "nothing to emulate")
	}
	return nil
}

func (a emulateArgs) run(ctx context.Context, p executor.Page) (emulateResult, error) {
	e, err := p.Emulate(ctx, executor.EmulateOptions{
		Reset: a.Reset, Device: a.Device, ColorScheme: a.ColorScheme, ReducedMotion: a.ReducedMotion, Media: a.Media,
		Locale: a.Locale, Timezone: a.Timezone, Network: a.Network, CPUThrottling: a.CPU,
	})
	return emulateResult{e}, err
}

type emulateResult struct{ *executor.Emulation }

func (r emulateResult) render(t *text) {
	var facts []own
	add := func(name own, value string) {
		if value != "" {
			facts = append(facts, name+" "+own(value))
		}
	}
	add("device", string(r.Device))
	add("colorScheme", string(r.ColorScheme))
	if r.ReducedMotion != nil {
		add("reducedMotion", fmt.Sprint(*r.ReducedMotion))
	}
	add("media", string(r.Media))
	add("locale", r.Locale)
	add("timezone", r.Timezone)
	add("network", string(r.Network))
	if r.CPUThrottling != 0 {
		add("cpu", fmt.Sprintf("slower by %v", r.CPUThrottling))
	}
	if len(facts) == 0 {
		facts = []own{"nothing"}
	}
	t.line("emulated: %s", join(facts, ", "))
	t.viewport(r.Viewport)
}
