package chunk

import "unicode"

// graphemes tells where what readers see as one character ends: a close likeness of Unicode's rules, which serves where a
// word must be broken.
type graphemes struct {
	last  rune
	flags int // regional indicators in a row
}

// boundary tells whether the next character, which is r, begins a new one for the reader.
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

// extending holds what belongs to the character before it, beside marks: vowels and finals of Hangul, skin tones, and
// the tags of flags.
var extending = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x1160, Hi: 0x11ff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1f3fb, Hi: 0x1f3ff, Stride: 1}, {Lo: 0xe0020, Hi: 0xe007f, Stride: 1}},
}
