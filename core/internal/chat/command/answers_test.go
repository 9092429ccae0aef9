package command_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What waits must be gone before the running turn is, or the next one begins in between. What came after the command is not meant by it.
// Behaviour: stop.
func TestAnswersOfStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		running, deaf bool
		waiting       int
		want          string
	}{
		"a turn":                {running: true, want: "Stopped."},
		"nothing":               {want: "Nothing is running."},
		"a turn and one behind": {running: true, waiting: 1, want: "Stopped. One waiting message was dropped."},
		"a turn and many":       {running: true, waiting: 3, want: "Stopped. 3 waiting messages were dropped."},
		"only waiting ones":     {waiting: 2, want: "Nothing was running. 2 waiting messages were dropped."},
		"a deaf turn":           {running: true, deaf: true, want: "The running turn did not stop yet. It is being killed; send /status to see."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, d *hostCommands) {
				if d.deaf = test.deaf; test.running {
					d.run(t)
				}
				for i := range test.waiting {
					d.write(t, map[bool]domain.Lane{true: domain.ShellLane, false: domain.TurnLane}[!test.running && i == 0], message("and then"))
				}
				time.Sleep(time.Until(now))
				d.write(t, domain.TurnLane, message("later"))
				got, err := textOf(d.registry().Run(t.Context(), d.call("/stop", chat.Authorised)))
				if err != nil || got != test.want {
					t.Errorf("%q, %v, want %q", got, err, test.want)
				}
				if synctest.Wait(); d.deaf {
					return
				}
				waiting, begun := 1, 0
				if test.running {
					waiting, begun = 0, 2 // the second is about what was written later
				}
				if d.waiting(t) != waiting || d.begun != begun {
					t.Errorf("%d messages wait and %d turns have begun, want %d and %d", d.waiting(t), d.begun, waiting, begun)
				}
			})
		})
	}
}

// Behaviour: new.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		running bool
		model   string
		want    string
	}{
		{false, "", "New conversation."},
		{true, "", "New conversation. What is still running ends in the old one; /stop ends it now."},
		{false, "opus", "New conversation, with the model opus."},
	} {
		for _, name := range []string{"/new", "/reset"} {
			inBubble(t, func(t *testing.T, d *hostCommands) {
				if d.choose(t, domain.Overrides{Model: test.model}); test.running {
					d.run(t)
				}
				if got, err := textOf(d.registry().Run(t.Context(), d.call(name, chat.Authorised))); err != nil || got != test.want {
					t.Errorf("%s, %+v: %q, %v", name, test, got, err)
				}
			})
		}
	}
}

// Behaviour: directive-alone, prompt-events, command-transcript.
func TestSettings(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.talk(t, "settings", chat.Owner,
			"/think", "/think high", "/think", "/thinking off", "/t hihg", "/think high please", "/think default",
			"/fast", "/fast on", "/fast", "/fast maybe", "/fast off", "/fast default",
			"/verbose", "/v full", "/verbose loud", "/verbose reset",
			"/reasoning", "/reason on", "/reasoning stream", "/reasoning off",
			"/elevated", "/elevated on", "/elevated full", "/elevated off", "/elevated default",
			"/exec", "/exec deny", "/elevated", "/exec sandbox", "/exec full",
			"/usage tokens", "/usage weekly",
			"/send", "/send off", "/send on", "/send inherit", "/send maybe",
			"/activation", "/activation always",
		)
		want := domain.Overrides{Permission: "bypassPermissions", Reasoning: "off", Usage: "tokens"}
		if diff := cmp.Diff(want, d.chosen(t)); diff != "" {
			t.Error(diff)
		}
		checkNotes(t, d, "Thinking effort switched to high.", "Thinking effort switched to off.", "Thinking effort switched to Claude's choice.",
			"Permission mode switched to acceptEdits.", "Permission mode switched to bypassPermissions.", "Permission mode switched to default.",
			"Permission mode switched to dontAsk.", "Permission mode switched to bypassPermissions.")
	})
}

