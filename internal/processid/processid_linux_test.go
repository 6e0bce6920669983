package processid

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestIdentity(t *testing.T) {
	own, err := Of(os.Getpid())
	if again, err2 := Of(os.Getpid()); err != nil || err2 != nil || own != again || own == "" {
		t.Errorf("own process: %q, %v, then %q, %v", own, err, again, err2)
	}
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if child, err := Of(cmd.Process.Pid); err != nil || child == "" {
		t.Errorf("child: %q, %v", child, err)
	}
	stdin.Close()
	cmd.Wait()
	for _, of := range []func() error{
		func() error { _, err := Of(cmd.Process.Pid); return err },
		func() error { _, err := Started(cmd.Process.Pid); return err },
		func() error { _, err := Started(-1); return err },
	} {
		if of() == nil {
			t.Error("an exited process was found")
		}
	}
}

func TestParseStat(t *testing.T) {
	rest := " S 1 42 3" + strings.Repeat(" 0", 15) + " 777 8"
	for _, name := range []string{"cat", "a) b (c", ")"} {
		if st, err := parseStat([]byte("7 (" + name + ")" + rest)); err != nil || st != (Stat{'S', 42, "777"}) {
			t.Errorf("%q: %+v, %v", name, st, err)
		}
	}
	for _, line := range []string{"", "7 cat S", "7 (cat) S 1 42"} {
		if _, err := parseStat([]byte(line)); err == nil {
			t.Errorf("parseStat(%q) succeeded", line)
		}
	}
}
