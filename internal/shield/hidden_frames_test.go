package shield

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// attachHiding returns a page of r that has a denied frame, whose element has the id 7 in the document
// https://a.test/1, and a client of it.
func attachHiding(t *testing.T, r *recorder) *frames.Client {
	t.Helper()
	tab := attach(t, r.FakeTransport)
	tab.Load(t, 1)
	tab.LoadChild(t, 2)
	return tab.Client(deny("https://b.test/2"))
}

// TestNoFrameToHide checks that a tab without denied frames is captured once, and as it is.
func TestNoFrameToHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		tab.LoadChild(t, 2)
		h, err := HideFrames(t.Context(), tab.Client(executor.AllowAll))
		if h != nil || err != nil || len(h.Elements()) > 0 {
			t.Fatalf("%v, %v", h, err)
		}
		taken := 0
		if err := h.Capture(t.Context(), func() error { taken++; return nil }); err != nil || taken != 1 {
			t.Errorf("captured %d times: %v", taken, err)
		}
		h.Release(t.Context())
		r.want(t, "for the screenshot", "")
	})
}

// TestHideFrames checks that the content of a denied frame is hidden before a screenshot is taken, and
// shown afterwards, and that the screenshot is repeated if the frame came into view during it: the
// browser shows the old content until the frame is drawn again.
func TestHideFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		c := attachHiding(t, r)
		r.returns("framesInView", "[]")
		r.hold("waitHidden")
		h, err := HideFrames(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.take(); !strings.Contains(got, "hideContent waitHidden") || strings.Contains(got, "showContent") {
			t.Errorf("sent %q to hide the frame", got)
		}
		if e := h.Elements(); len(e) != 1 || e[0].Doc.URL != "https://a.test/1" || e[0].ID != 7 {
			t.Errorf("elements %+v", e)
		}
		taken := 0
		err = h.Capture(t.Context(), func() error {
			taken++
			if got := r.take(); strings.Contains(got, "showContent") {
				t.Errorf("sent %q before screenshot %d", got, taken)
			}
			r.returns("framesInView", "[7]")
			r.hold("")
			return nil
		})
		if err != nil || taken != 2 {
			t.Errorf("captured %d times: %v", taken, err)
		}
		if got := r.take(); !strings.Contains(got, "showContent") {
			t.Errorf("sent %q after the screenshot", got)
		}
		h.Release(t.Context())
		r.want(t, "when the content is shown", "")
	})
}

// TestReleaseFrames checks that Release shows the content if no screenshot is taken.
func TestReleaseFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		h, err := HideFrames(t.Context(), attachHiding(t, r))
		if err != nil {
			t.Fatal(err)
		}
		r.take()
		h.Release(t.Context())
		if got := r.take(); !strings.Contains(got, "showContent") {
			t.Errorf("sent %q", got)
		}
		h.Release(t.Context())
		r.want(t, "when it is called again", "")
	})
}

// TestFrameNotHidden checks that no screenshot is taken of a denied frame that cannot be hidden, and
// none is returned if the frame was visible during it.
func TestFrameNotHidden(t *testing.T) {
	for function, taken := range map[string]bool{"hideContent": false, "waitHidden": false, "showContent": true} {
		t.Run(function, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder()
				r.returns("framesInView", "[7]")
				r.returns(function, "false")
				h, err := HideFrames(t.Context(), attachHiding(t, r))
				captured := false
				if err == nil {
					err = h.Capture(t.Context(), func() error { captured = true; return nil })
				}
				if executor.CodeOf(err) != executor.ErrPolicyDenied || captured != taken {
					t.Errorf("captured %t: %v", captured, err)
				}
			})
		})
	}
}

// TestUnknownFrame checks that a frame whose document is not known yet prevents a screenshot for now.
func TestUnknownFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		tab := attach(t, r.FakeTransport)
		tab.Load(t, 1)
		r.Emit("T", "Page.frameAttached", `{"frameId":"F","parentFrameId":"T"}`)
		r.Attach("T", "F", "iframe")
		synctest.Wait()
		_, err := HideFrames(t.Context(), tab.Client(executor.AllowAll))
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrPolicyDenied || !e.Retryable {
			t.Errorf("%v", err)
		}
	})
}
