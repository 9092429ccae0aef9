package store_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// However many ask for the same at a time, it is posted once, and all get the same number.
func TestManyPostsWithOneKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 30
	ids := make([]int64, many)
	var posting sync.WaitGroup
	for i := range many {
		posting.Go(func() {
			var err error
			if ids[i], err = b.PostFrom(b.ctx, key("key"), domain.Elsewhere{}, item("anna", "hello")); err != nil {
				t.Error(err)
			}
		})
	}
	posting.Wait()
	for _, id := range ids {
		if id != ids[0] || id == 0 {
			t.Errorf("posted as %v", ids)
			break
		}
	}
	want(t, "posted", []string{"hello"}, b.texts(t))
}

// A page of a transcript ends where its texts are too many bytes, and the next one goes on there.
func TestPagesOfLongTexts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const entries = 50
	var all []chat.TranscriptEntry
	for range entries {
		all = append(all, chat.TranscriptEntry{Role: chat.User, Text: strings.Repeat("x", 256<<10), At: start})
	}
	b.recordPassive(t, domain.Passive{EventID: "said", Channel: "telegram", Session: "telegram:anna", Transcript: all})
	for name, next := range map[string]func(last int64) (ids []int64, err error){
		"of all sessions": func(after int64) (ids []int64, err error) {
			page, err := b.TranscriptAfter(b.ctx, after, 0)
			for _, e := range page {
				ids = append(ids, e.Entry.ID)
			}
			return ids, err
		},
		"of a session": func(before int64) (ids []int64, err error) {
			page, err := b.Transcript(b.ctx, "telegram:anna", before, 0)
			for _, e := range page {
				ids = append([]int64{e.ID}, ids...)
			}
			return ids, err
		},
	} {
		seen, last := map[int64]bool{}, int64(0)
		for {
			ids, err := next(last)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) == 0 {
				break
			}
			if len(ids) > 17 {
				t.Errorf("%s: a page of %d entries", name, len(ids))
			}
			for _, id := range ids {
				seen[id] = true
			}
			last = ids[len(ids)-1]
		}
		if len(seen) != entries {
			t.Errorf("%s: %d entries, want %d", name, len(seen), entries)
		}
	}
}
