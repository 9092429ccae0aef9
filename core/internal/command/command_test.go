package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// desk is a store and a dispatcher in memory.
type desk struct {
	running bool
	waiting int
	slow    bool // a stop that does not come to its end in time
	order   []string
	before  []time.Time // what is told to end
}

func (d *desk) Clear(_ context.Context, _ string, _ store.Lane, before time.Time) (int, error) {
	d.before = append(d.before, before)
	d.order = append(d.order, "clear")
	dropped := d.waiting
	d.waiting = 0
	return dropped, nil
}

func (d *desk) Stop(_ context.Context, _ string, before time.Time) (bool, error) {
	d.before = append(d.before, before)
	d.order = append(d.order, "stop")
	if d.slow {
		return true, context.DeadlineExceeded
	}
	was := d.running
	d.running = false
	return was, nil
}

func (d *desk) Running(string) (time.Time, bool) { return time.Now().Add(-90 * time.Second), d.running }

func (d *desk) registry(plugins ...command.Command) *command.Registry {
	return command.New(command.Builtin(d, d, command.Host{
		Version: "v1", Started: time.Now().Add(-3 * time.Hour),
		Waiting:  func(context.Context, string) (int, error) { return d.waiting, nil },
		Channels: func() []string { return []string{"telegram: connected"} },
	}), func() []command.Command { return plugins })
}

// received is when the commands came.
var received = time.Date(2024, 3, 15, 14, 30, 0, 0, time.UTC)

func call(name string, authority chat.Authority) command.Call {
	return command.Call{
		Name: name, At: received, Caller: chat.Caller{Session: "s", Authority: authority},
		Session: store.Session{Key: "s", ClaudeSession: "old", CreatedAt: time.Now().Add(-time.Hour), ContextTokens: 50, ContextWindow: 200},
	}
}

func TestStopSaysOnlyWhatIsTrue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		desk desk
		want string
	}{
		"a turn":                {desk{running: true}, "Stopped."},
		"nothing":               {desk{}, "Nothing is running."},
		"a turn and one behind": {desk{running: true, waiting: 1}, "Stopped. One waiting message was dropped."},
		"a turn and many":       {desk{running: true, waiting: 3}, "Stopped. 3 waiting messages were dropped."},
		"only waiting ones":     {desk{waiting: 2}, "Nothing was running. 2 waiting messages were dropped."},
		"a deaf turn":           {desk{running: true, slow: true}, "The running turn did not stop yet. It is being killed; send /status to see."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.desk.registry().Run(t.Context(), call("stop", chat.Authorised))
			if err != nil || got != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
			// What waits must be gone before the running turn is, or the next one begins in between.
			if diff := cmp.Diff([]string{"clear", "stop"}, test.desk.order); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]time.Time{received, received}, test.desk.before); diff != "" {
				t.Error("what came after the command is not meant by it:", diff)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for running, want := range map[bool]string{
		false: "New conversation.",
		true:  "New conversation. What is still running ends in the old one; /stop ends it now.",
	} {
		for _, name := range []string{"new", "reset"} {
			if got, err := (&desk{running: running}).registry().Run(t.Context(), call(name, chat.Owner)); err != nil || got != want {
				t.Errorf("/%s, running %v: %q, %v", name, running, got, err)
			}
		}
	}
}

func TestAuthority(t *testing.T) {
	t.Parallel()
	secret := command.Command{Name: "secret", Usage: "/secret", Summary: "for owners", Least: chat.Owner, Run: func(context.Context, command.Call) (string, error) { return "ran", nil }}
	r := (&desk{running: true}).registry(secret)
	for authority, want := range map[chat.Authority]string{chat.Other: "You may not use /secret here. Ask the owner of this bot.", chat.Authorised: "You may not use /secret here. Ask the owner of this bot.", chat.Owner: "ran"} {
		if got, err := r.Run(t.Context(), call("secret", authority)); err != nil || got != want {
			t.Errorf("%v: %q, %v", authority, got, err)
		}
	}
	help, err := r.Run(t.Context(), call("help", chat.Other))
	if err != nil || strings.Contains(help, "/stop") || strings.Contains(help, "/secret") || !strings.Contains(help, "/help") {
		t.Errorf("/help for others says %q, %v", help, err)
	}
	help, err = r.Run(t.Context(), call("help", chat.Owner))
	if err != nil || !strings.Contains(help, "`/secret`: for owners") || !strings.Contains(help, "/stop") {
		t.Errorf("/help for owners says %q, %v", help, err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	got, err := (&desk{running: true, waiting: 2}).registry().Run(t.Context(), call("status", chat.Owner))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"clawhost v1", "up 3h00m", "running for 1m", "2 waiting", "50 of 200 tokens (25%)", "you: owner", "telegram: connected"} {
		if !strings.Contains(got, want) {
			t.Errorf("/status says %q, want %q in it", got, want)
		}
	}
}

func TestPluginCommands(t *testing.T) {
	t.Parallel()
	broken := command.Command{Name: "roll", Run: func(context.Context, command.Call) (string, error) { return "", errors.New("token=hunter2") }}
	imposter := command.Command{Name: "stop", Run: func(context.Context, command.Call) (string, error) { return "imposter", nil }}
	d := &desk{}
	r := d.registry(broken, imposter)
	got, err := r.Run(t.Context(), call("roll", chat.Owner))
	if err == nil || strings.Contains(got, "hunter2") || !strings.Contains(got, "/roll failed") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := r.Run(t.Context(), call("stop", chat.Owner)); err != nil || got == "imposter" {
		t.Errorf("a plugin took a command of the host's: %q, %v", got, err)
	}
	if got, err := d.registry().Run(t.Context(), call("roll", chat.Owner)); err != nil || !strings.Contains(got, "down") {
		t.Errorf("with the plugin down: %q, %v", got, err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	r := (&desk{}).registry(command.Command{Name: "roll"})
	for text, want := range map[string]*store.Command{
		"/status":         {Name: "status"},
		" /Status \n":     {Name: "status"},
		"/roll 2d6\nmore": {Name: "roll", Args: "2d6\nmore"},
		"/help\tme":       {Name: "help", Args: "me"},
		"/clear":          nil,
		"/statusx":        nil,
		"/etc/passwd":     nil,
		"/":               nil,
		"status":          nil,
		"say /status":     nil,
		"/status@bot":     nil,
	} {
		got, ok := r.Parse(text)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q is %+v, %v, want %+v", text, got, ok, want)
		}
	}
}
