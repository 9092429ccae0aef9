package chunk

import "unicode"

// graphemes finds the ends of user-perceived characters. It approximates Unicode's rules, which is sufficient for breaking
// a word.
type graphemes struct {
	last  rune
	flags int // regional indicators in a row
}

// boundary reports whether the next character, r, starts a new user-perceived character.
func (g *graphemes) boundary(r rune) bool {
	const joiner, firstFlag, lastFlag = '\u200d', '🇦', '🇿'
	last := g.last
	g.last = r
	if r < firstFlag || r > lastFlag {
		g.flags = 0
	} else {
		g.flags++
	}
	switch {
	case last == joiner || last == '\r' && r == '\n':
		return false
	case g.flags > 0:
		return g.flags%2 == 1
	default:
		return r != joiner && !unicode.In(r, unicode.M, extending)
	}
}

// extending contains characters that belong to the previous one, besides marks: vowels and finals of Hangul, skin tones,
// and the tags of flags.
var extending = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x1160, Hi: 0x11ff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1f3fb, Hi: 0x1f3ff, Stride: 1}, {Lo: 0xe0020, Hi: 0xe007f, Stride: 1}},
}
