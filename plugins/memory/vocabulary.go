package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Parameters for finding a searched word in another form, and the weight of such a form. A person's own word, such as a
// name, is short, so even one different letter makes it another word.
const (
	minPart       = 4 // bytes of a part of a compound
	minRest       = 3 // bytes of the rest of it
	minTypo       = 5 // letters of a word that may have one letter wrong
	minTwoTypos   = 9 // letters of a word that may have two
	maxForms      = 6
	partWeight    = 0.6
	typoWeight    = 0.7
	maxVocabulary = 200_000
)

// vocabulary counts the passages that contain each indexed word. It mirrors the index in memory, so that searches can find
// similar words.
type vocabulary struct {
	mu     sync.RWMutex
	counts map[string]int
	total  int // passages
	// The words by their first byte and by their last two: similar words mostly share one of these.
	byHead map[byte][]string
	byTail map[[2]byte][]string
}

// form is a word of the vocabulary that stands for a searched word.
type form struct {
	word   string
	weight float64 // 1: the word itself
}

func newVocabulary() *vocabulary {
	return &vocabulary{counts: map[string]int{}, byHead: map[byte][]string{}, byTail: map[[2]byte][]string{}}
}

// change adds and removes passages, each a set of words.
func (v *vocabulary) change(added, removed []map[string]struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, set := range added {
		for word := range set {
			v.count(word, 1)
		}
	}
	for _, set := range removed {
		for word := range set {
			v.count(word, -1)
		}
	}
	v.total += len(added) - len(removed)
}

// count counts a word; mu is held.
func (v *vocabulary) count(word string, n int) {
	before := v.counts[word]
	switch after := before + n; {
	case before == 0 && (n < 0 || len(v.counts) >= maxVocabulary):
		// It was left out when there were too many.
	case after <= 0:
		delete(v.counts, word)
		v.byHead[word[0]] = without(v.byHead[word[0]], word)
		v.byTail[tail(word)] = without(v.byTail[tail(word)], word)
	default:
		v.counts[word] = after
		if before == 0 {
			v.byHead[word[0]] = append(v.byHead[word[0]], word)
			v.byTail[tail(word)] = append(v.byTail[tail(word)], word)
		}
	}
}

func tail(word string) [2]byte { return [2]byte{word[max(0, len(word)-2)], word[len(word)-1]} }

// without removes a word from a list whose order does not matter.
func without(list []string, word string) []string {
	i := slices.Index(list, word)
	list[i] = list[len(list)-1]
	return list[:len(list)-1]
}

// seen returns how many passages contain each word, and how many passages there are.
func (v *vocabulary) seen(asked []string) (counts []int, total int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, word := range asked {
		counts = append(counts, v.counts[word])
	}
	return counts, v.total
}

// forms returns the forms of a word in the vocabulary, best first, and how many passages contain the most frequent of them.
// An unknown word has none.
func (v *vocabulary) forms(word string) (found []form, passages int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	n := v.counts[word]
	if n > 0 {
		found = append(found, form{word, 1})
	}
	if len(word) >= minPart && isLetters(word) {
		found = append(found, v.others(word, n == 0)...)
	}
	slices.SortFunc(found, func(a, b form) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	found = found[:min(maxForms, len(found))]
	for _, f := range found {
		passages = max(passages, v.counts[f.word])
	}
	return found, passages
}

// formsOf returns the forms of a word of a prompt, like [vocabulary.forms].
func (v *vocabulary) formsOf(a asked) (found []form, passages int) {
	if a.gram {
		return v.gramForms(a.text)
	}
	for _, s := range a.stems {
		forms, n := v.forms(s)
		for _, f := range forms {
			if !slices.ContainsFunc(found, func(have form) bool { return have.word == f.word }) {
				found = append(found, f)
			}
		}
		passages = max(passages, n)
	}
	return found, passages
}

// gramForms returns a gram if it is known, and otherwise those of its characters that are.
func (v *vocabulary) gramForms(gram string) (found []form, passages int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if n := v.counts[gram]; n > 0 {
		return []form{{gram, 1}}, n
	}
	for _, r := range gram {
		if n := v.counts[string(r)]; n > 0 && unicode.Is(unicode.Han, r) {
			found, passages = append(found, form{string(r), gramPart}), max(passages, n)
		}
	}
	return found, passages
}

// others returns words that contain the word or are contained in it, and, if it is misspelt, words that may be meant; mu is
// held. People rarely get a word's first letter wrong.
func (v *vocabulary) others(word string, misspelt bool) (found []form) {
	wrong, runes := 0, []rune(word)
	switch {
	case misspelt && len(runes) >= minTwoTypos:
		wrong = 2
	case misspelt && len(runes) >= minTypo:
		wrong = 1
	}
	for _, have := range v.byHead[word[0]] {
		switch {
		case isBeginning(word, have):
			found = append(found, form{have, partWeight})
		case wrong > 0 && near(len(word), len(have), utf8.UTFMax*wrong) && isLetters(have) && within(runes, []rune(have), wrong):
			found = append(found, form{have, typoWeight})
		}
	}
	for _, have := range v.byTail[tail(word)] {
		if isEnd(word, have) {
			found = append(found, form{have, partWeight})
		}
	}
	for i := 1; i < len(word); i++ {
		for _, part := range []string{word[:i], word[i:]} {
			if v.counts[part] > 0 && (isBeginning(part, word) || isEnd(part, word)) && len(part) >= minPart {
				found = append(found, form{part, partWeight})
			}
		}
	}
	return found
}

// isBeginning reports whether a word is the beginning of a compound, or differs only in an ending.
func isBeginning(part, whole string) bool {
	return strings.HasPrefix(whole, part) && (len(whole)-len(part) >= minRest || len(part) > minPart && len(whole) > len(part))
}

// isEnd reports whether a word is the end of a compound.
func isEnd(part, whole string) bool {
	return strings.HasSuffix(whole, part) && len(whole)-len(part) >= minRest
}

func near(a, b, limit int) bool { return a-b <= limit && b-a <= limit }

// snapshot returns a copy of the counts.
func (v *vocabulary) snapshot() (map[string]int, int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return maps.Clone(v.counts), v.total
}

// within reports whether a becomes b with at most limit letters changed, added, left out or swapped with their neighbour.
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
