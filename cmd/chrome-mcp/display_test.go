package main

import (
	"bufio"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A display is a virtual X display with a keyboard and a pointer.
type display struct {
	name string // value of DISPLAY
	conn *xgb.Conn
	root xproto.Window
	keys map[xproto.Keysym]byte // keycode of each symbol
}

// newDisplay starts an X server. Without Xvfb it skips the test, and in CI fails it.
func newDisplay(t *testing.T) *display {
	t.Helper()
	tier.SetFullBrowser(t) // a headless shell has no windows
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("Xvfb not found in CI: %v", err)
		}
		t.Skipf("Xvfb not found (apt-get install xvfb): %v", err)
	}
	said, number, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-displayfd", "3", "-screen", "0", "1100x800x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{number}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	number.Close()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		force := time.AfterFunc(await.HangLimit, func() { cmd.Process.Kill() })
		cmd.Wait()
		force.Stop()
	})
	said.SetReadDeadline(time.Now().Add(await.HangLimit))
	line, err := bufio.NewReader(said).ReadString('\n')
	said.Close()
	if err != nil {
		t.Fatalf("Xvfb reported no display: %v", err)
	}

	d := &display{name: ":" + strings.TrimSpace(line), keys: map[xproto.Keysym]byte{}}
	xgb.Logger = log.New(io.Discard, "", 0) // it logs that no authority file was found, which is not needed
	if d.conn, err = xgb.NewConnDisplay(d.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.conn.Close)
	if err := xtest.Init(d.conn); err != nil {
		t.Fatal(err)
	}
	setup := xproto.Setup(d.conn)
	d.root = setup.DefaultScreen(d.conn).Root
	first, count := setup.MinKeycode, byte(setup.MaxKeycode-setup.MinKeycode+1)
	layout, err := xproto.GetKeyboardMapping(d.conn, first, count).Reply()
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(count) {
		symbol := layout.Keysyms[i*int(layout.KeysymsPerKeycode)]
		if _, known := d.keys[symbol]; !known {
			d.keys[symbol] = byte(first) + byte(i)
		}
	}
	return d
}

// X key symbols.
const (
	keyAlt   xproto.Keysym = 0xffe9
	keyShift xproto.Keysym = 0xffe1
)

// press presses keys together and releases them.
func (d *display) press(t *testing.T, keys ...xproto.Keysym) {
	t.Helper()
	for _, key := range keys {
		d.fake(t, xproto.KeyPress, d.keys[key])
	}
	for _, key := range keys {
		d.fake(t, xproto.KeyRelease, d.keys[key])
	}
}

// click clicks at a point of the screen.
func (d *display) click(t *testing.T, x, y int16) {
	t.Helper()
	d.move(t, x, y)
	d.fake(t, xproto.ButtonPress, 1)
	d.fake(t, xproto.ButtonRelease, 1)
}

// move moves the pointer.
func (d *display) move(t *testing.T, x, y int16) {
	t.Helper()
	if err := xtest.FakeInputChecked(d.conn, xproto.MotionNotify, 0, 0, d.root, x, y, 0).Check(); err != nil {
		t.Fatal(err)
	}
}

// fake sends a synthetic key or button event to the X server.
func (d *display) fake(t *testing.T, event, detail byte) {
	t.Helper()
	if detail == 0 {
		t.Fatal("key not found on the keyboard")
	}
	if err := xtest.FakeInputChecked(d.conn, event, detail, 0, d.root, 0, 0, 0).Check(); err != nil {
		t.Fatal(err)
	}
}

// focus gives the window of a page the keyboard focus by a click, because the display has no window
// manager.
func (b *userBrowser) focus(t *testing.T, screen *display, page string) {
	t.Helper()
	await.Until(t, "the window to have the keyboard focus", func() bool {
		screen.click(t, 400, 600)
		var focused bool
		b.EvalInTarget(t, page, "document.hasFocus()", &focused)
		return focused
	})
}
