package browsertools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type ResizeArgs struct {
	Width  int  `json:"width,omitempty" min:"100" max:"5000"`
	Height int  `json:"height,omitempty" min:"100" max:"5000"`
	Reset  bool `json:"reset,omitempty" jsonschema:"instead: the window's size"`
	TabArg
}

func (a ResizeArgs) Check() error {
	switch size := a.Width != 0 || a.Height != 0; {
	case a.Reset && size:
		return toolschema.BadArgs("Give one or the other.", "reset and width or height contradict each other")
	case !a.Reset && (a.Width == 0 || a.Height == 0):
		return toolschema.BadArgs("Give width and height, or reset.", "viewport size is missing")
	}
	return nil
}

func (a ResizeArgs) Run(ctx context.Context, p executor.Page) (resizeResult, error) {
	v, err := p.Resize(ctx, &executor.ResizeOptions{Width: a.Width, Height: a.Height, Reset: a.Reset})
	return resizeResult{v}, err
}

type resizeResult struct{ *executor.Viewport }

func (r resizeResult) Render(t *mcptext.Text) { renderViewport(t, *r.Viewport) }

// renderViewport adds a line with the size of a viewport.
func renderViewport(t *mcptext.Text, v executor.Viewport) {
	t.Line("viewport %dx%d, device scale %.4g", v.Width, v.Height, v.Scale)
}

type EmulateArgs struct {
	Device        executor.Device            `json:"device,omitempty" enum:"desktop|phone|tablet"`
	ColorScheme   executor.ColorScheme       `json:"colorScheme,omitempty" enum:"light|dark"`
	ReducedMotion *bool                      `json:"reducedMotion,omitempty"`
	Media         executor.MediaType         `json:"media,omitempty" enum:"screen|print"`
	Locale        string                     `json:"locale,omitempty" jsonschema:"such as nb-NO"`
	Timezone      string                     `json:"timezone,omitempty" jsonschema:"such as Asia/Tokyo"`
	Network       executor.NetworkConditions `json:"network,omitempty" enum:"online|offline|slow3g|fast3g|fast4g"`
	CPU           float64                    `json:"cpu,omitempty" jsonschema:"slower by, 1 to 20"`
	UserAgent     string                     `json:"userAgent,omitempty"`
	Geolocation   string                     `json:"geolocation,omitempty" jsonschema:"latitude,longitude such as 59.91,10.75"`
	Permissions   []executor.PagePermission  `json:"permissions,omitempty" enum:"geolocation|notifications" jsonschema:"granted to the page's origin"`
	Headers       headersArg                 `json:"headers,omitempty" jsonschema:"origin to object of names and values, added to requests to it; needs --enable-mutations"`
	Reset         bool                       `json:"reset,omitempty" jsonschema:"undo all other emulation"`
	TabArg
}

func (a EmulateArgs) Check() error {
	if reflect.DeepEqual(a, EmulateArgs{TabArg: a.TabArg}) {
		return toolschema.BadArgs("Specify what to emulate, or reset.", "nothing to emulate")
	}
	if _, err := a.position(); err != nil {
		return err
	}
	_, err := a.Headers.byOrigin()
	return err
}

// position returns the argument geolocation, or nil.
func (a EmulateArgs) position() (*executor.Geolocation, error) {
	if a.Geolocation == "" {
		return nil, nil
	}
	before, after, _ := strings.Cut(a.Geolocation, ",")
	latitude, err1 := strconv.ParseFloat(strings.TrimSpace(before), 64)
	longitude, err2 := strconv.ParseFloat(strings.TrimSpace(after), 64)
	if err1 != nil || err2 != nil {
		return nil, toolschema.BadArgs("Write it like 59.91,10.75.", "geolocation must be a latitude and a longitude, got %s", mcptext.QuoteShort(a.Geolocation))
	}
	return &executor.Geolocation{Latitude: latitude, Longitude: longitude}, nil
}

// A headersArg maps each origin to an object of header names and values.
type headersArg []toolschema.Member

func (h *headersArg) DecodeArg(raw json.RawMessage) (err error) {
	if *h, err = toolschema.Members(raw); err != nil {
		return fmt.Errorf("must be an object, got %s", toolschema.JSONKind(raw))
	}
	return nil
}

func (*headersArg) ArgSchema() string { return `"type":"object"` }
func (*headersArg) Expected() string  { return "an object" }

// byOrigin returns the headers of each origin, or nil if the argument is not given.
func (h headersArg) byOrigin() (map[string]map[string]string, error) {
	if h == nil {
		return nil, nil
	}
	all := make(map[string]map[string]string, len(h))
	for _, o := range h {
		headers, err := toolschema.Members(o.Value)
		if err != nil {
			return nil, toolschema.BadArgs("", "headers must have an object for %s, got %s", mcptext.QuoteShort(o.Key), toolschema.JSONKind(o.Value))
		}
		if all[o.Key] != nil {
			return nil, toolschema.BadArgs("", "headers must have %s only once", mcptext.QuoteShort(o.Key))
		}
		all[o.Key] = make(map[string]string, len(headers))
		for _, m := range headers {
			value, ok := toolschema.JSONString(m.Value)
			if !ok {
				return nil, toolschema.BadArgs("", "headers must have a string for %s, got %s", mcptext.QuoteShort(m.Key), toolschema.JSONKind(m.Value))
			}
			all[o.Key][m.Key] = value
		}
	}
	return all, nil
}

func (a EmulateArgs) Run(ctx context.Context, p executor.Page) (emulateResult, error) {
	position, err := a.position()
	if err != nil {
		return emulateResult{}, err
	}
	headers, err := a.Headers.byOrigin()
	if err != nil {
		return emulateResult{}, err
	}
	e, err := p.Emulate(ctx, &executor.EmulateOptions{
		Reset: a.Reset, Device: a.Device, ColorScheme: a.ColorScheme, ReducedMotion: a.ReducedMotion, Media: a.Media,
		Locale: a.Locale, Timezone: a.Timezone, Network: a.Network, CPUThrottling: a.CPU,
		UserAgent: a.UserAgent, Geolocation: position, Permissions: a.Permissions, Headers: headers,
	})
	return emulateResult{e}, err
}

type emulateResult struct{ *executor.Emulation }

func (r emulateResult) Render(t *mcptext.Text) {
	var facts []mcptext.Own
	add := func(name mcptext.Own, value string) {
		if value != "" {
			facts = append(facts, name+" "+mcptext.Own(value))
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
	if r.UserAgent != "" {
		facts = append(facts, "userAgent "+mcptext.Quote(r.UserAgent, mcptext.MaxTitle))
	}
	if g := r.Geolocation; g != nil {
		add("geolocation", fmt.Sprintf("%v,%v", g.Latitude, g.Longitude))
	}
	for _, g := range r.Permissions {
		facts = append(facts, "permission "+mcptext.Own(g.Permission)+" of "+mcptext.Address(g.Origin))
	}
	for _, h := range r.Headers {
		for _, name := range h.Names {
			facts = append(facts, "header "+mcptext.Quote(name, mcptext.MaxName)+" to "+mcptext.Address(h.Origin))
		}
	}
	if len(facts) == 0 {
		facts = []mcptext.Own{"nothing"}
	}
	t.Line("emulated: %s", mcptext.Join(facts))
	renderViewport(t, r.Viewport)
}
