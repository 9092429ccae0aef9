package turn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Whoever is told something is told first what did not arrive; an answer that says nothing tells nobody.
// Behaviour: dead-letter.
func TestWhatDidNotArriveIsTold(t *testing.T) {
	t.Parallel()
	const then = " Ask me again for what you miss, or ask the operator to send it again with `clawhost queue retry`."
	long := strings.Repeat("ä", 400)
	for name, test := range map[string]struct {
		lost   []string // empty: a file
		answer string
		want   []string
	}{
		"one":         {[]string{"It is\n\n- blue"}, "hi", []string{"A message of mine did not arrive." + then + "\n\n> It is - blue", "hi"}},
		"a file":      {[]string{""}, "hi", []string{"A message of mine did not arrive." + then + "\n\n> (a file)", "hi"}},
		"a long one":  {[]string{long}, "hi", []string{"A message of mine did not arrive." + then + "\n\n> " + strings.Repeat("ä", 299) + "…", "hi"}},
		"the last of": {[]string{"a", "b", "c", "d"}, "hi", []string{"4 messages of mine did not arrive." + then + "\n\n> b\n\n> c\n\n> d", "hi"}},
		"in silence":  {[]string{"news"}, "NO_REPLY", nil},
	} {
		r := open(t)
		r.accept(t, message("hello"))
		done := domain.Completion{State: domain.RunDone}
		for _, text := range test.lost {
			item := domain.OutboxItem{To: message("").Address(), Text: text}
			if text == "" {
				item.Media = []chat.Media{{Kind: chat.File, Ref: "a"}}
			}
			done.Items = append(done.Items, item)
		}
		must(t, r.store.Complete(t.Context(), r.claim(t).ID, done))
		for range test.lost {
			list, err := r.store.ClaimDeliveries(t.Context(), "telegram", 1)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			must(t, r.store.DeadLetter(t.Context(), list[0].ID, "blocked"))
		}
		r.plays(says(test.answer))
		r.do(t, message("and then"))
		got, _ := r.told(t)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
