package main

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/browserless"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

const composeDir = "../../examples/compose"

// A composeFile is examples/compose/compose.yaml. Keys that are missing here are errors.
type composeFile struct {
	Services map[string]composeService
	Networks map[string]struct {
		Internal bool
		IPAM     struct {
			Config []struct{ Subnet netip.Prefix }
		}
	}
	Volumes map[string]struct{}
	Configs map[string]struct{ Content string }
}

type composeService struct {
	Image       string
	Build       struct{ Context, Dockerfile string }
	Command     []string
	Environment map[string]string
	Configs     []struct {
		Source, Target, UID, GID string
		Mode                     os.FileMode
	}
	Volumes     []string
	Ports       []string
	Networks    composeNetworks
	Healthcheck struct {
		Test        []string
		Interval    string
		StartPeriod string `yaml:"start_period"`
	}
	Init        bool
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	ShmSize     string   `yaml:"shm_size"`
	MemLimit    string   `yaml:"mem_limit"`
	PidsLimit   int      `yaml:"pids_limit"`
	Restart     string
}

// composeNetworks maps the networks of a service to its addresses in them.
type composeNetworks map[string]string

func (n *composeNetworks) UnmarshalYAML(node *yaml.Node) error {
	*n = composeNetworks{}
	if node.Kind == yaml.SequenceNode {
		var names []string
		err := node.Decode(&names)
		for _, name := range names {
			(*n)[name] = ""
		}
		return err
	}
	var networks map[string]struct {
		Address string `yaml:"ipv4_address"`
	}
	err := node.Decode(&networks)
	for name, network := range networks {
		(*n)[name] = network.Address
	}
	return err
}

// A composeExample is the example with the tokens of its file .env.
type composeExample struct {
	composeFile
	server composeService
	args   []string // of serve, with the paths of the files on this machine
	config string   // the configuration file
	tokens string   // the token file
	env    map[string]string
}

// readComposeExample reads the example and writes its token file, in which the site replaces the
// allowed one.
func readComposeExample(t *testing.T, site string) *composeExample {
	t.Helper()
	e := &composeExample{env: map[string]string{"SERVER_TOKEN": strings.Repeat("token-", 6), "BROWSERLESS_TOKEN": "sesame-SECRET"}}
	text := regexp.MustCompile(`\$\{(\w+):\?[^}]*\}`).ReplaceAllStringFunc(readExample(t, "compose.yaml"), func(s string) string {
		name, _, _ := strings.Cut(s[2:], ":")
		if e.env[name] == "" {
			t.Errorf("%s is not in README.md", s)
		}
		return e.env[name]
	})
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&e.composeFile); err != nil {
		t.Fatal(err)
	}
	e.server = e.Services["chrome-mcp"]
	dir := t.TempDir()
	e.config, e.tokens = filepath.Join(dir, "config.json"), filepath.Join(dir, "tokens.json")
	content := strings.Replace(e.Configs[e.server.Configs[0].Source].Content, `"example.com"`, `"`+site+`"`, 1)
	if err := os.WriteFile(e.tokens, []byte(content), 0o400); err != nil {
		t.Fatal(err)
	}
	e.writeConfig(t, readExample(t, "config.json"))
	for _, arg := range e.server.Command[1:] {
		arg = strings.Replace(arg, e.server.Configs[0].Target, e.tokens, 1)
		e.args = append(e.args, strings.Replace(arg, "/etc/chrome-mcp/config.json", e.config, 1))
	}
	return e
}

func (e *composeExample) writeConfig(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(e.config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// value returns the value of a flag of serve.
func (e *composeExample) value(flag string) string {
	for _, arg := range e.args {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
	}
	return ""
}

// onThisMachine returns the arguments of serve with addresses of this machine.
func (e *composeExample) onThisMachine() []string {
	args := slices.Clone(e.args)
	for i, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "--listen", "--egress-address":
			args[i] = name + "=127.0.0.1:0"
		}
	}
	return args
}

