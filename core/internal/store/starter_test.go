package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// What a thread began with stays with its session, whichever event tells it, and is given wherever a conversation begins in it.
// Behaviour: prompt-thread.
func TestStarter(t *testing.T) {
	t.Parallel()
	thread := func(n int, starter string) domain.Inbound {
		in := inbound("anna", n)
		in.Message.Starter = starter
		return in
	}
	for name, tell := range map[string]func(b *bundle){
		"the turn's own message": func(*bundle) {},
		"a message before it": func(b *bundle) {
			o := passive("anna", 0)
			o.Note, o.Limit, o.Transcript, o.Starter = nil, 0, nil, "bread"
			b.recordPassive(t, o)
		},
		"a command": func(b *bundle) {
			command := thread(0, "bread")
			command.Lane = domain.ControlLane
			b.accept(t, command)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tell(b)
			b.reopen(t)
			own := ""
			if name == "the turn's own message" {
				own = "bread"
			}
			b.accept(t, thread(1, own))
			run := b.claim(t)
			if run.Session.Starter != "bread" {
				t.Errorf("the first turn gets %q", run.Session.Starter)
			}
			if err := b.Consumed(b.ctx, run.ID); err != nil {
				t.Fatal(err)
			}
			b.complete(t, run)
			b.accept(t, thread(2, "butter"))
			if run = b.claim(t); run.Session.Starter != "" {
				t.Errorf("the second turn gets %q", run.Session.Starter)
			}
			if s, err := b.ReplaceSession(b.ctx, run.ID); err != nil || s.Starter != "bread" {
				t.Errorf("a turn of a new conversation gets %q, %v", s.Starter, err)
			}
			b.complete(t, run)
			fresh := thread(3, "")
			fresh.Message.Fresh = true
			b.accept(t, fresh)
			if run = b.claim(t); run.Session.Starter != "bread" {
				t.Errorf("a new conversation gets %q", run.Session.Starter)
			}
		})
	}
}

// Behaviour: prompt-thread.
func TestStartersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("x", 10_000)
	for n := range 1001 {
		o := passive(fmt.Sprintf("group%d", n), 1)
		o.Limit, o.Starter = 0, long
		b.recordPassive(t, o)
		if n == 0 {
			b.clock.Advance(time.Second)
		}
	}
	var count, longest int
	if err := raw(t, b.path).QueryRow(`SELECT COUNT(*), MAX(length(text)) FROM starters`).Scan(&count, &longest); err != nil || count != 1000 || longest != 8<<10 {
		t.Errorf("%d starters of up to %d bytes, %v", count, longest, err)
	}
	for group, want := range map[string]int{"group0": 0, "group1000": 8 << 10} {
		b.accept(t, inbound(group, 2))
		if run := b.claim(t); len(run.Session.Starter) != want {
			t.Errorf("%s gets %d bytes, want %d", group, len(run.Session.Starter), want)
		}
	}
}
