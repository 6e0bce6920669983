package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A keyring is a real keyring of a user, on a private D-Bus.
type keyring struct {
	address string // of the bus
	daemon  *exec.Cmd
}

// startKeyring starts a bus and a keyring, which is unlocked. If Debian's packages dbus and
// gnome-keyring are not installed, it skips the test, or fails it in CI.
func startKeyring(t *testing.T) *keyring {
	t.Helper()
	for _, program := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	home := t.TempDir()
	start := func(stdin string, env []string, name string, args ...string) (*exec.Cmd, *bufio.Reader) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), append(env, "HOME="+home, "XDG_DATA_HOME=", "XDG_RUNTIME_DIR="+home)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		return cmd, bufio.NewReader(out)
	}
	_, out := start("", nil, "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", "--address=unix:path="+filepath.Join(home, "bus"))
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	k := &keyring{address: "DBUS_SESSION_BUS_ADDRESS=" + strings.TrimSpace(address)}
	k.daemon, _ = start("password of the keyring", []string{k.address}, "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	bus, err := dbus.Connect(strings.TrimSpace(address), dbus.WithContext(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	await.Until(t, "the keyring", func() bool {
		var has bool
		return bus.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.freedesktop.secrets").Store(&has) == nil && has
	})
	return k
}

// TestSecretInKeyring keeps a secret in a real keyring, over D-Bus.
func TestSecretInKeyring(t *testing.T) {
	k := startKeyring(t)
	data := filepath.Join(t.TempDir(), "data")
	run := func(stdin string, args ...string) (string, error) {
		t.Helper()
		cmd := exec.Command(binary, append([]string{"secrets"}, args...)...)
		cmd.Env = append(os.Environ(), "CHROME_MCP_DATA="+data, k.address)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "Kw7#") {
			t.Errorf("%q prints the value: %s", args, out)
		}
		return string(out), err
	}
	must := func(want, stdin string, args ...string) {
		t.Helper()
		if out, err := run(stdin, args...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("secrets %q: %v\n%s", args, err, out)
		}
	}
	must("is set", testPassword+"\n", "set", "shop.password", "--origin", "https://shop.example", "--keyring")
	file, err := os.ReadFile(filepath.Join(data, "secrets.json"))
	if err != nil || strings.Contains(string(file), "Kw7") || !strings.Contains(string(file), `"keyring": true`) {
		t.Errorf("the file: %v\n%s", err, file)
	}
	must("shop.password  keyring  https://shop.example", "", "list")
	must("shop.password  keyring  ok", "", "test")
	must("is set", "another value", "set", "shop.password", "--keyring")
	must("ok", "", "test", "shop")
	must("is set in the keyring, for https://shop.example", "a third value", "set", "shop.password")
	must("keyring  ok", "", "test", "shop.password")
	must("is set in secrets.json", testPassword, "set", "shop.password", "--keyring=false")
	must("file  ok", "", "test")
	must("is set", testPassword, "set", "shop.password", "--keyring")
	must("is removed", "", "remove", "shop")
	must("No secrets", "", "list")

	must("is set", testPassword, "set", "shop.password", "--origin", "https://shop.example", "--keyring")
	k.daemon.Process.Kill()
	k.daemon.Wait()
	if out, err := run("", "test"); err == nil || !strings.Contains(out, "is not available: keyring") || !strings.Contains(out, "1 of 1 values cannot be used") {
		t.Errorf("without a keyring: %v\n%s", err, out)
	}
}
