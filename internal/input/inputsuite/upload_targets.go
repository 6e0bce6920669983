package inputsuite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func uploadTargets(s *suite.Runner, t *testing.T) {
	// A click in a frame also allows the documents around the frame to open a file chooser.
	s.Page(t, "file chooser of the page around a cross-site frame", "", func(c *suite.Case) {
		dir := c.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("first"), 0o600); err != nil {
			c.Fatal(err)
		}
		c.Exec = c.Session(executor.SessionOptions{Gate: executor.AllowAll, UploadsDir: dir})
		c.Tab = c.Open("files.html")
		c.Eval(fmt.Sprintf(`new Promise((done) => {
			const f = document.createElement("iframe");
			f.onload = () => done();
			f.style = "height: 300px";
			f.src = %q;
			document.body.replaceChildren(document.querySelector("#one"), f);
			setInterval(() => {
				if (navigator.userActivation.isActive) document.querySelector("#one").click();
			});
		})`, c.OtherURL("files.html")), nil)
		snap := c.Snap(nil)
		for _, name := range []string{"Nothing", "Choose"} {
			u, err := c.Page().Upload(c.Ctx, suite.ByRef(c.RefIn(snap, "button", name)), []string{"a.txt"}, nil)
			if name == "Nothing" {
				c.WantCode(err, executor.ErrNotActionable, "another origin")
			} else if err != nil {
				c.Errorf("%s: %+v, %v", name, u, err)
			}
			c.WantValue("document.querySelector('#one').files.length", "0")
		}
	})
}