func readExample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(composeDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestComposeExample compares the files of examples/compose with each other, with the image, and
// with the flags and settings of the program.
func TestComposeExample(t *testing.T) {
	e := readComposeExample(t, "example.com")
	if e.server.Command[0] != "serve" {
		t.Fatalf("command %q", e.server.Command)
	}
	s, err := cli.Parse([]string{"--data", t.TempDir(), "--config", e.config}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err := server.ReadTokenFile(e.tokens); err != nil || len(tokens) != 1 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	c := newCommandLine(t)
	c.serve(e.onThisMachine()...) // it checks its flags and the settings of the token

	var replicas []string
	for name, service := range e.Services {
		if _, err := os.Stat(filepath.Join(composeDir, service.Build.Context, service.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		for _, o := range service.SecurityOpt {
			if profile, ok := strings.CutPrefix(o, "seccomp:"); ok {
				if _, err := os.Stat(filepath.Join(composeDir, profile)); err != nil {
					t.Error(err)
				}
			}
		}
		if name == "chrome-mcp" {
			continue
		}
		replicas = append(replicas, "ws://"+name+":3000/chromium")
		if address, ok := service.Networks["browsers"]; !ok || address != "" || len(service.Networks) != 1 || service.Ports != nil {
			t.Errorf("%s is not only in the network of the browsers: %v %v", name, service.Networks, service.Ports)
		}
		if service.Environment["TOKEN"] != e.env["BROWSERLESS_TOKEN"] {
			t.Errorf("%s has the environment %v", name, service.Environment)
		}
	}
	slices.Sort(replicas)
	fleet := s.Browsers[0]
	if len(s.Browsers) != 1 || len(replicas) != 2 || !slices.Equal(fleet.URLs, replicas) {
		t.Errorf("config.json has the browsers %v, compose.yaml %v", s.Browsers, replicas)
	}
	if e.server.Environment[fleet.TokenEnv] != e.env["BROWSERLESS_TOKEN"] {
		t.Errorf("%s is not in the environment of the server", fleet.TokenEnv)
	}

	private := e.Networks["browsers"]
	egress, err := netip.ParseAddrPort(e.value("--egress-address"))
	if err != nil || !private.Internal || e.Networks["outside"].Internal || e.server.Networks["browsers"] != egress.Addr().String() || !private.IPAM.Config[0].Subnet.Contains(egress.Addr()) {
		t.Errorf("egress address %s, networks %v, %v", egress, e.Networks, e.server.Networks)
	}
	_, port, _ := strings.Cut(e.value("--listen"), ":")
	if want := "127.0.0.1:" + port + ":" + port; !slices.Equal(e.server.Ports, []string{want}) {
		t.Errorf("ports %q, want %s: a client's Host must have the port of the server", e.server.Ports, want)
	}

	dockerfile, err := os.ReadFile(filepath.Join(composeDir, e.server.Build.Context, e.server.Build.Dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	tokens := e.server.Configs[0]
	if !strings.Contains(string(dockerfile), "--uid "+tokens.UID+" chrome\n") || tokens.GID != tokens.UID || tokens.Mode != 0o400 {
		t.Errorf("the token file belongs to %s:%s, mode %o", tokens.UID, tokens.GID, tokens.Mode)
	}
	if want := []string{"./config.json:" + filepath.Dir(tokens.Target) + "/config.json:ro", "data:/home/chrome/.chrome-mcp"}; !slices.Equal(e.server.Volumes, want) {
		t.Errorf("volumes %q, want %q", e.server.Volumes, want)
	}
	readme := readExample(t, "README.md")
	for _, text := range []string{"SERVER_TOKEN=", "BROWSERLESS_TOKEN=", "http://127.0.0.1:" + port + "/mcp"} {
		if !strings.Contains(readme, text) {
			t.Errorf("README.md does not contain %s", text)
		}
	}
}

// TestComposeExampleRuns runs the server of examples/compose and two replicas of browserless with
// the addresses of this machine.
func TestComposeExampleRuns(t *testing.T) {
	path := userbrowser.Find(t)
	site := newTestSite(t)
	e := readComposeExample(t, site.URL)
	t.Setenv("BROWSERLESS_TOKEN", e.env["BROWSERLESS_TOKEN"])
	config := readExample(t, "config.json")
	for _, name := range []string{"browserless-1", "browserless-2"} {
		replica := browserless.Start(t, browserless.Options{Browser: path, Token: e.env["BROWSERLESS_TOKEN"], Concurrent: 1})
		config = strings.Replace(config, "ws://"+name+":3000/chromium", replica.URL, 1)
		check := strings.Replace(e.Services[name].Healthcheck.Test[1], "127.0.0.1:3000", strings.Split(replica.URL, "/")[2], 1)
		healthy(t, check, "TOKEN="+e.Services[name].Environment["TOKEN"])
	}
	e.writeConfig(t, config)
	c := newCommandLine(t)
	url := c.serve(e.onThisMachine()...)
	bin := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(bin, "chrome-mcp")); err != nil {
		t.Fatal(err)
	}
	healthy(t, e.server.Healthcheck.Test[1], "CHROME_MCP_DATA="+c.data, "PATH="+bin+":"+os.Getenv("PATH"))

	// Each replica has one place.
	client := &tokenClient{t, url, e.env["SERVER_TOKEN"]}
	for _, session := range []string{"a", "b"} {
		client.call(session, "200", "tab_new", `{"browser":"fleet","url":"`+site.URL+`/page"}`, `"tabId":"fleet:cdp:`)
		client.call(session, "403", "tab_new", `{"browser":"fleet","url":"`+site.denied()+`"}`, "POLICY_DENIED")
		if status := client.call(session, "200", "chrome_status", "{}", "browser fleet: browserless, open"); strings.Contains(status, "not filtered") {
			t.Errorf("the egress proxy is not used: %s", status)
		}
	}
	if n := site.asked("127.0.0.1 /page"); n != 2 {
		t.Errorf("the site received %d requests, want 2", n)
	}
	if n := site.asked("localhost"); n > 0 {
		t.Errorf("%d requests reached the denied site: %q", n, site.hits)
	}
	client.call("c", "429", "tab_new", `{"browser":"fleet"}`, "BACKPRESSURE", "its queue is full")
}

// healthy runs the command of a health check with variables of its container.
func healthy(t *testing.T, command string, env ...string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "$$", "$"))
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}
