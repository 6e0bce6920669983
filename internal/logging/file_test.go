package logging

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFile checks that the log of two processes stays below the limit, that no line is lost when one of
// them starts a new file, and that a file that was moved or removed is created again.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var files [2]*File
	for i := range files {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.max = 40
		files[i] = f
	}
	write := func(f *File, line string) {
		t.Helper()
		if _, err := f.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want, wantOld string) {
		t.Helper()
		for name, want := range map[string]string{path: want, path + ".old": wantOld} {
			data, err := os.ReadFile(name)
			if got := strings.Join(strings.Fields(string(data)), " "); got != want || err != nil && want != "" {
				t.Errorf("%s has %q, want %q; %v", filepath.Base(name), got, want, err)
			}
		}
	}
	for _, line := range []string{"1-23456789", "2-23456789", "3-23456789"} {
		write(files[0], line)
	}
	check("1-23456789 2-23456789 3-23456789", "")
	write(files[1], "4-23456789")
	check("4-23456789", "1-23456789 2-23456789 3-23456789")
	write(files[0], "5-23456789") // to the new file
	check("4-23456789 5-23456789", "1-23456789 2-23456789 3-23456789")
	write(files[1], strings.Repeat("x", 100)) // longer than a file
	check(strings.Repeat("x", 100), "4-23456789 5-23456789")
	if err := errors.Join(os.Remove(path), os.Remove(path+".old")); err != nil {
		t.Fatal(err)
	}
	write(files[0], "6-23456789")
	check("6-23456789", "")
}
