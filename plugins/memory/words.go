package main

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the maximum length of a word, in letters.
const maxWord = 40

// plainLetters removes diacritics from letters that have no combining form. Letters with combining marks lose the marks.
var plainLetters = strings.NewReplacer(
	"à", "a", "á", "a", "â", "a", "ã", "a", "ä", "a", "å", "a", "æ", "a", "ç", "c", "è", "e", "é", "e", "ê", "e", "ë", "e",
	"ì", "i", "í", "i", "î", "i", "ï", "i", "ñ", "n", "ò", "o", "ó", "o", "ô", "o", "õ", "o", "ö", "o", "ø", "o", "œ", "o",
	"ù", "u", "ú", "u", "û", "u", "ü", "u", "ý", "y", "ÿ", "y", "ß", "ss", "ą", "a", "ć", "c", "č", "c", "ę", "e", "ě", "e",
	"ğ", "g", "ł", "l", "ń", "n", "ő", "o", "ř", "r", "ś", "s", "š", "s", "ş", "s", "ű", "u", "ů", "u", "ź", "z", "ż", "z",
	"ž", "z", "ё", "е",
)

// endings are inflections in English and German, besides an s; longest first.
var endings = []string{"ing", "ern", "ed", "en", "er", "em", "es", "e", "n"}

// token is a word of a text before it is stemmed, or a short run of letters of a script without spaces.
type token struct {
	text string // in lower case
	gram bool   // it is such a run
	part bool   // it is one character of a longer run
	run  int    // the number of the unbroken run of a script that it is from, from 1
}

// tokens yields the tokens of a text in order. Of a run of a script without spaces it yields all grams.
func tokens(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		run := 0
		for field := range strings.FieldsFuncSeq(text, separates) {
			for part, s := range runs(field) {
				run++
				if s == spaced {
					if utf8.RuneCountInString(part) <= maxWord && !yield(token{text: narrow(strings.ToLower(part)), run: run}) {
						return
					}
					continue
				}
				for gram := range s.grams(part) {
					if !yield(token{text: gram, gram: true, part: len(gram) < len(part) && utf8.RuneCountInString(gram) == 1, run: run}) {
						return
					}
				}
			}
		}
	}
}

// words yields the words of a text in order, as they are indexed: in lower case, without diacritics, stemmed by the rules of
// its language, so that "Fahrräder", "Fahrraeder" and "Fahrrad" are equal. Searched words are made equal in the same way, by
// [forms], so changes matter only if they make different words equal.
func words(text string) iter.Seq[string] { return wordsIn(languageOf(text), text) }

// wordsIn yields the words of a text of a known language.
func wordsIn(l language, text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for t := range tokens(text) {
			word := t.text
			if !t.gram {
				word = l.stem(t.text)
			}
			if word != "" && !yield(word) {
				return
			}
		}
	}
}

// separates reports whether a rune separates words.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
}

// fold returns a word in lower case without diacritics.
func fold(word string) string {
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

// lightStem removes the ending of a folded word of English or German: an s of a plural, and one more.
func lightStem(word string) string {
	if len(word) < 4 || !isLetters(word) {
		return word
	}
	word = cutEnding(cutS(umlauts(word)))
	// "planning" and "planned" double the last letter of "plan".
	if n := len(word); n > 3 && word[n-1] == word[n-2] && word[n-1] < utf8.RuneSelf {
		word = word[:n-1]
	}
	// "story" and "stories" differ in the last remaining letter.
	if n := len(word); n > 3 && word[n-1] == 'y' {
		word = word[:n-1] + "i"
	}
	return word
}

// cutS removes the s of a plural, but not that of "bus", "class" and "gas".
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

// umlauts makes "Fahrraeder" and "Fahrräder" equal: it drops the e that replaces an umlaut on keyboards without one. The e
// of "neue" and "queue" is not such an e.
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

// isLetters reports whether a folded word has no digits. Numbers and codes are left unchanged.
func isLetters(word string) bool {
	return strings.IndexFunc(word, unicode.IsDigit) < 0
}
