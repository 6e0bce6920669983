package download

import (
	"cmp"
	"mime"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxNameBytes leaves space for a number within the smallest limit of file systems, 255 bytes.
	maxNameBytes = 150
	// maxExtBytes is the longest extension, with its dot, that truncation preserves. A longer
	// suffix does not count as an extension.
	maxExtBytes = 20
	// safeSuffix is appended to the name of a file that a double click would run.
	safeSuffix = ".download"
)

// CleanName returns a file name that is safe on every system. It cleans suggested or, if the result
// is empty, the last element of the path of fallbackURL, percent-decoded once. If that is also
// empty, it returns "download" with the extension of mimeType. Each argument may be empty.
//
// The result is one path element in valid UTF-8 of at most 150 bytes. Truncation preserves the
// extension. The result contains no invisible characters and no characters that Windows forbids,
// does not begin with a dot, does not end with a dot or space, and is not a Windows device name. If
// a double click would run a file with its extension, ".download" is appended. A clean name is
// returned unchanged.
func CleanName(suggested, mimeType, fallbackURL string) string {
	kind, _, _ := mime.ParseMediaType(mimeType)
	return cmp.Or(clean(suggested), clean(lastElement(fallbackURL)), "download"+extensions[kind])
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

// clean returns a safe file name made from name, or "".
//
// One step can undo another (truncating "x.exe.aaaa…" after its ".exe"), so the steps are repeated
// until nothing changes. The loop terminates: after the first round the name only gets shorter,
// except for an underscore and ".download", neither of which is added twice.
func clean(name string) string {
	name = sanitize(name)
	name = strings.TrimRight(name, `/\ .`)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	for {
		next := truncate(strings.Trim(name, ". "))
		if reserved(next) {
			next = "_" + next
		}
		if executable(next) {
			next += safeSuffix
		}
		if next == name {
			return name
		}
		name = next
	}
}

// sanitize removes invisible characters from s, and replaces characters that Windows forbids in
// names or that look like a separator.
func sanitize(s string) string {
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
		case isInvisible(r):
			return -1
		}
		return r
	}, s)
}

// isInvisible reports whether r is not displayed, changes how other characters are displayed, or
// has no meaning: control, format (bidi, zero width, tags), private use and unassigned characters,
// fillers and variation selectors.
func isInvisible(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs) ||
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// truncate shortens the stem of name, so that name has at most maxNameBytes.
func truncate(name string) string {
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

// splitExt splits name into stem and extension, with its dot. A dot at the start of name does not
// begin an extension.
func splitExt(name string) (stem, ext string) {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// reserved reports whether name has a special meaning for a system: a Windows device with any
// extension, or a file that controls how a directory is displayed or what a disk runs.
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

// extensions maps MIME types that are frequent for files without a name to extensions. The system's
// table differs between machines.
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
