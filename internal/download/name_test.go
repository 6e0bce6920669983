package download

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanName(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, tt := range []struct {
		name, suggested, mime, url, want string
	}{
		{"plain", "report.pdf", "", "", "report.pdf"},
		{"letters of the world", "Übersicht 年報 😀.pdf", "", "", "Übersicht 年報 😀.pdf"},
		{"unix path", "../../etc/passwd", "", "", "passwd"},
		{"windows path", `C:\Users\ann\notes.txt`, "", "", "notes.txt"},
		{"mixed path", `a/b\c.txt`, "", "", "c.txt"},
		{"directory", "reports/", "", "", "reports"},
		{"only dots", "../..", "", "", "download"},
		{"hidden file", ".bashrc", "", "", "bashrc"},
		{"dots and spaces around", " . .a.txt. . ", "", "", "a.txt"},
		{"control", "a\x00b\nc\x1b[31m.txt", "", "", "ab c[31m.txt"},
		{"bidi", "ann\u202efdp.exe", "", "", "annfdp.exe.download"},
		{"zero width hides an extension", "a.e\u200bxe", "", "", "a.exe.download"},
		{"zero width hides dots", "\u200b..\u2060", "", "", "download"},
		{"tags", "a\U000e0041\U000e0042.txt", "", "", "a.txt"},
		{"filler, variation, private, soft hyphen", "a\u3164\ufe0f\ue000\u00ad.txt", "", "", "a.txt"},
		{"invalid UTF-8", "a\xff\xfeb.txt", "", "", "ab.txt"},
		{"alternate stream", "a.txt:evil.exe", "", "", "a.txt_evil.exe.download"},
		{"stream of data", "evil.exe::$DATA", "", "", "evil.exe__$DATA"},
		{"forbidden on windows", `a<b>c"d|e?f*g.txt`, "", "", "a_b_c_d_e_f_g.txt"},
		{"look-alike separators", "a\u2215b\uff3cc\u2024exe", "", "", "a_b_c.exe.download"},
		{"device", "NUL", "", "", "_NUL"},
		{"device with extension", "con.tar.gz", "", "", "_con.tar.gz"},
		{"device with space", "aux .txt", "", "", "_aux .txt"},
		{"device with superscript", "COM¹.txt", "", "", "_COM¹.txt"},
		{"not a device", "COM10.txt", "", "", "COM10.txt"},
		{"device after truncation", "CON" + strings.Repeat(" ", 300) + "x.txt", "", "", "_CON.txt"},
		{"directory settings", "Desktop.ini", "", "", "_Desktop.ini"},
		{"executable", "setup.EXE", "", "", "setup.EXE.download"},
		{"executable before a dot", "setup.exe.", "", "", "setup.exe.download"},
		{"executable before a space", "setup.exe ", "", "", "setup.exe.download"},
		{"space in the extension", "setup. exe", "", "", "setup. exe.download"},
		{"only an executable extension", ".exe", "", "", "exe"},
		{"executable inside", "setup.exe.txt", "", "", "setup.exe.txt"},
		{"web page", "page.html", "", "", "page.html"},
		{"long", long + ".pdf", "", "", long[:146] + ".pdf"},
		{"long executable", long + ".exe", "", "", long[:141] + ".download"},
		{"long extension", "a." + long, "", "", "a." + long[:148]},
		{"truncated after an executable extension", long[:146] + ".exe" + long, "", "", long[:141] + ".download"},
		{"long in runes", strings.Repeat("é", 100) + ".pdf", "", "", strings.Repeat("é", 73) + ".pdf"},
		{"from the URL", "", "application/pdf", "https://x.test/a/b%20c.pdf?q=/d.exe#/e", "b c.pdf"},
		{"decoded once", "", "", "https://x.test/a%252Fb.txt", "a%2Fb.txt"},
		{"decoded separators", "", "", "https://x.test/a%2F..%5Cb.txt", "b.txt"},
		{"executable from the URL", "", "", "https://x.test/a%2Esh", "a.sh.download"},
		{"directory in the URL", "", "", "https://x.test/report/", "report"},
		{"bad escape", "", "", "https://x.test/%zz", "download"},
		{"only a type", "", "application/pdf; charset=x", "https://x.test/", "download.pdf"},
		{"unknown type", "...", "application/octet-stream", "", "download"},
		{"suggested overrides URL", "a.txt", "text/csv", "https://x.test/b.txt", "a.txt"},
		{"suggested is not decoded", "a%2Fb.txt", "", "", "a%2Fb.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := CleanName(tt.suggested, tt.mime, tt.url)
			if got != tt.want {
				t.Fatalf("CleanName(%q, %q, %q) = %q, want %q", tt.suggested, tt.mime, tt.url, got, tt.want)
			}
			if again := CleanName(got, "", ""); again != got {
				t.Errorf("a clean name became %q", again)
			}
		})
	}
}