// The answer to a choice says if the model does not support it.
// Behaviour: think-off, fast.
func TestWhatAModelCannotDo(t *testing.T) {
	t.Parallel()
	listed := []agent.Abilities{
		{Names: [2]string{"default", "claude-sonnet-5-5"}},
		{Names: [2]string{"sonnet", "claude-sonnet-5-5"}},
		{Names: [2]string{"opus", "claude-opus-4-8"}, ThinkingOff: true, Fast: true},
	}
	for name, test := range map[string]struct {
		model  string
		models []agent.Abilities
		lacks  bool
	}{
		"nothing is told":      {},
		"it cannot":            {models: listed, lacks: true},
		"it can":               {model: "opus", models: listed},
		"by its full name":     {model: "claude-opus-4-8", models: listed},
		"it cannot, in full":   {model: "claude-sonnet-5-5", models: listed, lacks: true},
		"another one is asked": {model: "claude-opus-9", models: listed},
	} {
		for text, lack := range map[string]string{"/think off": "always thinks", "/fast on": "has no fast mode", "/think low": "never", "/fast off": "never"} {
			inBubble(t, func(t *testing.T, d *hostCommands) {
				d.inventory.Models = test.models
				d.choose(t, domain.Overrides{Model: test.model})
				got, err := textOf(d.registry().Run(t.Context(), d.call(text, chat.Authorised)))
				if err != nil || strings.Contains(got, lack) != (test.lacks && lack != "never") || strings.Count(got, ".") != 1+strings.Count(got, "sonnet-5-5") {
					t.Errorf("%s, %s: %q, %v", name, text, got, err)
				}
			})
		}
	}
}

// /status says whether Claude Code uses a chosen fast mode, if it has reported that.
// Behaviour: fast.
func TestStatusShowsFastMode(t *testing.T) {
	t.Parallel()
	for said, want := range map[[3]string]string{
		{"off", "off", "x"}:               "",
		{"on", "", ""}:                    "\n- fast mode on\n",
		{"on", "on", ""}:                  "\n- fast mode on\n",
		{"on", "off", ""}:                 "\n- fast mode on, but this model has none\n",
		{"on", "off", "disabled_by`_env"}: "\n- fast mode on, but Claude Code does not use it: `` disabled_by`_env ``\n",
		{"on", "cooldown", ""}:            "\n- fast mode on, but paused: too many requests\n",
	} {
		inBubble(t, func(t *testing.T, d *hostCommands) {
			d.speed, d.slowed = said[1], said[2]
			d.choose(t, domain.Overrides{Fast: said[0]})
			got, err := textOf(d.registry().Run(t.Context(), d.call("/status", chat.Authorised)))
			if err != nil || strings.Contains(got, "fast mode") != (want != "") || !strings.Contains(got, want) {
				t.Errorf("%q: %q, %v", said, got, err)
			}
		})
	}
}

// checkNotes checks which notes the agent gets.
func checkNotes(t *testing.T, d *hostCommands, want ...string) {
	t.Helper()
	d.write(t, domain.TurnLane, message("and?"))
	var texts []string
	for _, n := range d.claim(t, domain.TurnLane).Notes {
		texts = append(texts, n.Text)
		if n.Kind != domain.NoteEvent || !n.At.Equal(received) || n.Count != 1 {
			t.Errorf("%+v", n)
		}
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

// Behaviour: group-activation.
func TestActivationInAGroup(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		var said []string
		for _, text := range []string{"/activation", "/activation always", "/activation sometimes", "/activation default"} {
			c := d.call(text, chat.Owner)
			c.Caller.Kind = chat.Group
			got, err := textOf(d.registry().Run(t.Context(), c))
			if err != nil {
				t.Error(err)
			}
			said = append(said, got)
		}
		golden(t, "activation", strings.Join(said, "\n\n"))
	})
}

// Behaviour: prompt-events, model.
func TestModel(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.talk(t, "model", chat.Authorised, "/model", "/models", "/model opus", "/model FAST", "/models", "/model gpt-5", "/model opus please", "/model --help", "/model default")
		if chosen := d.chosen(t); chosen != (domain.Overrides{}) {
			t.Errorf("%+v", chosen)
		}
		checkNotes(t, d, "Model switched to opus.", "Model switched to fast.", "Model switched to sonnet.")
	})
}

