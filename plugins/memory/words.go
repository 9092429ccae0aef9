package main

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word that is looked for, in letters. What is longer is no word of a language.
const maxWord = 40

// plainLetters is how a letter with a mark is written without it. Letters with combining marks lose the marks.
var plainLetters = strings.NewReplacer(
	"à", "a", "á", "a", "â", "a", "ã", "a", "ä", "a", "å", "a", "æ", "a", "ç", "c", "è", "e", "é", "e", "ê", "e", "ë", "e",
	"ì", "i", "í", "i", "î", "i", "ï", "i", "ñ", "n", "ò", "o", "ó", "o", "ô", "o", "õ", "o", "ö", "o", "ø", "o", "œ", "o",
	"ù", "u", "ú", "u", "û", "u", "ü", "u", "ý", "y", "ÿ", "y", "ß", "ss", "ą", "a", "ć", "c", "č", "c", "ę", "e", "ě", "e",
	"ğ", "g", "ł", "l", "ń", "n", "ő", "o", "ř", "r", "ś", "s", "š", "s", "ş", "s", "ű", "u", "ů", "u", "ź", "z", "ż", "z", "ž", "z",
)

// endings are what inflection puts behind a word in English and German, beside an s; the longest first.
var endings = []string{"ing", "ern", "ed", "en", "er", "em", "es", "e", "n"}

// words yields the words of a text in order as they are indexed and looked up: in lower case, without marks on letters,
// cut to a stem, so that "Fahrräder", "Fahrraeder" and "Fahrrad" are one. A text is indexed and asked for by the same
// function, so what it does to a word matters only where it makes two words one.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for field := range strings.FieldsFuncSeq(text, separates) {
			if word := stem(fold(field)); word != "" && !yield(word) {
				return
			}
		}
	}
}

// separates tells whether a rune stands between words.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
}

// fold writes a word in lower case and without marks. It returns "" for what is too long to be a word.
func fold(word string) string {
	if utf8.RuneCountInString(word) > maxWord {
		return ""
	}
	word = strings.ToLower(word)
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < utf8.RuneSelf
	}
	if ascii {
		return word
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, plainLetters.Replace(word))
}

// stem cuts the ending off a folded word: an s of a plural, and one more.
func stem(word string) string {
	if len(word) < 4 || !isLetters(word) {
		return word
	}
	word = cutEnding(cutS(umlauts(word)))
	// "planning" and "planned" have a letter twice that "plan" has once.
	if n := len(word); n > 3 && word[n-1] == word[n-2] && word[n-1] < utf8.RuneSelf {
		word = word[:n-1]
	}
	// "story" and "stories" differ in the last letter that is left.
	if n := len(word); n > 3 && word[n-1] == 'y' {
		word = word[:n-1] + "i"
	}
	return word
}

// cutS cuts the s of a plural off, but not that of "bus", "class" and "gas".
func cutS(word string) string {
	rest, ok := strings.CutSuffix(word, "s")
	if !ok || len(rest) < 3 || strings.IndexByte("sui", rest[len(rest)-1]) >= 0 ||
		len(rest) == 3 && strings.IndexByte("aeo", rest[2]) >= 0 {
		return word
	}
	return rest
}

func cutEnding(word string) string {
	for _, ending := range endings {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= 4 {
			return rest
		}
	}
	return word
}

// umlauts has "Fahrraeder" and "Fahrräder" be one word: it drops the e by which German writes an umlaut on a keyboard that
// has none. The e of "neue" and "queue" is not one.
func umlauts(word string) string {
	if len(word) < 5 || !strings.Contains(word, "ae") && !strings.Contains(word, "oe") && !strings.Contains(word, "ue") {
		return word
	}
	plain := make([]byte, 0, len(word))
	for i := range len(word) {
		if word[i] == 'e' && i > 0 && strings.IndexByte("aou", word[i-1]) >= 0 &&
			(i < 2 || strings.IndexByte("aeiouq", word[i-2]) < 0) {
			continue
		}
		plain = append(plain, word[i])
	}
	return string(plain)
}

// isLetters tells whether a folded word has no digit. Numbers and codes are kept as they are.
func isLetters(word string) bool {
	return strings.IndexFunc(word, unicode.IsDigit) < 0
}
