package main

import (
	"iter"
	"strings"
	"unicode"
)

// script is how the words of a script are separated.
type script int

const (
	spaced   script = iota // by spaces
	han                    // Chinese characters, in Chinese and Japanese: each has a meaning
	hiragana               // Japanese endings and function words
	katakana               // Japanese foreign words
	hangul                 // Korean words with their particles
	abugida                // scripts of South-East Asia without spaces
)

// scriptOf returns the script of a letter. A mark belongs to the letter before it.
func scriptOf(r rune, before script) script {
	switch {
	case r < 0x0e00:
		return spaced
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.Is(unicode.Hiragana, r):
		return hiragana
	case unicode.Is(unicode.Katakana, r), r == 'ー':
		return katakana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return abugida
	case unicode.Is(unicode.Mn, r):
		return before
	default:
		return spaced
	}
}

// runs yields the parts of a field that are of one script each.
func runs(field string) iter.Seq2[string, script] {
	return func(yield func(string, script) bool) {
		start, current := 0, spaced
		for i, r := range field {
			s := scriptOf(r, current)
			if i > 0 && s != current {
				if !yield(field[start:i], current) {
					return
				}
				start = i
			}
			current = s
		}
		if start < len(field) {
			yield(field[start:], current)
		}
	}
}

// grams yields the pairs of letters of a run, and of scripts of South-East Asia, whose syllables are longer, the triples. Of
// Chinese characters it also yields each.
func (s script) grams(run string) iter.Seq[string] {
	return func(yield func(string) bool) {
		letters, size := []rune(run), 2
		if s == abugida {
			size = 3
		}
		if len(letters) < size {
			yield(run)
			return
		}
		for i := range letters {
			if s == han && !yield(string(letters[i])) {
				return
			}
			if i+size <= len(letters) && !yield(string(letters[i:i+size])) {
				return
			}
		}
	}
}

// narrow replaces letters and digits of the full width of Chinese characters by the usual ones.
func narrow(word string) string {
	const first, last, shift = '！', '～', '！' - '!'
	if strings.IndexFunc(word, func(r rune) bool { return r >= first && r <= last }) < 0 {
		return word
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r >= first && r <= last {
			return r - shift
		}
		return r
	}, word))
}