// Behaviour: queue-command.
func TestQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.talk(t, "queue", chat.Authorised,
			"/queue", "/queue collect", "/queue followup debounce:2s cap:5 drop:old", "/queue cap:7", "/queue", "/queue collect cap:0", "/queue sometimes", "/queue collect please",
			"/queue default", "/queue reset")
		if chosen := d.chosen(t); chosen != (domain.Overrides{}) {
			t.Errorf("%+v", chosen)
		}
	})
}

// Behaviour: status.
func TestStatus(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.session = domain.Session{Key: "telegram:7", CreatedAt: now}
		d.talk(t, "status_fresh", chat.Authorised, "/status")
		d.session = used()
		d.run(t)
		d.write(t, domain.TurnLane, message("and"), message("then"))
		time.Sleep(time.Until(now))
		d.talk(t, "status_running", chat.Owner, "/status")
		if err := d.store.SetLabel(t.Context(), "telegram:7", "holidays"); err != nil {
			t.Fatal(err)
		}
		d.choose(t, domain.Overrides{Model: "opus", Effort: "high", Send: "deny", Queue: domain.QueueOverrides{Mode: domain.Collect}})
		d.talk(t, "status_chosen", chat.Owner, "/status")
	})
}

// Behaviour: session-usage, usage.
func TestUsage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		use := func(day, model string, turns int64) {
			u := domain.Usage{Turns: turns, InputTokens: 10 * turns, CacheTokens: 1000 * turns, OutputTokens: 5 * turns, CostMicros: 2000 * turns}
			if err := d.store.RecordUsage(t.Context(), "s", "c", domain.TurnFigures{Day: day, Model: model, Usage: u}); err != nil {
				t.Fatal(err)
			}
		}
		d.session = used()
		use("2026-03-08", "claude-haiku-4-5", 1) // more than a week ago
		use("2026-03-09", "claude-haiku-4-5", 1)
		use("2026-03-14", "claude-sonnet-5", 20)
		use("2026-03-15", "claude-sonnet-5", 3)
		use("2026-03-15", "", 1)
		d.talk(t, "usage_owner", chat.Owner, "/usage")
		d.talk(t, "usage_authorised", chat.Authorised, "/usage")
	})
}

// Behaviour: system-prompt, whoami.
func TestContextAndWhoami(t *testing.T) {
	t.Parallel()
	d := &hostCommands{session: used()}
	d.talk(t, "context", chat.Authorised, "/context")
	d.talk(t, "whoami", chat.Other, "/whoami", "/id")
}

// Behaviour: tools-list.
func TestTools(t *testing.T) {
	t.Parallel()
	d := &hostCommands{}
	d.talk(t, "tools_unknown", chat.Authorised, "/tools")
	d.inventory = claude.Inventory{
		Tools: []string{"Read", "Bash", "mcp__clawhost__message", "mcp__github__get_issue", "mcp__git_hub__list", "mcp__github__odd__name"},
		Servers: []agent.ServerStatus{
			{Name: "slow", State: "pending"},
			{Name: "github", State: "connected"},
			{Name: "git_hub", State: "connected"},
			{Name: "broken", State: "failed", Error: "ENOENT: no `program`"},
			{Name: "none", State: "connected"},
		},
	}
	d.talk(t, "tools", chat.Owner, "/tools")
	d.talk(t, "tools_authorised", chat.Authorised, "/tools")
}

// Behaviour: session-label, session.
func TestSession(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.session = used()
		d.session.Title = "a `title` of\nsomebody"
		d.talk(t, "session", chat.Authorised, "/session", "/session label Summer\tholidays", "/session", "/session label -", "/session label",
			"/session label "+strings.Repeat("ü", 65), "/session label "+strings.Repeat("ü", 64), "/session rename it")
		d.session = domain.Session{Key: "discord:group:9:thread:1", Kind: chat.Group, ClaudeSession: "6d1c2a3e", ForkOf: "parent", CreatedAt: now}
		if err := d.store.SetLabel(t.Context(), "telegram:7", ""); err != nil {
			t.Fatal(err)
		}
		d.choose(t, domain.Overrides{
			Model: "opus", Queue: domain.QueueOverrides{Mode: domain.Collect, Debounce: ptr(time.Second), Cap: 3},
		})
		d.talk(t, "session_forked", chat.Authorised, "/session")
	})
}

