// Package agents stores which agents of the Agent Client Protocol the user configured, and finds
// those that are installed. It does not start them.
package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/filelock"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// An Agent is a program that speaks the Agent Client Protocol on its standard input and output.
type Agent struct {
	Name    string   `json:"name"`
	Command []string `json:"command"` // absolute path of the program, and its arguments
	// Files lets the agent read and write files in its working directory through this program. It
	// does not confine the tools of the agent itself.
	Files bool `json:"files,omitempty"`
}

const (
	fileName = "agents.json"
	// maxAgents is the maximum number of configured agents.
	maxAgents = 32
	// maxFile bounds the file, in bytes, and maxCommand the command of one agent.
	maxFile    = 1 << 20
	maxCommand = 16 << 10
)

// ErrNotFound means that no agent has that name.
var ErrNotFound = errors.New("no such agent")

// nameForm matches the names of agents, which have the form of profile names.
var nameForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)

// IsName reports whether name can be the name of an agent.
func IsName(name string) bool {
	return nameForm().MatchString(name) && !strings.HasSuffix(name, ".")
}

// A file is the content of the file of agents.
type file struct {
	Agents []Agent `json:"agents"`
}

// Load returns the configured agents in dataDir, sorted by name.
func Load(dataDir string) ([]Agent, error) {
	path := filepath.Join(dataDir, fileName)
	data, err := owneronly.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var content file
	if err == nil {
		content, err = decode(data)
	}
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Correct the file or remove it, then add the agents again. It must belong to you, and others must not read or write it.",
			"agents in %s: %w", path, err)
	}
	slices.SortFunc(content.Agents, func(x, y Agent) int { return cmp.Compare(x.Name, y.Name) })
	return content.Agents, nil
}

// decode decodes and checks the content of the file.
func decode(data []byte) (file, error) {
	var content file
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&content); err != nil {
		return content, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return content, errors.New("text after the JSON object")
	}
	if len(content.Agents) > maxAgents {
		return content, errs.Errorf(errs.ErrBadArgs, "", "more than %d agents", maxAgents)
	}
	names := map[string]bool{}
	for _, a := range content.Agents {
		if err := a.check(); err != nil {
			return content, err
		}
		if names[strings.ToLower(a.Name)] {
			return content, errs.Errorf(errs.ErrBadArgs, "", "two agents with the name %q", a.Name)
		}
		names[strings.ToLower(a.Name)] = true
	}
	return content, nil
}

// check returns an error if a is not valid. It does not look at the program.
func (a Agent) check() error {
	size := 0
	for _, word := range a.Command {
		size += len(word) + 1
	}
	switch {
	case !IsName(a.Name):
		return errs.Errorf(errs.ErrBadArgs, "Use a simple name, such as claude.", "invalid agent name %q", a.Name)
	case len(a.Command) == 0:
		return errs.Errorf(errs.ErrBadArgs, "Add the program and its arguments.", "agent %s has no command", a.Name)
	case !filepath.IsAbs(a.Command[0]):
		return errs.Errorf(errs.ErrBadArgs, "Give the absolute path of the program.", "program %q of agent %s is not an absolute path", a.Command[0], a.Name)
	case size > maxCommand || strings.Contains(strings.Join(a.Command, ""), "\x00"):
		return errs.Errorf(errs.ErrBadArgs, "Put the arguments into a script.", "the command of agent %s is too long or contains a zero byte", a.Name)
	}
	return nil
}

// Add adds an agent. Its program must exist.
func Add(dataDir string, a Agent) error {
	if err := a.check(); err != nil {
		return err
	}
	info, err := os.Stat(a.Command[0])
	if err == nil && !isExecutable(info) {
		err = errors.New("is not executable")
	}
	if err != nil {
		return errs.Errorf(errs.ErrBadArgs, "Install it, or give the path of another program.", "program of agent %s: %w", a.Name, err)
	}
	return change(dataDir, func(all []Agent) ([]Agent, error) {
		switch {
		case indexOf(all, a.Name) >= 0:
			return nil, errs.Errorf(errs.ErrBadArgs, "Remove it first, or choose another name.", "agent %s exists", a.Name)
		case len(all) == maxAgents:
			return nil, errs.Errorf(errs.ErrBadArgs, "Remove an agent first.", "%d agents are configured", maxAgents)
		}
		return append(all, a), nil
	})
}

// Remove removes an agent. It returns ErrNotFound if no agent has that name.
func Remove(dataDir, name string) error {
	return change(dataDir, func(all []Agent) ([]Agent, error) {
		i := indexOf(all, name)
		if i < 0 {
			return nil, notFound(name)
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// Get returns the configured agent with a name, or ErrNotFound.
func Get(dataDir, name string) (Agent, error) {
	all, err := Load(dataDir)
	if err != nil {
		return Agent{}, err
	}
	if i := indexOf(all, name); i >= 0 {
		return all[i], nil
	}
	return Agent{}, notFound(name)
}

func notFound(name string) error {
	return errs.Errorf(errs.ErrBadArgs, "Add it first.", "%w: %q", ErrNotFound, name)
}

// indexOf returns the index of an agent, or -1. Names differ in more than case.
func indexOf(all []Agent, name string) int {
	return slices.IndexFunc(all, func(a Agent) bool { return strings.EqualFold(a.Name, name) })
}

// change replaces the configured agents.
func change(dataDir string, f func([]Agent) ([]Agent, error)) error {
	if err := owneronly.MakeDir(dataDir); err != nil {
		return errs.Errorf(errs.ErrBadArgs, "Use a directory that only you can write to.", "data directory: %w", err)
	}
	path := filepath.Join(dataDir, fileName)
	unlock, err := filelock.Lock(context.Background(), path+".lock", nil)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := Load(dataDir)
	if err != nil {
		return err
	}
	if all, err = f(all); err != nil {
		return err
	}
	data, err := json.MarshalIndent(file{all}, "", "\t")
	if err != nil {
		return err
	}
	_, err = owneronly.WriteFile(path, append(data, '\n'))
	return err
}
