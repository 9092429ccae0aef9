package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Of each session the last uses are kept, for a while.
// Behaviour: tools-private.
func TestToolUses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	use := func(n int) domain.ToolUse {
		return domain.ToolUse{
			Turn: "u1", Plugin: "artist", Tool: "draw", At: b.clock.Now(), Took: time.Duration(n) * time.Millisecond, Failed: n%2 == 0,
			Details: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)),
		}
	}
	var wanted []domain.ToolUse
	for n := range 103 {
		b.clock.Advance(time.Minute)
		if err := b.NoteToolUse(b.ctx, "s", use(n)); err != nil {
			t.Fatal(err)
		}
		if n >= 3 {
			wanted = append(wanted, use(n))
		}
	}
	if err := b.NoteToolUse(b.ctx, "other", use(1)); err != nil {
		t.Fatal(err)
	}
	uses := func(session string) []domain.ToolUse {
		t.Helper()
		list, err := b.ToolUses(b.ctx, session)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	want(t, "kept", wanted, uses("s"))
	want(t, "of another session", 1, len(uses("other")))
	b.clock.Advance(30*24*time.Hour - time.Minute)
	b.purge(t)
	want(t, "younger than 30 days", []domain.ToolUse{wanted[99]}, uses("s"))
	b.clock.Advance(time.Hour)
	b.purge(t)
	want(t, "later", 0, len(uses("s"))+len(uses("other")))
}
