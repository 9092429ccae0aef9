package telegramtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

func TestMenu(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	long := strings.Repeat("🦀", 129)
	for commands, want := range map[string]string{
		`[]`:                                             "ok true",
		`[{"command":"a","description":"A."}]`:           "ok true",
		`[{"command":"A","description":"A."}]`:           "400 Bad Request: BOT_COMMAND_INVALID",
		`[{"command":"a-b","description":"x"}]`:          "400 Bad Request: BOT_COMMAND_INVALID",
		`[{"command":"","description":"x"}]`:             "400 Bad Request: BOT_COMMAND_INVALID",
		`[{"command":"a","description":""}]`:             "400 Bad Request: BOT_COMMAND_DESCRIPTION_INVALID",
		`[{"command":"a","description":"` + long + `"}]`: "400 Bad Request: BOT_COMMAND_DESCRIPTION_INVALID",
		`[` + strings.Repeat(`{"command":"a","description":"A."},`, 100) + `{}]`:        "400 Bad Request: BOT_COMMANDS_TOO_MUCH",
		`[` + strings.Repeat(`{"command":"a","description":"A."},`, 99)[:99*35-1] + `]`: "ok true",
		``: "400 Bad Request: can't parse BotCommand: expected an Array",
	} {
		if got := must(t, s, "setMyCommands", "commands", commands); got.String() != want {
			t.Errorf("%.60s: %s, want %s", commands, got, want)
		}
	}
	must(t, s, "setMyCommands", "commands", `[{"command":"a","description":"A."},{"command":"b","description":"B."}]`)
	if got := must(t, s, "setMyCommands", "commands", `[]`, "scope", `{"type":"all_group_chats"}`); got.OK {
		t.Error("a scope that the server does not know was taken")
	}
	want := []telegramtest.Command{{Name: "a", Description: "A."}, {Name: "b", Description: "B."}}
	if diff := cmp.Diff(want, s.Commands()); diff != "" {
		t.Errorf("menu (-want +got):\n%s", diff)
	}
	if got := must(t, s, "getMyCommands"); string(got.Result) != `[{"command":"a","description":"A."},{"command":"b","description":"B."}]` {
		t.Errorf("getMyCommands: %s", got)
	}
	must(t, s, "deleteMyCommands", "scope", `{"type":"default"}`)
	if got := s.Commands(); len(got) != 0 {
		t.Errorf("after they were deleted: %v", got)
	}
}
