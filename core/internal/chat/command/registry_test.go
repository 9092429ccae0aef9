package command_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/sdk/chat"
)

func splitCommand(text string) (name, args string, found bool) {
	return strings.Cut(strings.TrimPrefix(text, "/"), " ")
}

func answer(string) (string, error) { return "ran", nil }

// Behaviour: command-refused.
func TestAuthority(t *testing.T) {
	t.Parallel()
	d := &hostCommands{
		plugins: []chat.CommandSpec{{Name: "secret", Usage: "/secret", Summary: "for owners", MinAuthority: chat.Owner}}, plugin: answering(t, answer),
	}
	r := d.registry()
	for authority, want := range map[chat.Authority]string{chat.Other: "You may not use /secret here. Ask the owner of this bot.", chat.Authorised: "You may not use /secret here. Ask the owner of this bot.", chat.Owner: "ran"} {
		if got, err := textOf(r.Run(t.Context(), d.call("/secret", authority))); err != nil || got != want {
			t.Errorf("%v: %q, %v", authority, got, err)
		}
	}
	for _, owners := range []string{"elevated", "exec", "send", "activation", "allowlist", "approve", "deny", "restart", "mcp", "config", "debug", "export_session"} {
		if got, err := textOf(r.Run(t.Context(), d.call("/"+owners, chat.Authorised))); err != nil || !strings.HasPrefix(got, "You may not use /"+owners) {
			t.Errorf("/%s answers whoever is authorised: %q, %v", owners, got, err)
		}
	}
	if d.restarted > 0 {
		t.Error("a refused command restarts the host")
	}
}

// Behaviour: config-command.
func TestCommandsThatTellOfTheHostAnswerInDirectChatsOnly(t *testing.T) {
	t.Parallel()
	d := &hostCommands{}
	for _, name := range []string{"config", "debug", "allowlist"} {
		c := d.call("/"+name, chat.Owner)
		c.Caller.Kind = chat.Group
		if got, err := textOf(d.registry().Run(t.Context(), c)); err != nil || got != "/"+name+" answers in a direct chat only. Write it to me there." {
			t.Errorf("/%s in a group: %q, %v", name, got, err)
		}
	}
}

