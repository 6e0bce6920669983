package docker_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
)

// A profile is a seccomp profile in Docker's format.
type profile struct {
	Syscalls []rule
}

type rule struct {
	Names    []string
	Action   string
	ErrnoRet uint32
	Args     []struct {
		Index           uint32
		Value, ValueTwo uint32
		Op              string
	}
	Includes, Excludes struct{ Caps, Arches []string }
}

// Offsets in the kernel's struct seccomp_data, and return values of a filter.
const (
	offNumber, offArgs = 0, 16
	retAllow, retErrno = 0x7fff0000, 0x00050000
)

// filter compiles a profile to a seccomp filter, as Docker does on this machine for a container
// without capabilities.
func filter(t *testing.T, text []byte) []bpf.RawInstruction {
	t.Helper()
	var p profile
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	numbers := syscallNumbers(t)
	var code []bpf.Instruction
	for _, checksArgs := range []bool{false, true} { // a rule without conditions overrides those with conditions
		for _, r := range p.Syscalls {
			if r.applies() && checksArgs == (len(r.Args) > 0) {
				code = append(code, r.code(t, numbers)...)
			}
		}
	}
	raw, err := bpf.Assemble(append(code, bpf.RetConstant{Val: retErrno | uint32(syscall.EPERM)}))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// applies reports whether a rule applies to this machine and to a container that was started with
// --cap-drop ALL.
func (r *rule) applies() bool {
	return len(r.Includes.Caps) == 0 && !slices.Contains(r.Excludes.Arches, runtime.GOARCH) &&
		(len(r.Includes.Arches) == 0 || slices.Contains(r.Includes.Arches, runtime.GOARCH))
}

func (r *rule) code(t *testing.T, numbers map[string]uint32) []bpf.Instruction {
	var conditions []bpf.Instruction
	for i, arg := range r.Args {
		test := bpf.JumpIf{Val: arg.Value, SkipTrue: 1}
		mask := ^uint32(0)
		switch arg.Op {
		case "SCMP_CMP_EQ":
			test.Cond = bpf.JumpEqual
		case "SCMP_CMP_LT":
			test.Cond = bpf.JumpLessThan
		case "SCMP_CMP_GT":
			test.Cond = bpf.JumpGreaterThan
		case "SCMP_CMP_MASKED_EQ":
			test.Cond, test.Val, mask = bpf.JumpEqual, arg.ValueTwo, arg.Value
		default:
			t.Fatalf("%q: unknown operator %s", r.Names, arg.Op)
		}
		conditions = append(conditions,
			bpf.LoadAbsolute{Off: offArgs + 8*arg.Index, Size: 4}, // the lower half, which is the complete int
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask},
			test,
			bpf.Jump{Skip: uint32(4*(len(r.Args)-i-1) + 1)}, // to the end of the rule
		)
	}
	ret := bpf.RetConstant{Val: retAllow}
	if r.Action == "SCMP_ACT_ERRNO" {
		ret.Val = retErrno | r.ErrnoRet
	}
	var code []bpf.Instruction
	for _, name := range r.Names {
		if number, ok := numbers[name]; ok { // otherwise it belongs to another architecture
			code = append(code, bpf.LoadAbsolute{Off: offNumber, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(conditions) + 1)})
			code = append(append(code, conditions...), ret)
		}
	}
	return code
}

// syscallNumbers returns the numbers of system calls on this machine.
func syscallNumbers(t *testing.T) map[string]uint32 {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+runtime.GOARCH+".go"))
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]uint32{}
	for _, found := range regexp.MustCompile(`(?m)^\s*SYS_(\w+)\s*= (\d+)$`).FindAllSubmatch(source, -1) {
		number, err := strconv.ParseUint(string(found[2]), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		numbers[strings.ToLower(string(found[1]))] = uint32(number)
	}
	return numbers
}

// confine applies a filter to this thread and its child processes, and prevents new privileges.
// This cannot be undone: the goroutine must exit while locked to its thread.
func confine(code []bpf.RawInstruction) error {
	const setSeccomp, modeFilter, setNoNewPrivs = 22, 2, 38 // constants of prctl(2)
	program := struct {
		length uint16
		code   *bpf.RawInstruction
	}{uint16(len(code)), &code[0]}
	runtime.LockOSThread()
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no new privileges: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("seccomp filter of %d instructions: %w", len(code), errno)
	}
	return nil
}
