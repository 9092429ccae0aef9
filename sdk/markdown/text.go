package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/util"
)

// maxReference is the maximum length of a character reference, in bytes; no named one is longer.
const maxReference = 33

// unescape resolves backslash escapes and character references in one pass, so that the result of one is not interpreted as
// the other.
func unescape(source []byte) string {
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source) && util.IsPunct(source[i+1]):
			i++
			b.WriteByte(source[i])
		case c == '&':
			resolved, length := reference(source[i:])
			if length == 0 {
				b.WriteByte(c)
				continue
			}
			b.WriteString(resolved)
			i += length - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reference resolves the character reference at the start of s. A length of zero means that there is no reference.
func reference(s []byte) (resolved string, length int) {
	end := bytes.IndexByte(s[:min(len(s), maxReference)], ';')
	if end < 2 {
		return "", 0
	}
	name := string(s[1:end])
	if name[0] != '#' {
		entity, ok := util.LookUpHTML5EntityByName(name)
		if !ok {
			return "", 0
		}
		return string(entity.Characters), end + 1
	}
	digits, base := name[1:], 10
	if digits != "" && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if err != nil || len(digits) > 7 {
		return "", 0
	}
	if n == 0 {
		return "\uFFFD", end + 1
	}
	return string(rune(n)), end + 1
}
