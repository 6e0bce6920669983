package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestReleaseConfiguration checks that .goreleaser.yaml has the files, names and platforms of this
// repository. goreleaser itself runs in release.yml.
func TestReleaseConfiguration(t *testing.T) {
	const root = "../.."
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var config struct {
		ProjectName string `yaml:"project_name"`
		Env         []string
		Builds      []struct {
			Main              string
			Env, Goos, Goarch []string
			Ldflags, Flags    []string
		}
		Archives []struct{ Files []string }
		Checksum struct {
			Name string `yaml:"name_template"`
		}
		Docker []struct {
			Dockerfile       string
			Flags, Platforms []string
		} `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal(read(".goreleaser.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Builds) != 1 || len(config.Archives) != 1 || len(config.Docker) != 1 {
		t.Fatalf("%d builds, %d archives, %d images; want one each", len(config.Builds), len(config.Archives), len(config.Docker))
	}
	if len(config.Env) != 1 || "github.com/"+strings.TrimPrefix(config.Env[0], "OWNER=")+"/"+config.ProjectName != module {
		t.Errorf("it releases %s of %q, and the module is %s", config.ProjectName, config.Env, module)
	}
	if config.Checksum.Name != "SHA256SUMS" {
		t.Errorf("the sums are in %q", config.Checksum.Name)
	}

	build := config.Builds[0]
	var npm struct {
		Package   string
		Platforms map[string][2]string
	}
	if err := json.Unmarshal(read("npm/names.json"), &npm); err != nil {
		t.Fatal(err)
	}
	if npm.Package != config.ProjectName {
		t.Errorf("npm's package is %s, the release %s", npm.Package, config.ProjectName)
	}
	var ours, npms []string
	for _, system := range build.Goos {
		for _, processor := range build.Goarch {
			ours = append(ours, system+"/"+processor)
		}
	}
	for _, platform := range npm.Platforms {
		npms = append(npms, platform[0]+"/"+platform[1])
	}
	slices.Sort(ours)
	slices.Sort(npms)
	if !slices.Equal(ours, npms) {
		t.Errorf("it builds for %q, npm for %q", ours, npms)
	}

	variable := regexp.MustCompile(`-X main\.(\w+)=`).FindStringSubmatch(strings.Join(build.Ldflags, " "))
	if variable == nil || !regexp.MustCompile(`(?m)^var `+variable[1]+` string$`).Match(read(build.Main+"/main.go")) {
		t.Errorf("%q set no variable of %s", build.Ldflags, build.Main)
	}
	makefile := string(read("Makefile"))
	for _, flag := range slices.Concat(build.Env, build.Flags, []string{"-s -w -X main.version="}) {
		if !strings.Contains(makefile, flag) {
			t.Errorf("make build does not use %s", flag)
		}
	}

	image := config.Docker[0]
	dockerfile := string(read(image.Dockerfile))
	for _, flag := range image.Flags {
		if stage, ok := strings.CutPrefix(flag, "--target="); !ok || !strings.Contains(dockerfile, " AS "+stage+"\n") {
			t.Errorf("%s has nothing for %s", image.Dockerfile, flag)
		}
	}
	for _, platform := range image.Platforms {
		if !slices.Contains(ours, platform) {
			t.Errorf("the image is for %s, which is not built", platform)
		}
	}
	for _, name := range config.Archives[0].Files {
		read(name)
	}
}
