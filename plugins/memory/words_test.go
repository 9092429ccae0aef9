package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, same := range []string{
		"bike bikes Bikes' BIKE",
		"Fahrrad Fahrräder Fahrrades Fahrraeder Fahrra\u0308der",
		"Haus Häuser Haeuser Hauses",
		"plan plans planned planning",
		"story stories",
		"course courses",
		"Straße Strasse Straßen Strassen",
		"Müller Mueller Muller",
		"Inês Ines",
		"meeting meetings",
		"Glas Gläser",
	} {
		all := slices.Collect(words(same))
		for _, word := range all {
			if word != all[0] && word != "s" {
				t.Errorf("%q are %q", same, all)
				break
			}
		}
	}
	for _, different := range []string{"bus bu", "class cla", "neu neben", "queue quelle", "E24 E2", "2026 202", "this thi", "gas gab"} {
		all := slices.Collect(words(different))
		if len(all) != 2 || all[0] == all[1] {
			t.Errorf("%q are %q", different, all)
		}
	}
	// The last letter of the second text ends in two bytes that are the same.
	if diff := cmp.Diff([]string{"g", "482", "kt", "e24", "\U0001079e"}, slices.Collect(words("G-482 KT (E24) \U0001079e"))); diff != "" {
		t.Error(diff)
	}
	if got := slices.Collect(words("a " + strings.Repeat("x", maxWord+1) + " b")); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("a run of letters that is too long: %q", got)
	}
}

func TestStopWords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"What did you tell me about it?", "Was hast du mir darüber gesagt?", "hello there, how are you", "Guten Morgen, wie geht es dir?",
		"thank you very much", "Vielen Dank", "ok", "können würde müssen koennen wuerde muessen",
	} {
		for word := range words(text) {
			if !isStopWord(word) && word != "darub" {
				t.Errorf("%q of %q counts", word, text)
			}
		}
	}
	for word := range words("boiler cat Steuer Fahrrad server 42 risotto") {
		if isStopWord(word) {
			t.Errorf("%q does not count", word)
		}
	}
}

// Words are of letters and digits, without white space and quotes: the index and its query language see nothing else.
func TestWordsAreClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for word := range words(rapid.String().Draw(t, "text")) {
			if word == "" || strings.IndexFunc(word, separates) >= 0 {
				t.Fatalf("the word %q", word)
			}
		}
	})
}

func TestForms(t *testing.T) {
	t.Parallel()
	v := newVocabulary()
	var sets []map[string]struct{}
	for _, word := range []string{"krankenversicherung", "versicherung", "dishwash", "zeckenimpfung", "bos", "boot", "kubernet", "1234", "auto"} {
		sets = append(sets, map[string]struct{}{word: {}})
	}
	v.change(sets, nil)
	for asked, want := range map[string][]form{
		"versicherung":             {{"versicherung", 1}, {"krankenversicherung", partWeight}},
		"krankenversicherungskart": {{"krankenversicherung", partWeight}},
		"zeck":                     {{"zeckenimpfung", partWeight}},
		"dishwas":                  {{"dishwash", partWeight}},
		"dihswash":                 {{"dishwash", typoWeight}},
		"kuberent":                 {{"kubernet", typoWeight}},
		"1235":                     nil, // a number is right or wrong
		"bot":                      nil, // too short to tell a typing error from another word
		"zebra":                    nil,
	} {
		found, passages := v.forms(asked)
		if diff := cmp.Diff(want, found, cmp.AllowUnexported(form{})); diff != "" || passages != min(1, len(want)) {
			t.Errorf("%s is in %d passages: %s", asked, passages, diff)
		}
	}
	v.change(nil, sets)
	if counts, total := v.snapshot(); len(counts) != 0 || total != 0 || len(v.byHead['k']) != 0 || len(v.byTail[tail("auto")]) != 0 {
		t.Errorf("left are %v of %d, %v, %v", counts, total, v.byHead, v.byTail)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b  string
		limit int
		want  bool
	}{
		{"flight", "flight", 0, true},
		{"flight", "fligth", 1, true},  // swapped
		{"flight", "flights", 1, true}, // added
		{"flight", "fligt", 1, true},   // left out
		{"flight", "fright", 1, true},  // changed
		{"flight", "freight", 1, false},
		{"flight", "freight", 2, true},
		{"flight", "", 2, false},
		{"", "ab", 2, true},
	} {
		if got := within([]rune(test.a), []rune(test.b), test.limit); got != test.want {
			t.Errorf("%q is within %d of %q: %v", test.a, test.limit, test.b, got)
		}
	}
}
