package owneronly

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const (
	insideName  = "OWNERONLY_TEST_INSIDE"
	foreignName = "OWNERONLY_TEST_FOREIGN"
)

// TestContainers checks files as a container without root sees them: the users of
// the machine, such as root, are unknown, and volumes are mounted read-only.
func TestContainers(t *testing.T) {
	if path := os.Getenv(insideName); path != "" {
		volume, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckTrusted(path, volume); err == nil {
			t.Error("a file that others may write to is trusted")
		}
		foreign := os.Getenv(foreignName)
		info, err := os.Stat(foreign)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckTrusted(foreign, info); err != nil {
			t.Errorf("a file of a user outside of the container: %v", err)
		}
		dir := filepath.Dir(path)
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, ""); err != nil {
			t.Fatal(err)
		}
		if err := CheckTrusted(path, volume); err != nil {
			t.Errorf("a file on a read-only mount: %v", err)
		}
		return
	}
	dir := t.TempDir()
	mkdir(t, dir+"/volume")
	write(t, dir+"/volume/file", 0o666)
	chmod(t, dir+"/volume", 0o777)
	foreign := dir + "/foreign"
	write(t, foreign, 0o644)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestContainers$")
	cmd.Env = append(os.Environ(), insideName+"="+dir+"/volume/file", foreignName+"="+givenAway(t, foreign, "/etc/passwd"))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1234, HostID: os.Geteuid(), Size: 1}},
		AmbientCaps: []uintptr{21}, // CAP_SYS_ADMIN: to mount
	}
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Skip("this system does not let us create a user namespace:", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
