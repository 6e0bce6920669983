package agents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// program returns the path of an executable file.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAddLoadRemove(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if all, err := Load(data); len(all) != 0 || err != nil {
		t.Fatalf("no file: %v, %v", all, err)
	}
	b := Agent{Name: "b", Command: []string{program(t, "agent"), "--acp", "a b"}, Files: true}
	a := Agent{Name: "a", Command: []string{program(t, "agent")}}
	for _, agent := range []Agent{b, a} {
		if err := Add(data, agent); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := Load(data); err != nil || !reflect.DeepEqual(all, []Agent{a, b}) {
		t.Errorf("loaded %v, %v", all, err)
	}
	if got, err := Get(data, "b"); err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("got %v, %v", got, err)
	}
	info, err := os.Stat(filepath.Join(data, fileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v", info, err)
	}
	if err := Add(data, Agent{Name: "A", Command: a.Command}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("adding a name again: %v", err)
	}
	if err := Remove(data, "a"); err != nil {
		t.Error(err)
	}
	if err := Remove(data, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removing again: %v", err)
	}
	if _, err := Get(data, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("getting a removed agent: %v", err)
	}
}

func TestAddInvalid(t *testing.T) {
	data, good := t.TempDir(), program(t, "agent")
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		agent Agent
		want  string
	}{
		"no name":       {Agent{Command: []string{good}}, "invalid agent name"},
		"path as name":  {Agent{Name: "../a", Command: []string{good}}, "invalid agent name"},
		"no command":    {Agent{Name: "a"}, "has no command"},
		"relative":      {Agent{Name: "a", Command: []string{"agent"}}, "not an absolute path"},
		"missing":       {Agent{Name: "a", Command: []string{good + "x"}}, "no such file"},
		"directory":     {Agent{Name: "a", Command: []string{data}}, "is not executable"},
		"no executable": {Agent{Name: "a", Command: []string{plain}}, "is not executable"},
		"zero byte":     {Agent{Name: "a", Command: []string{good, "a\x00b"}}, "zero byte"},
		"too long":      {Agent{Name: "a", Command: []string{good, strings.Repeat("x", maxCommand)}}, "too long"},
	} {
		err := Add(data, tt.agent)
		e, _ := errors.AsType[*errs.Error](err)
		if e == nil || !strings.Contains(err.Error(), tt.want) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := Load(data); len(all) != 0 || err != nil {
		t.Errorf("stored %v, %v", all, err)
	}
}

func TestMaxAgents(t *testing.T) {
	data, good := t.TempDir(), program(t, "agent")
	for i := range maxAgents {
		if err := Add(data, Agent{Name: fmt.Sprint("a", i), Command: []string{good}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Add(data, Agent{Name: "more", Command: []string{good}}); err == nil {
		t.Error("one agent too many was added")
	}
}

func TestConcurrentAdd(t *testing.T) {
	data, good := t.TempDir(), program(t, "agent")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if err := Add(data, Agent{Name: fmt.Sprint("a", i), Command: []string{good}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if all, err := Load(data); len(all) != 8 || err != nil {
		t.Errorf("%d agents, %v", len(all), err)
	}
}

func TestLoadInvalid(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"text":          {"agents", 0o600, "invalid character"},
		"unknown field": {`{"agents": [{"name": "a", "command": ["/a"], "shell": true}]}`, 0o600, `unknown field "shell"`},
		"more text":     {`{"agents": []} {}`, 0o600, "text after"},
		"relative":      {`{"agents": [{"name": "a", "command": ["a"]}]}`, 0o600, "not an absolute path"},
		"same names":    {`{"agents": [{"name": "a", "command": ["/a"]}, {"name": "A", "command": ["/a"]}]}`, 0o600, "two agents"},
		"too large":     {strings.Repeat(" ", maxFile+1), 0o600, "larger than"},
		"too many":      {`{"agents": [` + strings.Repeat(`{"name": "a", "command": ["/a"]},`, maxAgents) + `{}]}`, 0o600, "more than 32"},
		"readable":      {`{"agents": []}`, 0o644, "may be read by others"},
	} {
		data := t.TempDir()
		path := filepath.Join(data, fileName)
		if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(data)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Add(data, Agent{Name: "a", Command: []string{program(t, "agent")}}); err == nil {
			t.Errorf("%s: Add replaced the file", name)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != tt.text {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

func TestFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"gemini", "codex-acp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	want := []Agent{
		{Name: "codex-acp", Command: []string{filepath.Join(dir, "codex-acp")}},
		{Name: "gemini", Command: []string{filepath.Join(dir, "gemini"), "--acp"}},
	}
	if got := Found(); !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	t.Chdir(dir)
	t.Setenv("PATH", ".")
	if got := Found(); len(got) != 0 {
		t.Errorf("found %v in a relative directory", got)
	}
	for _, command := range known {
		if !IsName(command[0]) {
			t.Errorf("%q is not a name", command[0])
		}
	}
}
