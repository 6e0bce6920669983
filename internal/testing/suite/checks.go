package suite

import (
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Checks are checks of values by a test.
type Checks struct{ *testing.T }

// Must fails the case if a call has failed, such as c.Must(c.Page().Back(c.Ctx, nil)).
func (c Checks) Must(_ any, err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// RefIn returns the ref of the element with that role and name in a snapshot.
func (c Checks) RefIn(snapshot, role, name string) executor.Ref {
	c.Helper()
	m := regexp.MustCompile(`(?m)^\s*- ` + role + ` "` + regexp.QuoteMeta(name) + `".*\[ref=(e\d+)\]`).FindStringSubmatch(snapshot)
	if m == nil {
		c.Fatalf("%s %q with a ref not found in the snapshot:\n%s", role, name, snapshot)
	}
	return executor.Ref(m[1])
}

// WantCode checks that err is an *executor.Error with the code, whose text and hint contain each of
// parts, ignoring case.
func (c Checks) WantCode(err error, code executor.Code, parts ...string) {
	c.Helper()
	if err == nil {
		c.Fatalf("no error, want %s", code)
	}
	var e *executor.Error
	if !errors.As(err, &e) {
		c.Fatalf("error %v is not an *executor.Error", err)
	}
	if !errors.Is(err, code) || executor.CodeOf(err) != code {
		c.Fatalf("error %s (%v), want %s", executor.CodeOf(err), err, code)
	}
	said := strings.ToLower(e.Error() + " " + e.Hint)
	for _, part := range parts {
		if !strings.Contains(said, strings.ToLower(part)) {
			c.Errorf("error %q (hint %q) does not name %q", e.Error(), e.Hint, part)
		}
	}
}

// WantUncertain checks that err, which has the given code, says that the call may have had effects, and
// is not retryable.
func (c Checks) WantUncertain(err error, code executor.Code) {
	c.Helper()
	c.WantCode(err, code, "may have had effects")
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Retryable {
		c.Errorf("retryable: %v", err)
	}
}

// WantIn and WantNotIn check the content of a text.
func (c Checks) WantIn(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.Errorf("%q is missing in:\n%.3000s", part, text)
		}
	}
}

func (c Checks) WantNotIn(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			c.Errorf("%q should not be in:\n%.3000s", part, text)
		}
	}
}

// WantDialog checks the dialog that an action reports.
func (c Checks) WantDialog(ch executor.Changes, kind executor.DialogType, message string) {
	c.Helper()
	if ch.Dialog == nil {
		c.Fatalf("the action reports no dialog, want %s %q", kind, message)
	}
	if ch.Dialog.Type != kind || ch.Dialog.Message != message {
		c.Errorf("the action reports %+v, want %s %q", *ch.Dialog, kind, message)
	}
}

// WantColor checks one pixel, with a tolerance for JPEG compression.
func (c Checks) WantColor(img image.Image, x, y int, want color.RGBA) {
	c.Helper()
	r, g, b, _ := img.At(x, y).RGBA()
	near := func(a uint32, b uint8) bool { d := int(a>>8) - int(b); return -20 < d && d < 20 }
	if !near(r, want.R) || !near(g, want.G) || !near(b, want.B) {
		c.Errorf("pixel %d,%d is %d,%d,%d, want %v", x, y, r>>8, g>>8, b>>8, want)
	}
}

// WantTruncated checks the size of a screenshot, and that it is reported as truncated.
func (c Checks) WantTruncated(shot *executor.Screenshot, width, height, fullHeight int) {
	c.Helper()
	if shot.Width != width || shot.Height != height || !shot.Truncated || shot.FullHeight != fullHeight {
		c.Errorf("%d×%d, Truncated = %v, FullHeight = %d, want %d×%d of %d", shot.Width, shot.Height, shot.Truncated, shot.FullHeight, width, height, fullHeight)
	}
}

// WantGone checks for the error of a tab that was closed.
func (c Checks) WantGone(err error) {
	c.Helper()
	if code := executor.CodeOf(err); code != executor.ErrTabNotFound && code != executor.ErrTargetGone {
		c.Errorf("error %v, want %s or %s", err, executor.ErrTabNotFound, executor.ErrTargetGone)
	}
}

// WantSaved checks the file of a download.
func (c Checks) WantSaved(d *executor.DownloadedFiles) {
	c.Helper()
	data, err := os.ReadFile(d.Path)
	if err != nil {
		c.Fatal(err)
	}
	if string(data) != FileContent {
		c.Errorf("%s contains %q, want %q", d.Path, data, FileContent)
	}
	if d.Bytes != int64(len(FileContent)) || d.Backend == "" || !filepath.IsAbs(d.Path) {
		c.Errorf("result %+v", *d)
	}
}
