package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: stream.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		configured string
		draft      chat.Draft
		want       stream.Mode
	}{
		{"preview", chat.NativeDraft, stream.Draft},
		{"preview", chat.DraftByEdit, stream.Preview},
		{"preview", chat.NoDraft, stream.Blocks},
		{"preview", 0, stream.Blocks},
		{"block", chat.DraftByEdit, stream.Blocks},
		{"off", chat.DraftByEdit, stream.Off},
		{"", chat.DraftByEdit, stream.Off},
	} {
		if got := stream.Choose(tt.configured, tt.draft); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestNothingIsShownWhereItIsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Off})
		u.write("One.\n\n", "Two.")
		u.use(bash("make"))
		u.used()
		u.write("Three.")
		u.finish()
		u.happened("300ms send: Three.")
	})
}

// What of a text is in the chat, or on its way there, a tool has no need to send.
// Behaviour: message-tool-text.
func TestHold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options stream.Options
		turn    func(u *turn)
		want    bool
	}{
		"nothing was written":      {stream.Options{Mode: stream.Blocks}, func(*turn) {}, false},
		"it is in the chat":        {stream.Options{Mode: stream.Blocks}, func(u *turn) { u.write(tea); u.use(bash("make")) }, true},
		"it was, before a tool":    {stream.Options{Mode: stream.Blocks}, func(u *turn) { u.write(tea); u.use(bash("make")); u.used(); u.write("And"); u.use(bash("make")) }, true},
		"another text is":          {stream.Options{Mode: stream.Blocks}, func(u *turn) { u.write(tea + " And drinks."); u.use(bash("make")) }, false},
		"it is not shown for good": {stream.Options{Mode: stream.Preview}, func(u *turn) { u.write(tea); u.use(bash("make")) }, false},
		"a part of it is": {
			stream.Options{Mode: stream.Blocks, Block: stream.Block{Min: 8, Max: 100}, Delay: stream.Delay{Min: time.Minute, Max: time.Minute}},
			func(u *turn) { u.write("One boils water.\n\n", "Then waits."); u.use(bash("make")) }, true,
		},
		"it could not be sent": {
			stream.Options{Mode: stream.Blocks},
			func(u *turn) { u.fixture.err = errRefused; u.write(tea); u.use(bash("make")) }, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, tt.options)
				tt.turn(u)
				before := len(u.fixture.seen())
				held := u.stream.Hold()
				if got := held.Has("One boils  water.\nThen waits."); got != tt.want {
					t.Errorf("has %t, want %t", got, tt.want)
				}
				u.stream.Progress(agent.Progress{Done: u.p.Done, Text: "More.\n\nAnd more."})
				pass(time.Minute)
				if now := u.fixture.seen(); len(now) != before {
					t.Errorf("meanwhile there came %q", now[before:])
				}
				held.Release()
				u.stream.End()
			})
		})
	}
}
