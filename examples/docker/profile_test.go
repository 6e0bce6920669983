// Package docker_test checks the files of this directory for consistency with each other and with
// the program, and tests them with the kernel where that is possible without Docker.
package docker_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "regenerate seccomp.json from the module that it is derived from")

// seccomp.json is derived from the file of this name and checksum in this module.
const (
	mobyModule  = "github.com/moby/profiles/seccomp@v0.2.3"
	mobyProfile = "default.json"
	mobySum     = "536529b665dd0972c37bfb569f5d4ac8a53592e7b00752bc39ff063ca9864c74"
)

// ours is the rule that we add, after the first occurrence of the first line. Chromium 156 needs
// exactly these three system calls.
const (
	before = "\t\"syscalls\": [\n"
	ours   = `		{
			"names": [
				"chroot",
				"clone",
				"unshare"
			],
			"action": "SCMP_ACT_ALLOW",
			"comment": "Chromium's own sandbox. All else is Docker's default: github.com/moby/profiles/seccomp v0.2.3, Apache-2.0."
		},
`
)

// dockers returns Docker's default profile: ours without the rule that we added.
func dockers(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("seccomp.json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(text, []byte(before+ours), []byte(before), 1)
}

func TestSeccompProfileExtendsDockerDefault(t *testing.T) {
	if *update {
		writeProfile(t)
	}
	if sum := sha256.Sum256(dockers(t)); hex.EncodeToString(sum[:]) != mobySum {
		t.Errorf("without our rule seccomp.json is not %s of %s: regenerate it with go test -run %s -update", mobyProfile, mobyModule, t.Name())
	}
	text, err := os.ReadFile("seccomp.json")
	if err != nil || !json.Valid(text) || !bytes.Contains(text, []byte(ours)) {
		t.Errorf("seccomp.json is not JSON with our rule (%v)", err)
	}
}

func writeProfile(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", mobyModule).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, mobyProfile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("seccomp.json", bytes.Replace(text, []byte(before), []byte(before+ours), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}