// dangerous repeats the extensions, so that the test fails if an entry is missing in executables.
var dangerous = strings.Fields(`exe msi bat cmd com scr pif ps1 vbs vbe js jse wsf jar sh bash desktop app dmg pkg
	deb rpm lnk url webloc hta reg dll so dylib cpl msc inf apk appimage command scpt py iso vhd chm`)

func TestExecutableDownloadsRenamed(t *testing.T) {
	for _, ext := range dangerous {
		if got := CleanName("a."+strings.ToUpper(ext), "", ""); got != "a."+strings.ToUpper(ext)+safeSuffix {
			t.Errorf("extension %s: %q", ext, got)
		}
	}
}

func FuzzCleanName(f *testing.F) {
	f.Add("a/b.exe", "application/pdf", "https://x.test/c")
	f.Add("CON .", "", "")
	f.Add(strings.Repeat("a", 146)+".exe"+strings.Repeat("b", 30), "", "")
	f.Add("", "", "http://x/%2e%2e%5c.SH")
	f.Fuzz(func(t *testing.T, suggested, kind, url string) {
		name := CleanName(suggested, kind, url)
		switch {
		case name == "", len(name) > 150, !utf8.ValidString(name):
			t.Errorf("%q: empty, too long or not UTF-8", name)
		case strings.ContainsAny(name, "/\\:<>\"|?*\x00\n\u200b\u202e\ufeff"):
			t.Errorf("%q contains a forbidden character", name)
		case strings.HasPrefix(name, "."), strings.Trim(name, ". ") != name:
			t.Errorf("%q begins or ends with a forbidden character", name)
		}
		low := strings.ToLower(name)
		for _, ext := range dangerous {
			if strings.HasSuffix(low, "."+ext) {
				t.Errorf("%q is executable", name)
			}
		}
		if stem, _, _ := strings.Cut(low, "."); stem == "con" || stem == "nul" || stem == "com1" {
			t.Errorf("%q is a device", name)
		}
		if again := CleanName(name, kind, url); again != name {
			t.Errorf("%q became %q", name, again)
		}
	})
}

func TestDispositionName(t *testing.T) {
	for header, want := range map[string]string{
		``:                                      "",
		`inline`:                                "",
		`attachment; filename="a b.pdf"`:        "a b.pdf",
		`attachment; filename=a.pdf`:            "a.pdf",
		`attachment; filename=a b.pdf`:          "a b.pdf",
		`attachment; filename="a;b.pdf"; x=y z`: "a;b.pdf",
		`attachment; filename="a.pdf"; filename*=UTF-8''%e2%82%ac.pdf`: "€.pdf",
		`attachment; filename*=UTF-8''%e2%82%ac.pdf; filename=a b.pdf`: "€.pdf",
		`attachment; filename*=iso-8859-1'en'%a3.pdf; x=y z`:           "£.pdf",
		`attachment; filename="=?UTF-8?B?4oKsLnBkZg==?="`:              "€.pdf",
		"attachment; filename=\"\xa3.pdf\"":                            "£.pdf",
		`filename="a.pdf"`:                                             "a.pdf",
		`attachment; filename="unclosed.pdf`:                           "unclosed.pdf",
		`attachment; filename*=UTF-8''..%2f..%2fevil.sh`:               "../../evil.sh", // cleaned later
	} {
		if got := dispositionName(header); got != want {
			t.Errorf("dispositionName(%q) = %q, want %q", header, got, want)
		}
	}
}

func FuzzDispositionName(f *testing.F) {
	f.Add(`attachment; filename*=UTF-8''a; filename="b\"c"`)
	f.Fuzz(func(t *testing.T, header string) {
		if name := dispositionName(header); !utf8.ValidString(name) {
			t.Errorf("%q is not UTF-8", name)
		}
	})
}
