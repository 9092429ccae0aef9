package command

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAbort is the longest text that may ask to stop, in bytes.
const maxAbort = 100

// aborts are the messages that ask to stop: in lower case, without combining marks.
var aborts = words(
	// English.
	"stop", "esc", "escape", "abort", "exit", "interrupt", "halt", "cancel", "please stop", "stop please", "stop it", "stop now",
	"stop that", "stop this", "stop everything", "stop working", "abort please", "please abort", "just stop", "stop stop", "stop stop stop",
	// French.
	"arrête", "arrete", "arrêter", "arreter", "arrêtez", "arretez", "arrête toi", "arrete toi", "arrête-toi", "arrete-toi",
	"stoppe", "stoppez",
	"stop s'il te plaît", "stop s'il te plait", "annule", "annuler",
	// German.
	"stopp", "anhalten", "aufhören", "aufhoren", "aufhoeren", "hör auf", "hor auf", "hoer auf", "abbrechen", "abbruch",
	"bitte stopp", "stopp bitte", "bitte stop",
	"stop bitte", "schluss",
	// Spanish.
	"para", "parar", "detente", "deténte", "detener", "alto", "basta", "cancela", "cancelar", "para por favor", "por favor para",
	// Portuguese.
	"pare", "pára", "parem", "chega", "pare por favor", "por favor pare",
	// Russian.
	"стоп", "стой", "стои", "остановись", "остановитесь", "остановить", "прекрати", "прекратить", "хватит", "отмена", "стоп пожалуйста",
	// Chinese.
	"停", "停止", "停下", "停下来", "停一下", "快停", "请停止", "取消", "中止",
	// Japanese.
	"止めて", "やめて", "とめて", "止まれ", "とまれ", "止まって", "ストップ", "やめろ", "中断", "キャンセル",
	// Hindi.
	"रुको", "रुकिए", "रुकिये", "रुक", "रुक जाओ", "बंद करो", "बस करो", "स्टॉप", "रोको",
	// Arabic.
	"توقف", "توقفي", "قف", "قفي", "أوقف", "اوقف", "كفى", "إلغاء", "الغاء", "ستوب",
)

// IsAbort reports whether a text is only a request to stop: one of a list of words in several languages, in any case
// and with any punctuation around it. Slash commands are left to [Registry.Parse].
func IsAbort(text string) bool {
	if len(text) > maxAbort || strings.HasPrefix(strings.TrimSpace(text), "/") || !utf8.ValidString(text) {
		return false
	}
	return aborts[bare(text)]
}

// words returns a set of them.
func words(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, word := range list {
		set[bare(word)] = true
	}
	return set
}

// bare removes case, outer punctuation and combining marks from a text.
func bare(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Cf, r):
			return -1
		case r == '’':
			return '\''
		case r == ',', r == '!', r == '.':
			return ' '
		}
		return unicode.ToLower(r)
	}, text)
	text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) })
	return strings.Join(strings.Fields(text), " ")
}
