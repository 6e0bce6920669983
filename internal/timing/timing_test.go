package timing

import (
	"reflect"
	"testing"
	"time"
)

// fields returns the durations in a struct by name.
func fields(v reflect.Value, all map[string]time.Duration) map[string]time.Duration {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct {
			fields(f, all)
		} else {
			all[v.Type().Field(i).Name] = time.Duration(f.Int())
		}
	}
	return all
}

func TestDefault(t *testing.T) {
	all := fields(reflect.ValueOf(Default()), map[string]time.Duration{})
	for name, d := range all {
		if d <= 0 {
			t.Errorf("%s has no default", name)
		}
	}
	// Names that two structs had could not be used.
	var used int
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Timing]()) {
		if !f.Anonymous {
			used++
		}
	}
	if used != len(all) {
		t.Errorf("%d of %d fields have a unique name", len(all), used)
	}
	d := Default()
	if d.BusyPress >= d.Input || d.PressDelivery >= d.BusyPress {
		t.Errorf("a press can take effect after it was reported as failed: %v, %v, %v", d.PressDelivery, d.BusyPress, d.Input)
	}
	if d.PausedPopup >= d.AttachTab {
		t.Errorf("PausedPopup is %v and AttachTab %v", d.PausedPopup, d.AttachTab)
	}
	if total := d.Drain + d.CancelCalls + d.CloseBrowser; total.Seconds() >= 3 {
		t.Errorf("the program takes %v to exit", total)
	}
}

func TestScaleHangLimits(t *testing.T) {
	scaled := Default().ScaleHangLimits(5)
	if scaled.Patience != Default().Patience {
		t.Error("patience was scaled")
	}
	want := fields(reflect.ValueOf(Default().HangLimits), map[string]time.Duration{})
	for name, d := range fields(reflect.ValueOf(scaled.HangLimits), map[string]time.Duration{}) {
		if d != 5*want[name] {
			t.Errorf("%s is %v, want 5 times %v", name, d, want[name])
		}
	}
	if Default().ScaleHangLimits(1) != Default() {
		t.Error("the factor 1 changed limits")
	}
}

func TestCurrent(t *testing.T) {
	defer func(old string) { forTests = old }(forTests)
	shorter := Default().ScaleHangLimits(5)
	shorter.Consent, shorter.ProfileInUse = 2*time.Second, time.Millisecond
	for scale, want := range map[string]Timing{"": Default(), "5": Default().ScaleHangLimits(5), "x": Default(), "0": Default(), "5,Consent=2s,ProfileInUse=1ms": shorter} {
		if forTests = scale; Current() != want {
			t.Errorf("factor %q: other limits", scale)
		}
	}
	if ScaleForTests(3); Current() != Default().ScaleHangLimits(3) {
		t.Error("ScaleForTests(3) has another effect")
	}
}
