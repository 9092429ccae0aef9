package main

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// Parameters of the words that are searched, chosen with the labelled data of the tests.
const (
	maxAsked     = 12  // words of a prompt that are searched: the rarest
	maxGrams     = 24  // grams of it
	unknownGram  = 0.3 // what an unknown gram counts in a run with known ones: it may span two words
	gramPart     = 0.3 // what a character counts as a form of an unknown pair
	gramsPerWord = 2   // a run of grams counts as a word for so many of them, at least
)

// term is a searched word.
type term struct {
	forms    []form
	weight   float64 // by how rare it is
	passages int     // approximate number that have it
	run      int     // the run of the prompt that it is from
}

// asked is a word of a prompt.
type asked struct {
	token
	stems []string
	count int // how many passages have it
}

// terms chooses the words of a prompt to search, in descending order of weight.
func (x *index) terms(prompt string) []term {
	all := significant(prompt[:runeStart(prompt, maxQuery)])
	total := 0
	grams, known := map[int]int{}, map[int]bool{} // of each run
	for i := range all {
		var counts []int
		counts, total = x.words.seen(all[i].stems)
		all[i].count = slices.Max(counts)
		if all[i].gram {
			grams[all[i].run]++
			known[all[i].run] = known[all[i].run] || all[i].count > 0
		}
	}
	// The rarest are the most significant. Unknown words come last: they may be misspelt, or mean that nothing is known.
	slices.SortStableFunc(all, func(a, b asked) int {
		return cmp.Or(cmp.Compare(min(1, b.count), min(1, a.count)), cmp.Compare(a.count, b.count))
	})
	limit := maxAsked
	if len(grams) > 0 {
		limit = maxGrams
	}
	var terms []term
	for _, a := range all[:min(limit, len(all))] {
		forms, passages := x.words.formsOf(a)
		n, every := float64(max(1, passages)), float64(max(1, total, passages))
		weight := math.Log(1 + (every-n+0.5)/(n+0.5))
		if a.gram {
			weight *= min(1, gramsPerWord/float64(grams[a.run]))
			if a.count == 0 && known[a.run] {
				weight *= unknownGram
			}
		}
		terms = append(terms, term{forms: forms, passages: passages, weight: weight, run: a.run})
	}
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(b.weight, a.weight) })
	return terms
}

// significant returns the words of a text without those that say nothing about its subject, each once.
func significant(text string) (all []asked) {
	l := languageOf(text)
	seen := map[string]bool{}
	for t := range tokens(functionWords.Replace(text)) {
		var a asked
		switch {
		case t.gram:
			// A lone letter means nothing, unless it is a Chinese character that is a word by itself.
			if r, size := utf8.DecodeRuneInString(t.text); t.part || size == len(t.text) && scriptOf(r, spaced) != han {
				continue
			}
			a = asked{token: t, stems: []string{t.text}}
		case l.isFunctionWord(t.text), len(t.text) == 1 && isLetters(t.text):
			continue
		default:
			a = asked{token: t, stems: l.stems(t.text)}
		}
		if key := a.stems[0]; key != "" && !seen[key] {
			seen[key] = true
			all = append(all, a)
		}
	}
	return all
}
