package ci

import (
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	os.Exit(m.Run())
}

// failing is the variable that makes TestFails fail, like a user's test of a broken shop.
const failing = "EXAMPLE_MUST_FAIL"

// TestFails fails because the shop opens a confirm dialog, if the variable is set.
func TestFails(t *testing.T) {
	if os.Getenv(failing) == "" {
		t.Skip("TestKeepsFailureArtifacts runs this")
	}
	_, address, stop, err := shop.Open()
	check(t, err)
	defer stop()
	chrome, ctx := browse(t), t.Context()
	page, _, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: address + "/order"})
	check(t, err)
	_, err = page.FillForm(ctx, []executor.Field{
		{Target: executor.Selector("[name=name]"), Value: "Ada Lovelace"},
		{Target: executor.Selector("[name=email]"), Value: "ada@example.com"},
		{Target: executor.Selector("[name=country]"), Value: "Norway"},
		{Target: executor.Selector("[name=date]"), Value: "2027-01-15"},
	}, &executor.FillOptions{Submit: executor.Selector("text=Place the order")})
	check(t, err)
	t.Error("the shop opened an unexpected dialog")
}

// TestKeepsFailureArtifacts runs a failing test with the flags that e2e.yml passes to go test.
func TestKeepsFailureArtifacts(t *testing.T) {
	workflow, err := os.ReadFile("e2e.yml")
	if err != nil || !strings.Contains(string(workflow), "go test -artifacts -outputdir ") {
		t.Errorf("e2e.yml does not run go test with -artifacts and -outputdir (%v)", err)
	}
	userbrowser.Find(t)
	kept := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFails$", "-test.artifacts", "-test.outputdir="+kept)
	cmd.Env = append(os.Environ(), failing+"=yes")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: TestFails") {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := `dismissed the open confirm: "Place the order for € 89.00?"`; !strings.Contains(string(out), want) {
		t.Errorf("%s not found in the log:\n%s", want, out)
	}
	files := map[string]string{}
	check(t, filepath.WalkDir(kept, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[entry.Name()] = path
		}
		return err
	}))
	if len(files) != 2 {
		t.Errorf("artifacts %v, want two files", files)
	}
	outline, err := os.ReadFile(files["TestFails.txt"])
	if err != nil || !strings.Contains(string(outline), `textbox "Name"`) || !strings.Contains(string(outline), "Ada Lovelace") {
		t.Errorf("the outline is %q, %v", outline, err)
	}
	picture, err := os.Open(files["TestFails.png"])
	check(t, err)
	defer picture.Close()
	if config, err := png.DecodeConfig(picture); err != nil || config.Width != chromium.DefaultWidth || config.Height != chromium.DefaultHeight {
		t.Errorf("the screenshot is %dx%d, %v", config.Width, config.Height, err)
	}
}
