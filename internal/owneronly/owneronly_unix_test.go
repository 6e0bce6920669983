//go:build unix

package owneronly

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// givenAway changes the owner of path to another user. Without root, it returns
// roots, a directory or file of root, instead.
func givenAway(t *testing.T, path, roots string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return roots
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMakeDir(t *testing.T) {
	for name, tt := range map[string]struct {
		mode         os.FileMode // 0: the directory is missing
		others, link bool
		want         string
		private      os.FileMode // mode after MakePrivateDir
	}{
		"missing":            {private: 0o700},
		"ours":               {mode: 0o700, private: 0o700},
		"readable":           {mode: 0o755, private: 0o700},
		"link to ours":       {mode: 0o755, link: true, private: 0o700},
		"writable by others": {mode: 0o777, want: "may be written to by others (mode 0777)"},
		"of another user":    {mode: 0o777, others: true, want: "belongs to another user"},
		"another's, private": {mode: 0o755, others: true, want: "belongs to another user"},
		"link to another's":  {mode: 0o755, others: true, link: true, want: "belongs to another user"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if tt.mode != 0 {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			path := dir
			if tt.others {
				path = givenAway(t, dir, "/usr")
			}
			if tt.link {
				link := dir + ".link"
				if err := os.Symlink(path, link); err != nil {
					t.Fatal(err)
				}
				path = link
			}
			before, _ := os.Stat(path)
			for what, make := range map[string]func(string) error{"MakeDir": MakeDir, "MakePrivateDir": MakePrivateDir} {
				err := make(path)
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%s: %v, want %q", what, err, tt.want)
				}
			}
			after, err := os.Stat(path)
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.private != 0 && after.Mode().Perm() != tt.private:
				t.Errorf("mode %v, want %v", after.Mode(), tt.private)
			case tt.private == 0 && after.Mode() != before.Mode():
				t.Errorf("mode %v, was %v", after.Mode(), before.Mode())
			}
		})
	}
}

