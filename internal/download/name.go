package download

import (
	"mime"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxNameBytes leaves room for a number and for the shortest limit of a
	// file system, 255 bytes.
	maxNameBytes = 150
	// maxExtBytes is the longest extension, with its dot, that is kept when a
	// name is cut. What is longer is not one.
	maxExtBytes = 20
	// inert is appended to the name of what a double click would run.
	inert = ".download"
)

// CleanName returns a file name that is safe on every system: suggested made
// clean, or, when nothing of that is left, the last element of fallbackURL's
// path, percent-decoded once and made clean, or else "download" with the
// extension of mimeType. Each argument may be empty.
//
// The result is one path element in valid UTF-8 of at most 150 bytes, with
// the extension kept. It has no characters that cannot be seen or that
// Windows forbids, no dot at its start, neither dot nor space at its end, and
// is no device of Windows. Where its extension is one that a double click
// runs, ".download" is added. A clean name stays as it is.
func CleanName(suggested, mimeType, fallbackURL string) string {
	if name := clean(suggested); name != "" {
		return name
	}
	if name := clean(lastElement(fallbackURL)); name != "" {
		return name
	}
	kind, _, _ := mime.ParseMediaType(mimeType)
	return "download" + extensions[kind]
}

// lastElement returns the decoded last element of a URL's path.
func lastElement(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	last := path[strings.LastIndexByte(path, '/')+1:]
	if decoded, err := url.PathUnescape(last); err == nil {
		return decoded
	}
	return last
}

// clean returns what of name can be a file's name, or "".
//
// One step may undo what another has seen to (cutting "x.exe.aaaa…" after its
// ".exe"), so they are repeated until nothing changes. That ends: after the
// first round a name only gets shorter, but for an underscore and ".download",
// neither of which is added twice.
func clean(name string) string {
	name = visible(name)
	name = strings.TrimRight(name, `/\ .`)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	for {
		next := cut(strings.Trim(name, ". "))
		if reserved(next) {
			next = "_" + next
		}
		if executable(next) {
			next += inert
		}
		if next == name {
			return name
		}
		name = next
	}
}

// visible leaves out of s what nobody can see, and replaces what Windows
// forbids in names, or what looks like a separator.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return -1 // also each byte that is not UTF-8
		case unicode.Is(unicode.Zs, r), r == '\t', r == '\n', r == '\r', r == '\u2028', r == '\u2029', r == '\u2800':
			return ' '
		case strings.ContainsRune(`<>:"|?*`, r),
			r == '\u2044', r == '\u2215', r == '\u29f8', r == '\uff0f', // slashes
			r == '\u29f5', r == '\u29f9', r == '\ufe68', r == '\uff3c', // backslashes
			r == '\ua789', r == '\uff1a': // colons
			return '_'
		case r == '\u2024', r == '\uff0e', r == '\ufe52': // dots
			return '.'
		case hidden(r):
			return -1
		}
		return r
	}, s)
}

// hidden reports whether r draws nothing, changes how others are drawn, or
// means nothing: controls, formats (bidi, zero width, tags), private and
// unassigned characters, fillers, selectors of variants.
func hidden(r rune) bool {
	switch {
	case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs):
		return true
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	}
	return false
}

// cut shortens name to maxNameBytes, at the end of its stem.
func cut(name string) string {
	if len(name) <= maxNameBytes {
		return name
	}
	stem, ext := splitExt(name)
	if len(ext) > maxExtBytes {
		stem, ext = name, ""
	}
	n := maxNameBytes - len(ext)
	for !utf8.RuneStart(stem[n]) {
		n--
	}
	return strings.TrimRight(stem[:n], ". ") + ext
}

// splitExt splits off the extension, with its dot. A dot at the start begins
// none.
func splitExt(name string) (stem, ext string) {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// reserved reports whether a system takes name for something other than a
// file of its user: a device of Windows, with any extension, or what a folder
// is shown or a disk is started by.
func reserved(name string) bool {
	name = strings.ToUpper(name)
	switch name {
	case "DESKTOP.INI", "AUTORUN.INF", "THUMBS.DB":
		return true
	}
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(stem, port); ok && n != "" && strings.Contains("0123456789¹²³", n) && utf8.RuneCountInString(n) == 1 {
			return true
		}
	}
	return false
}

// extensions are those of the MIME types that files without a name often
// have. The system's own table differs from machine to machine.
var extensions = map[string]string{
	"application/gzip":         ".gz",
	"application/json":         ".json",
	"application/msword":       ".doc",
	"application/pdf":          ".pdf",
	"application/rtf":          ".rtf",
	"application/vnd.ms-excel": ".xls",
	"application/vnd.oasis.opendocument.spreadsheet":                            ".ods",
	"application/vnd.oasis.opendocument.text":                                   ".odt",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
	"application/xml":   ".xml",
	"application/zip":   ".zip",
	"application/x-tar": ".tar",
	"audio/mpeg":        ".mp3",
	"audio/ogg":         ".ogg",
	"audio/wav":         ".wav",
	"image/avif":        ".avif",
	"image/gif":         ".gif",
	"image/jpeg":        ".jpg",
	"image/png":         ".png",
	"image/svg+xml":     ".svg",
	"image/webp":        ".webp",
	"text/calendar":     ".ics",
	"text/csv":          ".csv",
	"text/html":         ".html",
	"text/markdown":     ".md",
	"text/plain":        ".txt",
	"text/xml":          ".xml",
	"video/mp4":         ".mp4",
	"video/webm":        ".webm",
}
