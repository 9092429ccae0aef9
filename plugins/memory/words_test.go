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

// Behaviour: memory-words.
func TestWordsByLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Котёл котла котлы":   "котел котл котл",
		"проверяет проверяли": "проверя проверя",
		"Les chaudières sont réparées dans la maison, et la réparation de la chaudière est chère": "le chaudi sont repar dan la maison et la repar de la chaudi est cher",
		"Las habitaciones de la casa son muy bonitas, y la habitación es grande":                  "las habit de la cas son muy bonit y la habit es grand",
		"猫团团": "猫 猫团 团 团团 团", "ストーブの点検は": "スト トー ーブ の 点 点検 検 は",
		"고양이는": "고양 양이 이는", "แมวดำ": "แมว มวด วดำ", "ｗｉ－ｆｉ２": "wi fi2",
	} {
		if got := strings.Join(slices.Collect(words(text)), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]language{
		"Where is the key of the cellar?": englishOrGerman, "Wo ist der Schlüssel?": englishOrGerman,
		"Où est la clé de la cave ?": inFrench, "¿Dónde está la llave del sótano?": inSpanish,
		"Novak Lissabon": unknownLanguage, "где ключ": unknownLanguage, "": unknownLanguage,
	} {
		if got := languageOf(text); got != want {
			t.Errorf("%q is of language %d, want %d", text, got, want)
		}
	}
}

// A question finds a note in its language, in other forms of the words, and one in another language by its names.
// Behaviour: memory-words.
func TestRecallByLanguage(t *testing.T) {
	t.Parallel()
	file := func(name, body string) candidate {
		return candidate{origin: origin{path: name}, body: body, at: today}
	}
	x := filled(t, []candidate{
		file("french", "La chaudière de la cave a été réparée par monsieur Lenoir, qui avait les pièces."),
		file("spanish", "Las reparaciones de la caldera las hizo el señor Ortega, que tenía las piezas en el taller."),
		file("thai", "แมวของเราชื่อมะลิ อายุสามปี กินยาทุกเดือน"),
		file("korean", "고양이의 이름은 나비이고 세 살이다."),
		file("wide", "Ｗｉ－Ｆｉ のパスワードは冷蔵庫の横。"),
		file("english", "The bicycle is in the shed behind the house."),
	})
	for prompt, want := range map[string]string{
		"Qui a fait les réparations des chaudières ?": "french",
		"chaudières":                        "french",
		"¿Quién ha reparado las calderas?":  "spanish",
		"What did Lenoir do?":               "french",
		"แมวกินยาเมื่อไหร่":                 "thai",
		"고양이는 이름이 뭐야?":                      "korean",
		"冷蔵庫の横に何がある？":                       "wide",
		"Quelle est la capitale du Pérou ?": "",
		"¿Cuál es la capital de Perú?":      "",
		"帮我写一首诗":                            "",
	} {
		best, err := x.recall(t.Context(), view{session: "s"}, prompt, today, 1)
		got := ""
		if len(best) > 0 {
			got = best[0].origin.path
		}
		if err != nil || got != want {
			t.Errorf("%q recalls %q, %v, want %q", prompt, got, err, want)
		}
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
