package download

import (
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"
)

// dispositionName returns the file name in a Content-Disposition header, not cleaned, or "".
// filename* has precedence over filename. Like browsers, dispositionName accepts names that RFC
// 6266 does not allow: without quotes, in Latin-1, or as encoded words (RFC 2047).
func dispositionName(header string) string {
	if _, params, err := mime.ParseMediaType(header); err == nil && params["filename"] != "" {
		return decodeName(params["filename"])
	}
	if name := decodeExtended(looseParam(header, "filename*")); name != "" {
		return name
	}
	return decodeName(looseParam(header, "filename"))
}

// looseParam returns the value of a parameter of a header that may be malformed.
func looseParam(header, name string) string {
	for rest := header; rest != ""; {
		var param string
		param, rest = nextParam(rest)
		key, value, ok := strings.Cut(param, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), name) {
			continue
		}
		value = strings.TrimSpace(value)
		if inner, ok := strings.CutPrefix(value, `"`); ok {
			inner, _ = strings.CutSuffix(inner, `"`)
			value = strings.ReplaceAll(inner, `\"`, `"`)
		}
		return value
	}
	return ""
}

// nextParam splits s at its first semicolon outside quotes.
func nextParam(s string) (param, rest string) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"' && (i == 0 || s[i-1] != '\\'):
			quoted = !quoted
		case s[i] == ';' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// decodeExtended decodes a value of RFC 8187: charset'language'percent-encoded.
func decodeExtended(value string) string {
	_, rest, ok := strings.Cut(value, "'")
	if !ok {
		return ""
	}
	_, encoded, ok := strings.Cut(rest, "'")
	if !ok {
		return ""
	}
	name, err := url.PathUnescape(encoded)
	if err != nil {
		return ""
	}
	return latin1(name)
}

// decodeName decodes a plain filename parameter.
func decodeName(name string) string {
	if strings.HasPrefix(name, "=?") {
		if decoded, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
			return decoded
		}
	}
	return latin1(name)
}

// latin1 returns s if it is valid UTF-8. Otherwise it decodes s as ISO 8859-1, the original charset
// of headers.
func latin1(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