// A command that cannot be done says why, and what to do.
func TestCommandsThatCannotBeDone(t *testing.T) {
	t.Parallel()
	d := &hostCommands{}
	for name, want := range map[string]string{
		"roll":    "/roll is not available at the moment: its plugin is not running. Try again in a minute.",
		"compact": "/compact works only as a message of its own. Send it again by itself.",
	} {
		if got, err := textOf(d.registry().Run(t.Context(), d.call("/"+name, chat.Owner))); err != nil || got != want {
			t.Errorf("/%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// Behaviour: command-plugins.
func TestPluginCommands(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		plugin := answering(t, func(name string) (string, error) {
			if name == "roll" {
				return "", errors.New("token=hunter2")
			}
			return "ran", nil
		})
		d.plugins, d.plugin = []chat.CommandSpec{{Name: "roll"}, {Name: "stop"}, {Name: "id"}}, plugin
		r := d.registry()
		got, err := textOf(r.Run(t.Context(), d.call("/roll", chat.Owner)))
		if err == nil || strings.Contains(got, "hunter2") || got != "/roll failed. The host's log says why." {
			t.Errorf("a command that fails: %q, %v", got, err)
		}
		for _, name := range []string{"stop", "id"} {
			if got, err := textOf(r.Run(t.Context(), d.call("/"+name, chat.Owner))); err != nil || got == "ran" {
				t.Errorf("a plugin took /%s of the host's: %q, %v", name, got, err)
			}
			if r.Lane(name, chat.Owner) != domain.ControlLane {
				t.Errorf("/%s is the plugin's", name)
			}
		}
		for _, name := range []string{"roll", "btw", "side"} { // a stop must not wait for what Claude, or a plugin, takes its time for
			if r.Lane(name, chat.Owner) == domain.ControlLane {
				t.Errorf("others wait for /%s", name)
			}
		}
		if got, err := (&hostCommands{}).registry().Run(t.Context(), d.call("/roll", chat.Owner)); err != nil || got.Text != wording.CommandUnavailable("roll") {
			t.Errorf("with the plugin down: %q, %v", got.Text, err)
		}
	})
}

// Behaviour: command-names.
func TestParse(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{plugins: []chat.CommandSpec{{Name: "roll"}}, skills: skills}).registry()
	for text, want := range map[string]*domain.Command{
		"/status":             {Name: "status"},
		" /Status \n":         {Name: "status"},
		"/roll 2d6\nmore":     {Name: "roll", Args: "2d6\nmore"},
		"/help\tme":           {Name: "help", Args: "me"},
		"/export-session":     {Name: "export_session"},
		"/Export_Session":     {Name: "export_session"},
		"/export":             {Name: "export_session"},
		"/id":                 {Name: "whoami"},
		"/abort":              {Name: "stop"},
		"/compact the plan":   {Name: "compact", Args: "the plan"},
		"/usage":              {Name: "usage"},
		"/usage of this":      {Name: "usage", Args: "of this"},
		"/usage full":         nil,
		"/usage tokens hello": nil,
		"/think":              nil,
		"/think high":         nil,
		"/t high":             nil,
		"/queue":              nil,
		"/model opus hello":   nil,
		"/deploy":             nil,
		"/clear":              nil,
		"/statusx":            nil,
		"/etc/passwd":         nil,
		"/":                   nil,
		"status":              nil,
		"say /status":         nil,
		"/status@bot":         nil,
	} {
		got, ok := r.Parse(text)
		if ok != (want != nil) {
			t.Errorf("%q is %+v, %v, want %+v", text, got, ok, want)
		} else if ok {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
		}
	}
}

func TestSeveralCommandsOfAMessageAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		c := d.call("/think high", chat.Authorised)
		c.And = []domain.Command{{Name: "verbose", Args: "loud"}, {Name: "elevated", Args: "full"}, {Name: "queue", Args: "collect cap:5"}}
		got, err := textOf(d.registry().Run(t.Context(), c))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "several", got)
		want := domain.Overrides{Effort: "high", Queue: domain.QueueOverrides{Mode: domain.Collect, Cap: 5}}
		if diff := cmp.Diff(want, d.chosen(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAFailureLeavesTheOtherAnswers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		if err := d.store.Close(); err != nil {
			t.Fatal(err)
		}
		c := d.call("/think high", chat.Authorised)
		c.And = []domain.Command{{Name: "verbose"}}
		got, err := textOf(d.registry().Run(t.Context(), c))
		if err == nil || !strings.HasPrefix(got, "/think failed. The host's log says why.\n\nTool display is off.") {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// Behaviour: help.
func TestHelpAndCommands(t *testing.T) {
	t.Parallel()
	d := &hostCommands{skills: skills, plugins: []chat.CommandSpec{{Name: "roll", Usage: "/roll 2d6", Summary: "Throw\ndice `now`", MinAuthority: chat.Authorised}}}
	for name, authority := range map[string]chat.Authority{"other": chat.Other, "authorised": chat.Authorised, "owner": chat.Owner} {
		d.talk(t, "help_"+name, authority, "/help", "/commands", "/commands 2", "/commands 3", "/commands 99", "/commands x")
	}
}

// Every command that a person may use is on one page of /commands, and no other.
// Behaviour: help.
func TestCommandsListsAllOnce(t *testing.T) {
	t.Parallel()
	d := &hostCommands{skills: skills}
	r := d.registry()
	for _, authority := range []chat.Authority{chat.Other, chat.Authorised, chat.Owner} {
		var pages strings.Builder
		for page := 1; page < 10; page++ {
			text, err := textOf(r.Run(t.Context(), d.call("/commands "+string(rune('0'+page)), authority)))
			if err != nil {
				t.Fatal(err)
			}
			pages.WriteString(text + "\n")
		}
		for _, c := range r.List("main", authority) {
			if n := strings.Count(pages.String(), "\n- `"+c.Usage+"`: "); n != 1 {
				t.Errorf("%v: /%s is listed %d times", authority, c.Name, n)
			}
		}
		if n := strings.Count(pages.String(), "\n- "); n != len(r.List("main", authority)) {
			t.Errorf("%v: %d lines for %d commands", authority, n, len(r.List("main", authority)))
		}
	}
}

// Behaviour: command-menus.
func TestMenu(t *testing.T) {
	t.Parallel()
	d := &hostCommands{skills: append(skills, agent.Skill{Name: strings.Repeat("x", 32), Description: strings.Repeat("long ", 60)}), plugins: []chat.CommandSpec{
		{Name: "roll", Usage: "/roll 2d6", Summary: "Throw\ndice", MinAuthority: chat.Authorised},
		{Name: "secret", MinAuthority: chat.Owner},
	}}
	menu := d.registry().Menu()
	var names []string
	for _, c := range menu {
		names = append(names, c.Name)
		if len(c.Name) > 32 || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("no network takes the name %q", c.Name)
		}
		if n := len([]rune(c.Summary)); n == 0 || n > 100 || strings.Contains(c.Summary, "\n") {
			t.Errorf("/%s has a summary of %d characters: %q", c.Name, n, c.Summary)
		}
		if c.MinAuthority > chat.Authorised || !strings.HasPrefix(c.Usage, "/") {
			t.Errorf("%+v", c)
		}
		if _, ok := d.registry().Parse("/" + c.Name); !ok {
			_, skill := d.registry().Skill("main", "/"+c.Name)
			_, _, commands := d.registry().Directives("/"+c.Name, true, chat.Authorised)
			if !skill && len(commands) != 1 {
				t.Errorf("/%s is in the menu and does nothing", c.Name)
			}
		}
	}
	want := []string{
		"new", "stop", "compact", "btw", "jobs", "session", "think", "model", "verbose", "reasoning", "queue", "status", "usage", "context", "whoami", "help", "commands",
		"roll", "deploy", "release_notes", strings.Repeat("x", 32),
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

var skills = []agent.Skill{
	{Name: "deploy", Description: "Put the site online.", Path: "skills/deploy/SKILL.md"},
	{Name: "release-notes", Description: "Write the notes of a release.", Path: "skills/release-notes/SKILL.md"},
	{Name: "status", Description: "Hidden by a command.", Path: "skills/status/SKILL.md"},
	{Name: "id", Description: "Hidden by an alias.", Path: "skills/id/SKILL.md"},
}

// Behaviour: skill-command.
func TestSkill(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Long-", 12)
	more := append(slices.Clone(skills), agent.Skill{Name: "PDF-Forms", Path: "skills/PDF-Forms/SKILL.md"}, agent.Skill{Name: long, Path: "p"})
	r := (&hostCommands{skills: more, plugins: []chat.CommandSpec{{Name: "roll"}}}).registry()
	for text, want := range map[string]string{
		"/deploy":                   `Use the skill "deploy" (skills/deploy/SKILL.md).`,
		" /Deploy the docs\nnow ":   "Use the skill \"deploy\" (skills/deploy/SKILL.md): the docs\nnow",
		"/release-notes 1.2":        `Use the skill "release-notes" (skills/release-notes/SKILL.md): 1.2`,
		"/release_notes 1.2":        `Use the skill "release-notes" (skills/release-notes/SKILL.md): 1.2`,
		"/pdf_forms a.pdf":          `Use the skill "PDF-Forms" (skills/PDF-Forms/SKILL.md): a.pdf`,
		"/" + long:                  `Use the skill "` + long + `" (p).`,
		"/status":                   "",
		"/id":                       "",
		"/deploys":                  "",
		"deploy":                    "",
		"please /deploy":            "",
		"/deploy/../../etc/passwd":  "",
		"/roll":                     "",
		"/release notes of the day": "",
	} {
		if got, ok := r.Skill("main", text); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, ok, want)
		}
	}
}

// Behaviour: command-plugins.
func TestClashes(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	clashes := r.Clashes([]command.PluginCommands{
		{Plugin: "dice", Names: []string{"roll", "status", "d6"}},
		{Plugin: "casino", Names: []string{"bet", "roll", "id", "export-session", "t"}},
	})
	var said []string
	for _, c := range clashes {
		said = append(said, c.String())
	}
	want := []string{
		"the command /status of the plugin \"dice\" is one of the host's own; `overrides = [\"status\"]` in the plugin's block replaces the host's",
		`the plugins "dice" and "casino" both have the command /roll`,
		`the command /id of the plugin "casino" is one of the host's own`,
		"the command /export-session of the plugin \"casino\" is one of the host's own; `overrides = [\"export_session\"]` in the plugin's block replaces the host's",
		`the command /t of the plugin "casino" is one of the host's own`,
	}
	if diff := cmp.Diff(want, said, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if clashes := r.Clashes([]command.PluginCommands{{Plugin: "a", Names: []string{"roll"}}, {Plugin: "b", Names: []string{"bet"}}}); len(clashes) > 0 {
		t.Error(clashes)
	}
}

// A plugin's command replaces the host's where it may, with the host's authority and place.
// Behaviour: command-override.
func TestOverride(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.plugins = []chat.CommandSpec{
			{Name: "status"},
			{Name: "debug"},
			{Name: "usage"}, // a directive
			{Name: "stop"},
			{Name: "context"}, // which was not allowed
		}
		d.overrides = []string{"status", "debug", "usage", "stop"}
		d.plugin = answering(t, func(name string) (string, error) { return "the plugin's " + name, nil })
		r := d.registry()
		for text, own := range map[string]bool{"/status": false, "/debug": false, "/usage": true, "/stop": true, "/context": true} {
			got, err := textOf(r.Run(t.Context(), d.call(text, chat.Owner)))
			if err != nil || strings.HasPrefix(got, "the plugin's") == own {
				t.Errorf("%s answers %q, %v", text, got, err)
			}
			if name := strings.TrimPrefix(text, "/"); r.Lane(name, chat.Owner) == domain.ControlLane && !own {
				t.Errorf("%s is taken for one that answers at once", text)
			}
		}
		if got, err := textOf(r.Run(t.Context(), d.call("/debug", chat.Authorised))); err != nil || !strings.HasPrefix(got, "You may not use /debug") {
			t.Errorf("an owner's command answers others: %q, %v", got, err)
		}
		inGroup := d.call("/debug", chat.Owner)
		inGroup.Caller.Kind = chat.Group
		if got, err := textOf(r.Run(t.Context(), inGroup)); err != nil || !strings.Contains(got, "in a direct chat only") {
			t.Errorf("a private command answers in a group: %q, %v", got, err)
		}
		listed := 0
		for _, c := range r.List("main", chat.Owner) {
			if c.Name == "status" {
				listed++
			}
		}
		if listed != 1 {
			t.Errorf("/status is listed %d times", listed)
		}
		clashes := r.Clashes([]command.PluginCommands{
			{Plugin: "p", Names: []string{"status", "debug"}, Overrides: []string{"status", "debug"}},
			{Plugin: "q", Names: []string{"status"}, Overrides: []string{"status", "stop", "id", "whoami"}},
		})
		var said []string
		for _, c := range clashes {
			said = append(said, c.String())
		}
		want := []string{
			`the plugins "p" and "q" both have the command /status`,
			`the host has no command /stop that a plugin can replace`,
			`the host has no command /id that a plugin can replace`,
			`the plugin "q" has no command /whoami`,
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Error(diff)
		}
	})
}

// No two of the host's own commands share a name or an alias, and each says what it is for.
func TestBuiltinCommandsAreInOrder(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range (&hostCommands{}).registry().List("main", chat.Owner) {
		for _, name := range append(slices.Clone(c.Aliases), c.Name) {
			if other, taken := seen[name]; taken {
				t.Errorf("/%s is of %s and of %s", name, other, c.Name)
			}
			seen[name] = c.Name
		}
		if c.Group == "" || c.MinAuthority == 0 || c.Summary == "" || (c.Run == nil) != c.Turn || !strings.HasPrefix(strings.ReplaceAll(c.Usage, "-", "_"), "/"+c.Name) {
			t.Errorf("%+v", c)
		}
	}
}

// What is one slip away from a command gets a hint which is meant; a path, a short word or another word is a text.
// Behaviour: command-mistyped.
func TestMistyped(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for text, want := range map[string]string{
		"/stauts":         "stauts status",
		"/statu":          "statu status",
		"/statuss please": "statuss status",
		"/Modle opus":     "modle model",
		"/status":         "",
		"/stop":           "",
		"/sto":            "", // short
		"/etc":            "",
		"/home/anna":      "",
		"/weather":        "",
		"stauts":          "",
	} {
		got, ok := r.Mistyped("main", text)
		if got.Args != want || ok != (want != "") {
			t.Errorf("%q is taken for %+v, want %q", text, got, want)
		}
	}
	answer, err := textOf(r.Run(t.Context(), command.Call{Name: "?", Args: "stauts status", Caller: chat.Caller{Authority: chat.Authorised}}))
	if want := "There is no /stauts. Did you mean /status?"; answer != want || err != nil {
		t.Errorf("answered %q, %v; want %q", answer, err, want)
	}
}
