package main

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// How a word that was asked for is looked for under another form, and how much a find under that form is worth. A word of a
// person's own, such as a name, is short, so that even one wrong letter makes it another.
const (
	minPart      = 4 // bytes of a part of a compound
	minRest      = 3 // bytes of the rest of it
	minTypo      = 5 // letters of a word that may have one letter wrong
	minTwoTypos  = 9 // letters of a word that may have two
	maxForms     = 6
	partWeight   = 0.6
	typoWeight   = 0.7
	maxVocabular = 200_000
)

// vocabulary counts in how many passages each indexed word is. It is a mirror in memory of what the index holds, for a
// search asks it for words that are like another.
type vocabulary struct {
	mu     sync.RWMutex
	counts map[string]int
	total  int // passages
}

// form is a word of the vocabulary that stands for a word that was asked for.
type form struct {
	word   string
	weight float64 // 1: the word itself
}

func newVocabulary() *vocabulary { return &vocabulary{counts: map[string]int{}} }

// add counts passages in, each a set of words.
func (v *vocabulary) add(passages []map[string]struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.total += len(passages)
	for _, set := range passages {
		for word := range set {
			if _, known := v.counts[word]; known || len(v.counts) < maxVocabular {
				v.counts[word]++
			}
		}
	}
}

// remove counts passages out.
func (v *vocabulary) remove(passages []map[string]struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.total -= len(passages)
	for _, set := range passages {
		for word := range set {
			if v.counts[word]--; v.counts[word] <= 0 {
				delete(v.counts, word)
			}
		}
	}
}

// forms finds for each word under which forms it is in the vocabulary, and in how many passages. A word that is there
// nowhere has none.
func (v *vocabulary) forms(asked []string) (found [][]form, counts []int, total int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	found, counts = make([][]form, len(asked)), make([]int, len(asked))
	var others []other
	for i, word := range asked {
		if n := v.counts[word]; n > 0 {
			found[i], counts[i] = []form{{word, 1}}, n
		}
		if len(word) >= minPart && isLetters(word) {
			others = append(others, newOther(i, word, found[i] == nil))
		}
	}
	if len(others) > 0 {
		for have := range v.counts {
			for _, o := range others {
				if weight := o.like(have); weight > 0 {
					found[o.index] = append(found[o.index], form{have, weight})
				}
			}
		}
	}
	for i := range found {
		slices.SortFunc(found[i], func(a, b form) int {
			switch {
			case a.weight != b.weight && a.weight > b.weight:
				return -1
			case a.weight != b.weight:
				return 1
			}
			return strings.Compare(a.word, b.word)
		})
		found[i] = found[i][:min(maxForms, len(found[i]))]
		for _, f := range found[i] {
			counts[i] = max(counts[i], v.counts[f.word])
		}
	}
	return found, counts, v.total
}

// snapshot returns a copy of the counts.
func (v *vocabulary) snapshot() (map[string]int, int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return maps.Clone(v.counts), v.total
}

// other looks for other forms of one word.
type other struct {
	index  int
	word   string
	runes  []rune
	wrong  int // letters that may be wrong; zero: the word itself is there
	letter byte
}

func newOther(index int, word string, missing bool) other {
	o := other{index: index, word: word, letter: word[0]}
	if missing {
		o.runes = []rune(word)
		switch n := len(o.runes); {
		case n >= minTwoTypos:
			o.wrong = 2
		case n >= minTypo:
			o.wrong = 1
		}
	}
	return o
}

// like returns what a find of have is worth; zero: it is another word. People seldom get a word's first letter wrong.
func (o *other) like(have string) float64 {
	switch difference := len(have) - len(o.word); {
	case difference > 0 && isPart(o.word, have), difference < 0 && isPart(have, o.word):
		return partWeight
	case o.wrong == 0 || have == "" || have[0] != o.letter || difference > 4*o.wrong || difference < -4*o.wrong:
		return 0
	}
	if n := utf8.RuneCountInString(have) - len(o.runes); n > o.wrong || n < -o.wrong {
		return 0
	}
	if isLetters(have) && within(o.runes, []rune(have), o.wrong) {
		return typoWeight
	}
	return 0
}

// isPart tells whether a word is the beginning or the end of a compound.
func isPart(part, whole string) bool {
	return len(part) >= minPart && len(whole)-len(part) >= minRest && (strings.HasPrefix(whole, part) || strings.HasSuffix(whole, part)) ||
		len(part) > minPart && strings.HasPrefix(whole, part)
}

// within tells whether a becomes b by at most so many letters changed, added, left out or swapped with their neighbour.
func within(a, b []rune, limit int) bool {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := row[0]
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return false
		}
		before, last, row = last, row, before
	}
	return last[len(b)] <= limit
}
