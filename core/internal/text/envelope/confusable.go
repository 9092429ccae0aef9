package envelope

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold returns the character that r looks like: in lower case, without accents, of normal width, and the ASCII letter or
// sign that readers would take it for.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	if sign := bracket(r); sign != r {
		return unicode.ToLower(sign)
	}
	if d := norm.NFKD.PropertiesString(string(r)).Decomposition(); len(d) > 0 {
		r, _ = utf8.DecodeRune(d)
	}
	if plain, ok := lookAlikes[r]; ok {
		return plain
	}
	return unicode.ToLower(r)
}

// Skeleton returns what a name looks like: two names that readers may take for each other have the same one. It is for comparing
// only, and keeps no marks, so that different names of some scripts have the same one too.
func Skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return fold(r)
	}, norm.NFKD.String(name))
}

// bracket returns the normal form of a bracket, and of wide ASCII characters.
func bracket(r rune) rune {
	if r >= '！' && r <= '～' { // the wide forms are in ASCII order
		r -= '！' - '!'
	}
	switch r {
	case '【', '〔', '〖', '〚', '⟦', '⟨', '⟬', '⟮', '⁅', '❬', '❮', '❰', '❲', '⦋', '⦍', '⦏', '⦗', '⸢', '⸤', '⌈', '⌊', '⎡', '⎢',
		'⎣', '｢', '﹇', '﹝':
		return '['
	case '】', '〕', '〗', '〛', '⟧', '⟩', '⟭', '⟯', '⁆', '❭', '❯', '❱', '❳', '⦌', '⦎', '⦐', '⦘', '⸣', '⸥', '⌉', '⌋', '⎤', '⎥',
		'⎦', '｣', '﹈', '﹞':
		return ']'
	case '‹', '﹤', '〈':
		return '<'
	case '›', '﹥', '〉':
		return '>'
	default:
		return r
	}
}

// lookAlikes are characters of other scripts that look like those of the host's marks, from Unicode's table of confusables
// (UTS #39), and small capitals.
var lookAlikes = inverted(map[rune]string{
	'#': "♯",
	'-': "˗\u06d4‐‒–⁃−➖Ⲻ﹘",
	'/': "᜵⁁⁄∕╱⟋⧸Ⳇ〳ノ㇓丿\U0001d23a",
	':': "ː˸։\u05c3\u0703\u0704᛬᠃᠉⁚∶ꓽ꞉",
	'a': "ɑΑαАаᎪᗅᴀ⍺ꓮ\U000102a0\U00016f40",
	'b': "ƄʙΒВЬвᏏᏴᑲᖯᗷꓐꞴ\U00010282\U000102a1\U00010301",
	'c': "ϲϹСсᏟᴄⲤⲥꓚꮯ\U000102a2\U00010302\U00010415\U0001043d\U0001051c\U000118e9\U000118f2\U0001f74c",
	'd': "ԁᎠᏧᑯᗞᗪᴅꓒꓓ",
	'e': "ΕεЕеҽᎬᴇ℮⋿ⴹꓰꬲ\U00010286\U000118a6\U000118ae",
	'f': "ϜքᖴẝꓝꜰꞘꞙꬵ\U00010287\U000102a5\U00010525\U000118a2\U000118c2\U0001d213",
	'g': "ƍɡɢԌցᏀᏳᶃꓖ",
	'h': "ʜΗНнһհᎻᏂᕼⲎꓧ\U000102cf",
	'i': "ıɩɪιіӏᎥ⍳ꙇꭵ\U000118c3",
	'j': "ͿϳЈјᎫᒍᴊꓙꞲ",
	'k': "ΚκКкᏦᛕᴋⲔꓗ\U00010518",
	'l': "ƖǀʟΙІӀ\u05c0\u05d5\u05df\u0627\u0661۱\u07caᏞᒪᛁ∣⏽ⲒⳐⵏꓡꓲ￨\U0001028a\U00010309\U00010320\U0001041b\U00010526\U000118a3\U000118b2\U00016f16\U00016f28\U0001d22a\U0001e8c7",
	'm': "ΜϺМмᎷᗰᛖᴍⲘꓟ\U000102b0\U00010311",
	'n': "ɴΝИипոռⲚꓠ\U00010513",
	'o': "ΟοσОоՕօ\u05e1\u0647\u0665\u06be\u06c1\u06d5۵\u07c0०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽ\U00010292\U000102ab\U00010404\U0001042c\U000104c2\U000104ea\U00010516\U000114d0\U000118b5\U000118c8\U000118d7\U000118e0",
	'p': "ΡρРрᏢᑭᴘ⍴Ⲣⲣꓑ\U00010295",
	'q': "ԛգզⵕ",
	'r': "ƦʀгяᎡᏒᖇᴦⲅꓣꭇꭈꮁ\U000104b4\U00016f35\U0001d216",
	's': "ƽЅѕՏᏕᏚꓢꜱꮪ\U00010296\U00010420\U00010448\U000118c1\U00016f3a",
	't': "ΤτТтᎢᴛ⊤⟙Ⲧꓔ\U00010297\U000102b1\U00010315\U000118bc\U00016f0a\U0001f768",
	'u': "ʋυՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ\U000104ce\U000104f6\U000118b8\U000118d8\U00016f42",
	'v': "νѴѵ\u05d8\u0667۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ\U0001051d\U00011706\U000118a0\U000118c0\U00016f08\U0001d20d",
	'w': "ɯѡԜԝաᎳᏔᴡꓪꮃ\U0001170a\U0001170e\U0001170f\U000118e6\U000118ef",
	'x': "×ΧХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ\U00010290\U000102b4\U00010317\U00010322\U00010527\U000118ec",
	'y': "ɣʏΥγУуҮүყᎩᎽᶌỿⲨꓬꭚ\U000102b2\U000118a4\U000118dc\U00016f43",
	'z': "ΖᏃᴢꓜꮓ\U000102f5\U000118a9\U000118c4\U000118e5",
})

func inverted(table map[rune]string) map[rune]rune {
	plain := map[rune]rune{}
	for to, list := range table {
		for _, r := range list {
			plain[r] = to
		}
	}
	return plain
}
