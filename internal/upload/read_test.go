package upload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestRead reads files of the directory, and checks the errors for all other paths.
func TestRead(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "uploads")
	write := func(path, data string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outer, "secret.txt"), "secret")
	write(filepath.Join(dir, "a.txt"), "first")
	write(filepath.Join(dir, "sub", "b.PNG"), "second")
	for link, to := range map[string]string{"in": "a.txt", "out": "../secret.txt", "far": filepath.Join(outer, "secret.txt"), "loop": "loop", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	big, err := os.Create(filepath.Join(dir, "big"))
	if err == nil {
		err = errors.Join(big.Truncate(executor.MaxUploadBytes-5), big.Close())
	}
	if err != nil {
		t.Fatal(err)
	}

	files, err := Read(dir, []string{"a.txt", filepath.Join(dir, "sub", "b.PNG"), "sub/../in"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a.txt text/plain first", "b.PNG image/png second", "in  first"} {
		f := files[i]
		if got := f.Name + " " + f.MIMEType + " " + string(f.Data); got != want || int(f.Bytes) != len(f.Data) || f.Modified.IsZero() {
			t.Errorf("read %s (%d bytes, %v), want %s", got, f.Bytes, f.Modified, want)
		}
	}
	if _, err := Read(dir, []string{"big", "a.txt"}); err != nil { // exactly the limit
		t.Error(err)
	}

	many := make([]string, executor.MaxUploadFiles+1)
	for name, tt := range map[string]struct {
		paths []string
		code  executor.Code
		says  string
	}{
		"none":               {nil, executor.ErrBadArgs, "0 files"},
		"too many":           {many, executor.ErrBadArgs, "21 files"},
		"empty":              {[]string{""}, executor.ErrBadArgs, "is not a file"},
		"zero byte":          {[]string{"a\x00"}, executor.ErrBadArgs, "is not a file"},
		"missing":            {[]string{"nosuch.txt"}, executor.ErrBadArgs, "not found"},
		"above":              {[]string{"../secret.txt"}, executor.ErrPolicyDenied, "outside"},
		"above and back":     {[]string{"../uploads/../secret.txt"}, executor.ErrPolicyDenied, "outside"},
		"absolute":           {[]string{filepath.Join(outer, "secret.txt")}, executor.ErrPolicyDenied, "outside"},
		"system":             {[]string{"/etc/passwd"}, executor.ErrPolicyDenied, "outside"},
		"relative link":      {[]string{"out"}, executor.ErrPolicyDenied, "outside"},
		"absolute link":      {[]string{"far"}, executor.ErrPolicyDenied, "outside"},
		"through a link up":  {[]string{"up/secret.txt"}, executor.ErrPolicyDenied, "outside"},
		"loop":               {[]string{"loop"}, executor.ErrBadArgs, "cannot be read"},
		"directory":          {[]string{"sub"}, executor.ErrBadArgs, "not a regular file"},
		"upload directory":   {[]string{"."}, executor.ErrBadArgs, "not a regular file"},
		"twice":              {[]string{"a.txt", "./a.txt"}, executor.ErrBadArgs, "twice"},
		"too large in total": {[]string{"big", "a.txt", "in"}, executor.ErrBadArgs, "too large"},
	} {
		got, err := Read(dir, tt.paths)
		if executor.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) || got != nil {
			t.Errorf("%s: %v, want %s with %q", name, err, tt.code, tt.says)
		}
	}
	if _, err := Read("", []string{"a.txt"}); executor.CodeOf(err) != executor.ErrPolicyDenied || !strings.Contains(err.(*executor.Error).Hint, "Config.UploadsDir") {
		t.Errorf("no directory: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "nosuch"), []string{"a.txt"}); executor.CodeOf(err) != executor.ErrBadArgs {
		t.Errorf("missing directory: %v", err)
	}
}

func TestAccepts(t *testing.T) {
	for accept, want := range map[string]bool{
		"": true, " , ": true, ".png": true, ".PNG": true, "image/png": true, "image/*": true, "*/*": true, ".jpg, image/*": true,
		".jpg": false, "image/jpeg": false, "video/*": false, "im/*": false, "png": false,
	} {
		if got := Accepts(accept, File{UploadedFile: executor.UploadedFile{Name: "x.Png", MIMEType: "image/png"}}); got != want {
			t.Errorf("accept %q: %t", accept, got)
		}
	}
	if Accepts("image/*", File{UploadedFile: executor.UploadedFile{Name: "x.unknown"}}) {
		t.Error("a file of unknown type counts as an image")
	}
}

func TestHardLinkedFilesRejected(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, filepath.Join(dir, "linked.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, []string{"linked.txt"}); executor.CodeOf(err) != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "several hard links") {
		t.Errorf("hard link to a file outside the directory: %v", err)
	}
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	if files, err := Read(dir, []string{"linked.txt"}); err != nil || string(files[0].Data) != "secret" {
		t.Errorf("the only link to a file: %v", err)
	}
}
