package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: command-menus.
func TestMenu(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	err := newChannel(t, s).SetCommands(t.Context(), []chat.CommandSpec{
		{Name: "status", Usage: "/status", Summary: "What is\n going  on."},
		{Name: "roll_2", Usage: "/roll_2 DICE"},
		{Name: "x"},
		{Name: "long", Summary: strings.Repeat("word ", 60)},
		{Name: "crabs", Summary: strings.Repeat("🦀", 200)},
		{Name: "fits", Summary: strings.Repeat("y", maxDescription)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []telegramtest.Command{
		{Name: "status", Description: "What is going on."},
		{Name: "roll_2", Description: "/roll_2 DICE"},
		{Name: "x", Description: "/x"},
		{Name: "long", Description: strings.Repeat("word ", 50) + "word…"},
		{Name: "crabs", Description: strings.Repeat("🦀", 127) + "…"},
		{Name: "fits", Description: strings.Repeat("y", maxDescription)},
	}
	if diff := cmp.Diff(want, s.Commands()); diff != "" {
		t.Errorf("menu (-want +got):\n%s", diff)
	}
	for _, c := range s.Commands() {
		if units := len(utf16.Encode([]rune(c.Description))); units > maxDescription {
			t.Errorf("/%s has %d units", c.Name, units)
		}
	}
}

func TestMenuThatIsTooMuch(t *testing.T) {
	t.Parallel()
	commands := make([]chat.CommandSpec, 300)
	for i := range commands {
		commands[i].Name = fmt.Sprint("c", i)
	}
	for name, test := range map[string]struct {
		refusals, want int
	}{
		"by number":        {0, 100},
		"as a whole":       {2, 25},
		"whatever it says": {100, 0},
	} {
		s := telegramtest.New(t)
		s.Fail("setMyCommands", test.refusals, telegramtest.Refuse(400, "Bad Request: BOT_COMMANDS_TOO_MUCH"))
		err := newChannel(t, s).SetCommands(t.Context(), commands)
		menu := s.Commands()
		if len(menu) != test.want || (err != nil) != (test.want == 0) || test.want > 0 && menu[0].Name != "c0" {
			t.Errorf("%s: %d commands, %v", name, len(menu), err)
		}
	}
}

func TestMenuThatFails(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.Fail("setMyCommands", 1, telegramtest.TooManyRequests(7*time.Second))
	err := newChannel(t, s).SetCommands(t.Context(), []chat.CommandSpec{{Name: "x"}})
	if f, _ := errors.AsType[*chat.Failure](err); f == nil || f.Reason != chat.RateLimited || f.RetryAfter != 7*time.Second {
		t.Errorf("got %v", err)
	}
}
