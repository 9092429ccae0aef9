package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: stream, preview-pace, draft-refresh.
func TestDraft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Draft, Interval: time.Second, Rule: chunk.Rule{Limit: chat.TextLimit{Max: 20, Unit: chat.Runes}}})
		u.write("One", " two")
		pass(30 * time.Second)
		u.write(" three four five six")
		pass(2 * time.Second)
		u.finish()
		u.happened(
			"0s draft: One", "1s draft: One two", "21s draft: One two", // networks drop it after a while
			"30.2s send: One two three four", "30.2s draft: five six", "32.3s send: five six")
	})
}

// What is sent behind a draft ends it: it is shown again, and no more often than drafts may be.
// Behaviour: draft-refresh.
func TestDraftIsShownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Draft, Interval: time.Second})
		u.stream.Redraw() // There is nothing to show yet.
		u.write("One")
		pass(5 * time.Second)
		u.stream.Redraw()
		pass(100 * time.Millisecond)
		u.stream.Redraw()
		u.stream.Redraw()
		pass(5 * time.Second)
		u.fixture.err = errRefused
		u.stream.Redraw()
		pass(time.Second)
		u.fixture.err = nil
		u.finish()
		u.stream.Redraw()
		u.happened("0s draft: One", "5.1s draft: One", "6.1s draft: One", "10.2s draft: One", "11.2s send: One")
	})
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Preview})
		u.write("One")
		u.stream.Redraw()
		pass(5 * time.Second)
		u.finish()
		u.happened("0s preview 1: One", "5.1s settle 1: One")
	})
}

// Where the network takes no drafts the answer is shown otherwise, at once.
// Behaviour: stream.
func TestDraftIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		instead stream.Mode
		want    []string
	}{
		"an edited message": {stream.Preview, []string{
			"0s draft: One", "300ms no draft: One two.\n\nThree", "300ms preview 1: One two.\n\nThree",
			"5.2s show 1: One two.\n\nThree four.", "7.3s settle 1: One two.\n\nThree four.",
		}},
		"blocks": {stream.Blocks, []string{
			"0s draft: One", "300ms no draft: One two.\n\nThree", "300ms send: One two.",
			"6.2s send: Three four.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, stream.Options{Mode: stream.Draft, Undrafted: tt.instead, Block: stream.Block{Min: 8, Max: 30, Idle: time.Second}})
				u.write("One")
				u.fixture.noDraft = true
				u.write(" two.\n\nThree")
				pass(5 * time.Second)
				u.write(" four.")
				pass(2 * time.Second)
				u.finish()
				u.happened(tt.want...)
			})
		})
	}
}
