package docker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../.."

// An instruction is one instruction of the Dockerfile, with continuation lines joined.
type instruction struct{ stage, word, rest string }

// dockerfile returns the instructions. A FROM instruction belongs to the stage that it starts.
func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", "")
	var all []instruction
	stage := ""
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word == "#" {
			continue
		}
		if word == "FROM" {
			_, stage, _ = strings.Cut(rest, " AS ")
		}
		all = append(all, instruction{stage, word, rest})
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// environment returns the environment variables that the image sets.
func environment(t *testing.T) []string {
	var env []string
	for _, i := range dockerfile(t) {
		if i.word == "ENV" {
			env = append(env, i.rest)
		}
	}
	return env
}

// host returns the arguments of docker run in host.json, the image, and the arguments after it.
func host(t *testing.T) (docker []string, image string, program []string) {
	t.Helper()
	var config struct {
		McpServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal([]byte(read(t, "host.json")), &config); err != nil {
		t.Fatal(err)
	}
	server := config.McpServers["chrome"]
	at := slices.Index(server.Args, "chrome-mcp")
	if server.Command != "docker" || at < 1 {
		t.Fatalf("host.json runs %s %q", server.Command, server.Args)
	}
	return server.Args[:at], server.Args[at], server.Args[at+1:]
}

// build builds the program with the command of the Dockerfile.
func build(t *testing.T, dir string) (program string) {
	t.Helper()
	for _, i := range dockerfile(t) {
		if command := strings.Replace(i.rest, "-o /chrome-mcp", "-o "+dir+"/chrome-mcp", 1); i.stage == "build" && command != i.rest {
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "VERSION=v1.2.3-image")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			return filepath.Join(dir, "chrome-mcp")
		}
	}
	t.Fatal("the Dockerfile does not build /chrome-mcp")
	return ""
}

func TestDockerfile(t *testing.T) {
	all := dockerfile(t)
	if last := all[len(all)-1]; last.word != "COPY" || last.stage != "" {
		t.Errorf("the default image ends with %v", last)
	}
	user := ""
	for _, i := range all {
		source, _, _ := strings.Cut(i.rest, " ")
		switch {
		case i.word == "USER" && i.stage == "browser":
			user = i.rest
		case i.word == "USER":
			t.Errorf("stage %q sets the user to %s", i.stage, i.rest)
		case i.word == "COPY" && i.stage == "build":
			for _, name := range strings.Fields(i.rest)[:len(strings.Fields(i.rest))-1] {
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Error(err)
				}
			}
		case i.word == "FROM" && i.stage == "build":
			version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, root+"/go.mod"))[1]
			if !strings.HasPrefix(source, "golang:"+version+"-") {
				t.Errorf("the image builds with %s, but go.mod requires Go %s", source, version)
			}
		case i.word == "FROM" && i.stage != "browser" && source != "browser":
			t.Errorf("stage %q is based on %s, not on browser", i.stage, source)
		}
	}
	if user == "" || user == "root" || user == "0" {
		t.Errorf("the image runs as %q", user)
	}
}

func TestComposeAndHostAgree(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Image       string
			Build       struct{ Context, Dockerfile string }
			Command     []string
			StdinOpen   bool `yaml:"stdin_open"`
			Init        bool
			CapDrop     []string `yaml:"cap_drop"`
			SecurityOpt []string `yaml:"security_opt"`
			ShmSize     string   `yaml:"shm_size"`
			MemLimit    string   `yaml:"mem_limit"`
			PidsLimit   int      `yaml:"pids_limit"`
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "compose.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&compose); err != nil {
		t.Fatal(err)
	}
	service := compose.Services["chrome"]
	flags, image, program := host(t)
	if service.Image != image || !slices.Equal(service.Command, program) {
		t.Errorf("compose.yaml runs %s %q, host.json %s %q", service.Image, service.Command, image, program)
	}
	if !service.Init || !service.StdinOpen || !slices.Equal(service.CapDrop, []string{"ALL"}) ||
		!slices.Equal(service.SecurityOpt, []string{"no-new-privileges:true", "seccomp:seccomp.json"}) {
		t.Errorf("compose.yaml restricts the container less than host.json: %+v", service)
	}
	want := "run -i --rm --init --cap-drop ALL --security-opt no-new-privileges --security-opt seccomp=/path/to/examples/docker/seccomp.json" +
		" --shm-size 1g --memory 2g --pids-limit 1000"
	if got := strings.Join(flags, " "); got != want {
		t.Errorf("host.json runs docker with\n%s, want\n%s", got, want)
	}
	if _, err := os.Stat(filepath.Join(service.Build.Context, service.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"Dockerfile", "compose.yaml", "host.json"} {
		if text := strings.ToLower(read(t, name)); strings.Contains(text, "no-sandbox") || strings.Contains(text, "no_sandbox") || strings.Contains(text, "privileged") {
			t.Errorf("%s disables the sandbox", name)
		}
	}
}
