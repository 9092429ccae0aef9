package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// search returns what a search finds: "title" of a conversation, "title: excerpt" of a message.
func (b *bundle) search(t *testing.T, text string) (all []string, seqs []int64) {
	t.Helper()
	answer := b.request(t, http.MethodGet, "/api/search?text="+url.QueryEscape(text), nil, nil)
	var got struct {
		Found []found `json:"found"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || answer.StatusCode != http.StatusOK || got.Found == nil {
		t.Fatalf("search %q: %s, %+v, %v", text, answer.Status, got, err)
	}
	for _, f := range got.Found {
		if f.Seq == 0 {
			all = append(all, f.Title)
		} else {
			all = append(all, f.Title+": "+f.Excerpt)
			seqs = append(seqs, f.Seq)
		}
	}
	return all, seqs
}

func TestSearchFindsTitlesAndMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := uuid.NewString()
	b.say(t, "The Elephant sleeps")
	b.sayIn(t, one, "Zoo: who is there?")
	if _, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: thread(one), Text: "An **elephant**,\nand ÄRZTE. " + strings.Repeat("x", 200)}); err != nil {
		t.Fatal(err)
	}
	gone := b.send(t, "an elephant that was deleted")
	if err := b.Delete(t.Context(), local, gone); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"elephant":        {"Zoo: who is there?: An **elephant**, and ÄRZTE. " + strings.Repeat("x", 92) + "…", "Main: The Elephant sleeps"},
		" SLEEPS  eleph ": {"Main: The Elephant sleeps"},
		"zoo":             {"Zoo: who is there?", "Zoo: who is there?: Zoo: who is there?"},
		"ärzte":           {"Zoo: who is there?: An **elephant**, and ÄRZTE. " + strings.Repeat("x", 92) + "…"},
		"deleted":         nil,
		".*":              nil,
	} {
		got, _ := b.search(t, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"", "  ", strings.Repeat("x", 257)} {
		if answer := b.request(t, http.MethodGet, "/api/search?text="+url.QueryEscape(text), nil, nil); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s", text, answer.Status)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var last int64
	for n := range 60 {
		if _, _, err := b.journal.answer(record{Key: fmt.Sprint(n), Text: fmt.Sprintf("owl %d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	got, seqs := b.search(t, "owl")
	if len(got) != maxFound || got[0] != "Main: owl 59" || got[maxFound-1] != "Main: owl 10" {
		t.Errorf("%d found: %q", len(got), got)
	}
	for n, seq := range seqs {
		if n > 0 && seq >= last {
			t.Errorf("%d after %d", seq, last)
		}
		last = seq
	}
}

// The characters of a text may have other lengths in lower case, and a word may be anywhere.
func FuzzExcerpt(f *testing.F) {
	for _, seed := range []string{"a word", "İİİİ word", "ẞ\xff word " + strings.Repeat("word", 99)} {
		f.Add(seed, "word")
	}
	f.Fuzz(func(t *testing.T, text, word string) {
		lower := strings.ToLower(text)
		if word == "" || !strings.Contains(lower, word) {
			t.Skip()
		}
		if got := []rune(excerpt(text, lower, word)); len(got) > maxExcerpt+2 {
			t.Errorf("%d characters of %q", len(got), text)
		}
	})
}