func TestCheckParents(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dir string) string // returns the path to check; dir is /…/dir and exists
		want    string
	}{
		"ours":    {func(_ *testing.T, dir string) string { return dir + "/file" }, ""},
		"missing": {func(_ *testing.T, dir string) string { return dir + "/a/b/c" }, ""},
		"writable by others": {func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777)
			return dir + "/file"
		}, "is below the directory DIR, which others may write to (mode 0777)"},
		"writable by others, further up": {func(t *testing.T, dir string) string {
			mkdir(t, dir+"/a/b")
			chmod(t, dir, 0o702)
			return dir + "/a/b/file"
		}, "is below the directory DIR, which others may write to (mode 0702)"},
		"writable by others, of a missing directory": {func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777)
			return dir + "/a/b/file"
		}, "which others may write to"},
		"sticky": {func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777|os.ModeSticky)
			return dir + "/file"
		}, ""},
		"writable by a group": {func(t *testing.T, dir string) string {
			chown(t, dir, -1, 100)
			chmod(t, dir, 0o770)
			return dir + "/file"
		}, "which others may write to (mode 0770)"},
		"writable by the user's own group": {func(t *testing.T, dir string) string {
			if os.Getegid() != os.Geteuid() {
				t.Skip("the group of this user may have other members")
			}
			chown(t, dir, -1, os.Getegid())
			chmod(t, dir, 0o770)
			return dir + "/file"
		}, ""},
		"of another user": {func(t *testing.T, dir string) string {
			chown(t, dir, 65534, -1)
			return dir + "/file"
		}, "is below the directory DIR, which belongs to another user"},
		"sticky, of another user": {func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777|os.ModeSticky)
			chown(t, dir, 65534, -1)
			return dir + "/file"
		}, "which belongs to another user"},
		"the file itself is not checked": {func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777)
			return dir
		}, ""},
		"link": {func(t *testing.T, dir string) string {
			mkdir(t, dir+"/a")
			symlink(t, "a", dir+"/link")
			return dir + "/link/file"
		}, ""},
		"link to a file": {func(t *testing.T, dir string) string {
			mkdir(t, dir+"/a")
			symlink(t, dir+"/a/file", dir+"/link")
			chmod(t, dir+"/a", 0o777)
			return dir + "/link"
		}, "is below the directory DIR/a, which others may write to"},
		"link out of a directory that others can write to": {func(t *testing.T, dir string) string {
			mkdir(t, dir+"/a")
			mkdir(t, dir+"/b")
			symlink(t, "../b", dir+"/a/link")
			chmod(t, dir+"/a", 0o777)
			return dir + "/a/link/file"
		}, "is below the directory DIR/a, which others may write to"},
		"link of another user": {func(t *testing.T, dir string) string {
			mkdir(t, dir+"/a")
			symlink(t, dir+"/a", dir+"/link")
			chown(t, dir+"/link", 65534, -1)
			return dir + "/link/file"
		}, "is reached by the symbolic link DIR/link, which belongs to another user"},
		"circle": {func(t *testing.T, dir string) string {
			symlink(t, dir+"/b", dir+"/a")
			symlink(t, dir+"/a", dir+"/b")
			return dir + "/a/file"
		}, "too many levels"},
		"file as a directory": {func(t *testing.T, dir string) string {
			write(t, dir+"/file", 0o600)
			return dir + "/file/a"
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(realTempDir(t), "dir")
			mkdir(t, dir)
			path := tt.prepare(t, dir)
			want := strings.ReplaceAll(tt.want, "DIR", dir)
			if err := CheckParents(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// TestParentsOfPrivateFiles checks that everything that creates files and
// directories checks the directories above them.
func TestParentsOfPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	mkdir(t, dir)
	chmod(t, dir, 0o777)
	for name, create := range map[string]func(path string) error{
		"MakeDir": MakeDir, "MakePrivateDir": MakePrivateDir,
		"OpenAppend": func(path string) error {
			f, err := OpenAppend(path)
			if err == nil {
				f.Close()
			}
			return err
		},
	} {
		path := filepath.Join(dir, name)
		if err := create(path); err == nil || !strings.Contains(err.Error(), "which others may write to") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s created the file: %v", name, err)
		}
	}
}

func TestCheckTrusted(t *testing.T) {
	for name, tt := range map[string]struct {
		mode, dirMode os.FileMode
		owner         int
		want          string
	}{
		"ours":               {0o644, 0o755, -1, ""},
		"writable by others": {0o666, 0o755, -1, "may be written to by others (mode 0666)"},
		"of another user":    {0o644, 0o755, 65534, "belongs to another user"},
		"replaceable":        {0o644, 0o777, -1, "which others may write to (mode 0777)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			mkdir(t, dir)
			path := filepath.Join(dir, "file")
			write(t, path, tt.mode)
			chmod(t, dir, tt.dirMode)
			chown(t, path, tt.owner, -1)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckTrusted(path, info); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestOpenAppend(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, path string) string // returns the path to open
		want    string
	}{
		"missing": {func(_ *testing.T, path string) string { return path }, ""},
		"wider mode": {func(t *testing.T, path string) string {
			write(t, path, 0o666)
			return path
		}, ""},
		"symbolic link": {func(t *testing.T, path string) string {
			write(t, path+".target", 0o600)
			if err := os.Symlink(path+".target", path); err != nil {
				t.Fatal(err)
			}
			return path
		}, "is a symbolic link"},
		"hard link": {func(t *testing.T, path string) string {
			write(t, path+".target", 0o600)
			if err := os.Link(path+".target", path); err != nil {
				t.Fatal(err)
			}
			return path
		}, "hard link"},
		"pipe": {func(t *testing.T, path string) string {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "no such device"},
		"device": {func(*testing.T, string) string { return os.DevNull }, "is not a regular file"},
		"another user's": {func(t *testing.T, path string) string {
			write(t, path, 0o666)
			return givenAway(t, path, "/etc/passwd")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := tt.prepare(t, filepath.Join(t.TempDir(), "log"))
			if name == "another user's" {
				tt.want = "belongs to another user"
				if os.Geteuid() != 0 {
					tt.want = "permission denied"
				}
			}
			f, err := OpenAppend(path)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}

func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("before\n"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// realTempDir returns a temporary directory without symbolic links in its path.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// chown changes the owner and the group of path, unless they are -1. It skips the
// test if this user may not do that.
func chown(t *testing.T, path string, uid, gid int) {
	t.Helper()
	if err := os.Lchown(path, uid, gid); errors.Is(err, fs.ErrPermission) {
		t.Skip("only root may do this:", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