// Behaviour: people.
func TestPeople(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.config = []string{"telegram:1", "telegram:7"}
		for _, p := range []domain.Pairing{
			{Code: "ABCDEFGH", Channel: "telegram", User: "55", Name: "Eve `*hi*`"},
			{Code: "HGFEDCBA", Channel: "telegram", User: "56", Name: "Mallory"},
			{Code: "SAMESAME", Channel: "telegram", User: "57", Name: "One"},
			{Code: "SAMESAME", Channel: "discord", User: "58", Name: "Two"},
		} {
			p.Chat, p.CreatedAt, p.ExpiresAt = chat.ID(p.User), time.Now(), now.Add(time.Hour)
			item := domain.OutboxItem{To: chat.Address{Channel: p.Channel, Chat: p.Chat}, Text: p.Code}
			if created, err := d.store.RequestPairing(t.Context(), p, 10, time.Time{}, item); err != nil || !created {
				t.Fatal(created, err)
			}
			storetest.Sent(t, d.store, p.Channel)
			time.Sleep(time.Second)
		}
		d.talk(t, "people", chat.Owner,
			"/allowlist", "/allowlist add 99", "/allowlist add discord 42", "/allowlist list", "/allowlist remove 99", "/allowlist remove 99", "/allowlist remove 7",
			"/allowlist add nowhere 1", "/allowlist add", "/allowlist drop 99",
			"/approve", "/approve abcd-efgh", "/approve ABCDEFGH", "/approve nonsense", "/approve SAMESAME", "/approve discord SAMESAME",
			"/deny HGFEDCBA", "/deny", "/deny HGFEDCBA", "/allowlist")
		if diff := cmp.Diff([]string{
			"Welcome, Eve `*hi*`. You may write to me now; /help lists what else you can do.",
			"Welcome, Two. You may write to me now; /help lists what else you can do.",
		}, append(storetest.Texts(t, d.store, "telegram"), storetest.Texts(t, d.store, "discord")...)); diff != "" {
			t.Error(diff)
		}
		c := d.call("/approve", chat.Owner)
		c.Caller.Kind = chat.Group
		if got, err := textOf(d.registry().Run(t.Context(), c)); err != nil || got != "/approve needs a code. In a direct chat it lists the pairing requests." {
			t.Errorf("in a group: %q, %v", got, err)
		}
	})
}

// Behaviour: speech, speech-command.
func TestSpeech(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.speech = true
		d.talk(t, "speech", chat.Authorised,
			"/tts", "/tts inbound", "/tts status", "/tts STATUS", "/tts on", "/tts tagged", "/session", "/tts sometimes", "/tts off", "/tts off please", "/tts default", "/tts status")
		d.speech = false
		want := "I answer in writing only: the config names no command that speaks (`media.speak`)."
		if got, err := textOf(d.registry().Run(t.Context(), d.call("/tts always", chat.Authorised))); err != nil || got != want || d.chosen(t).TTS != "" {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	})
}

// Behaviour: restart.
func TestRestartHappensOnce(t *testing.T) {
	t.Parallel()
	d := &hostCommands{}
	r := d.registry()
	if got, err := textOf(r.Run(t.Context(), d.call("/restart", chat.Owner))); err != nil || d.restarted != 1 || got != "Restarting. What runs is finished first, or resumed afterwards." {
		t.Errorf("%q, %v, restarted %d times", got, err, d.restarted)
	}
	again := d.call("/restart", chat.Owner)
	again.At = now.Add(-4 * time.Hour) // before the host was started
	if got, err := textOf(r.Run(t.Context(), again)); err != nil || d.restarted != 1 || got != "Restarted." {
		t.Errorf("%q, %v, restarted %d times", got, err, d.restarted)
	}
	d.cannotRestart = errors.New("config.hcl:1:1: Unknown argument")
	want := "I did not restart, because I could not start again:\n\n```\nconfig.hcl:1:1: Unknown argument\n```"
	if got, err := textOf(r.Run(t.Context(), d.call("/restart", chat.Owner))); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	r = command.New(nil, nil, command.Host{})
	if got, err := textOf(r.Run(t.Context(), d.call("/restart", chat.Owner))); err != nil || got != "The host cannot restart itself here. Ask its operator to do it." {
		t.Errorf("%q, %v", got, err)
	}
}

// Behaviour: config-command.
func TestConfigAndDebug(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.session = used()
		d.choose(t, domain.Overrides{Effort: "max"})
		d.talk(t, "config", chat.Owner, "/config")
		for i := range 12 {
			for n := range max(1, i) {
				session, id := fmt.Sprintf("telegram:%d", i), chat.EventID(fmt.Sprint(i, n))
				in := domain.Inbound{EventID: id, Session: session, Lane: domain.TurnLane, Message: message("hi")}
				if _, err := d.store.Accept(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			if i == 0 {
				d.claim(t, domain.TurnLane)
			}
		}
		got, err := textOf(d.registry().Run(t.Context(), d.call("/debug", chat.Owner)))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"goroutines: ", "MiB in use", "claude: 1 running, 2 idle", "lanes with work: 12",
			"`telegram:0` turn: running, 0 waiting, attempt 1", "`telegram:6` turn: waiting, 6 waiting",
			"last errors: 1", "a turn failed: session=s",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("/debug says %q, want %q in it", got, want)
			}
		}
		if n := strings.Count(got, "\n  - "); n != 10 {
			t.Errorf("%d lanes are shown", n)
		}
	})
}

// No command hides that the store failed, and none tells the chat why.
func TestFailuresAreForTheLog(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.session = used()
		if err := d.store.Close(); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"/think high", "/model opus", "/queue", "/queue collect", "/grants", "/send off", "/session label x", "/export", "/usage",
			"/status", "/stop",
			"/allowlist", "/allowlist add 9", "/approve ABCDEFGH", "/deny ABCDEFGH", "/debug",
		} {
			got, err := textOf(d.registry().Run(t.Context(), d.call(text, chat.Owner)))
			if err == nil || strings.Contains(got, "store") || !strings.Contains(got, "failed. The host's log says why.") {
				t.Errorf("%s: %q, %v", text, got, err)
			}
		}
	})
}

// An open question is shown where it is asked, and to an owner in a direct chat wherever it is.
// Behaviour: log.
func TestStatusShowsOpenQuestions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.ask(t, "telegram:group:-1", "BBBBB", `{"about":"tool","tool":"Write"}`)
		time.Sleep(30 * time.Second)
		d.ask(t, "telegram:7", "AAAAA", `{"about":"tool","tool":"Bash"}`)
		for authority, want := range map[chat.Authority]int{chat.Owner: 2, chat.Authorised: 1} {
			answer, err := textOf(d.registry().Run(t.Context(), d.call("/status", authority)))
			if err != nil || strings.Count(answer, "waits for an answer to") != want || !strings.Contains(answer, "`AAAAA`: `Bash`, asked 1m") {
				t.Errorf("%v gets %q, %v; want %d questions", authority, answer, err, want)
			}
		}
	})
}

// Behaviour: subagents.
func TestSubagents(t *testing.T) {
	t.Parallel()
	d := &hostCommands{}
	d.talk(t, "subagents", chat.Authorised, "/subagents", "/subagents stop 4", "/subagents stop 5", "/subagents stop 6", "/subagents stop", "/subagents stop all", "/subagents halt")
}

// Behaviour: directive-permission.
func TestPermissionModesByTheirWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/elevated off": "default", "/elevated ask": "default", "/elevated on": "acceptEdits", "/elevated full": "bypassPermissions",
		"/exec deny": "dontAsk", "/exec ask": "default", "/exec full": "bypassPermissions",
	} {
		inBubble(t, func(t *testing.T, d *hostCommands) {
			if _, err := textOf(d.registry().Run(t.Context(), d.call(text, chat.Owner))); err != nil || d.chosen(t).Permission != want {
				t.Errorf("%s: %q, want %q, %v", text, d.chosen(t).Permission, want, err)
			}
		})
	}
	for _, text := range []string{"/exec host=gateway", "/exec host=gateway security=full", "/elevated host"} {
		inBubble(t, func(t *testing.T, d *hostCommands) {
			got, err := textOf(d.registry().Run(t.Context(), d.call(text, chat.Owner)))
			if err != nil || !strings.Contains(got, "Options: ") || d.chosen(t).Permission != "" {
				t.Errorf("%s: %q, chose %q, %v", text, got, d.chosen(t).Permission, err)
			}
		})
	}
}
