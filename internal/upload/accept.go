package upload

import (
	"mime"
	"path/filepath"
	"strings"
)

// types maps extensions to MIME types, so that a file has the same type on every machine.
// [mime.TypeByExtension] has only a small built-in table; its other results depend on the machine.
var types = map[string]string{
	".txt": "text/plain", ".csv": "text/csv", ".md": "text/markdown", ".html": "text/html", ".css": "text/css", ".xml": "text/xml",
	".js": "text/javascript", ".json": "application/json", ".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".bmp": "image/bmp", ".avif": "image/avif", ".heic": "image/heic", ".ico": "image/x-icon", ".tif": "image/tiff", ".tiff": "image/tiff",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".m4a": "audio/mp4", ".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
	".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint", ".rtf": "application/rtf",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet",
}

// typeOf returns the MIME type of a file with this name, or "".
func typeOf(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	if known := types[ext]; known != "" {
		return known
	}
	kind, _, _ := strings.Cut(mime.TypeByExtension(ext), ";")
	return kind
}

// Accepts reports whether the accept attribute of a file input, a list of extensions, MIME types
// and patterns such as image/*, matches f. An empty attribute matches all files.
func Accepts(accept string, f File) bool {
	any := false
	for word := range strings.SplitSeq(accept, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		any = true
		kind, all := strings.CutSuffix(word, "/*")
		switch {
		case strings.HasPrefix(word, ".") && strings.HasSuffix(strings.ToLower(f.Name), word):
			return true
		case word == "*/*", word == f.MIMEType, all && strings.HasPrefix(f.MIMEType, kind+"/"):
			return true
		}
	}
	return !any
}
