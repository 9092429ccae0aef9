package main

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
)

// language is the language of a text, as far as its words are stemmed in another way.
type language int

const (
	unknownLanguage language = iota // stemmed like English and German
	englishOrGerman
	inFrench
	inSpanish
)

// languageOf returns the language of which a text has the most stop words. Words of Cyrillic letters count for none: they are
// stemmed as Russian in any text.
func languageOf(text string) language {
	var hits [inSpanish + 1]int
	count := 0
	for field := range strings.FieldsFuncSeq(text, separates) {
		if count++; count > 200 {
			break
		}
		word := fold(strings.ToLower(field))
		if isStopWord(lightStem(word)) {
			hits[englishOrGerman]++
		}
		if _, ok := frenchStopWords[word]; ok {
			hits[inFrench]++
		}
		if _, ok := spanishStopWords[word]; ok {
			hits[inSpanish]++
		}
	}
	best, second := unknownLanguage, 0
	for l := englishOrGerman; l <= inSpanish; l++ {
		switch {
		case hits[l] > hits[best]:
			best, second = l, hits[best]
		default:
			second = max(second, hits[l])
		}
	}
	if hits[best] == second || hits[best] == 1 && count > 6 {
		return unknownLanguage
	}
	return best
}

// stem returns a word of a text of this language as it is indexed.
func (l language) stem(word string) string {
	switch {
	case strings.IndexFunc(word, isCyrillic) >= 0:
		return fold(russian.Stem(strings.ReplaceAll(word, "ё", "е"), true))
	case l == inFrench && isLetters(word):
		return fold(french.Stem(word, true))
	case l == inSpanish && isLetters(word):
		return fold(spanish.Stem(word, true))
	default:
		return lightStem(fold(word))
	}
}

// stems returns the forms of a searched word in which texts may have it. A short question often has no stop word, so its
// language may be unknown; then a text of any language may be meant.
func (l language) stems(word string) []string {
	all := []string{unknownLanguage.stem(word)}
	for _, other := range []language{inFrench, inSpanish} {
		if l != other && l != unknownLanguage {
			continue
		}
		if s := other.stem(word); s != "" && s != all[0] && s != all[len(all)-1] {
			all = append(all, s)
		}
	}
	return all
}

// isFunctionWord reports whether a word of a text of this language is insignificant.
func (l language) isFunctionWord(word string) bool {
	word = fold(word)
	list := russianStopWords
	switch {
	case strings.IndexFunc(word, isCyrillic) >= 0:
	case l == inFrench:
		list = frenchStopWords
	case l == inSpanish:
		list = spanishStopWords
	default:
		list = nil
	}
	_, ok := list[word]
	return ok || isStopWord(lightStem(word))
}

func isCyrillic(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }
