package extinstall

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestNativeHostDirs(t *testing.T) {
	for _, tt := range []struct{ browser, goos, config, want string }{
		{"chrome", "linux", "", "/home/ann/.config/google-chrome"},
		{"chrome", "linux", "/x", "/x/google-chrome"},
		{"brave", "linux", "not/absolute", "/home/ann/.config/BraveSoftware/Brave-Browser"},
		{"edge", "linux", "", "/home/ann/.config/microsoft-edge"},
		{"chromium", "freebsd", "", "/home/ann/.config/chromium"},
		{"chrome", "darwin", "/x", "/home/ann/Library/Application Support/Google/Chrome"},
		{"edge", "darwin", "", "/home/ann/Library/Application Support/Microsoft Edge"},
		{"chrome", "windows", "", ""},
	} {
		at := slices.IndexFunc(Browsers, func(b Browser) bool { return b.name == tt.browser })
		if got := Browsers[at].manifestDir(tt.goos, "/home/ann", tt.config); filepath.ToSlash(got) != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.browser, tt.goos, got, tt.want)
		}
	}
}
