package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	gopsprocess "github.com/shirou/gopsutil/v4/process"
)

// TestEngineIsConfined checks that the process of a script has no environment variables of the
// server, and has a memory limit in addition to the engine's own limit.
func TestEngineIsConfined(t *testing.T) {
	t.Setenv("CHROME_MCP_SECRET", "secret")
	var limits, environment string
	look := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		self, err := gopsprocess.NewProcess(int32(os.Getpid()))
		if err != nil {
			return nil, err
		}
		children, err := self.Children()
		if err != nil {
			return nil, err
		}
		for _, c := range children {
			dir := fmt.Sprintf("/proc/%d/", c.Pid)
			text, _ := os.ReadFile(dir + "limits")
			limits += string(text)
			text, _ = os.ReadFile(dir + "environ")
			environment += string(text)
		}
		return nil, nil
	}
	if res, err := Run(t.Context(), "look()", []string{"look"}, look, Limits{}); err != nil || res.Thrown != "" {
		t.Fatal(res, err)
	}
	for name, want := range map[string]string{"Max open files": "0 0", "Max file size": "0 0", "Max core file size": "0 0",
		"Max data size": fmt.Sprintf("%[1]d %[1]d", DefaultMemory+512<<20)} {
		_, rest, _ := strings.Cut(limits, name)
		rest, _, _ = strings.Cut(rest, "\n")
		if !strings.HasPrefix(strings.Join(strings.Fields(rest), " "), want) {
			t.Errorf("%s: %q, want %s", name, rest, want)
		}
	}
	if strings.Contains(environment, "secret") {
		t.Error("the process has the environment of the server")
	}
}
