package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const overridden = `
claude {
  model = "sonnet"
}
access {
  owners = ["tg:1"]
  group "-100.5" {
    model = "opus"
  }
}
plugin "tg" {
  config {
    token = "123456:secret"
  }
}
plugin "away" {
  enabled = false
  source  = env("NOT_SET")
}
`

// load reads a text with overrides.
func loadOverridden(t *testing.T, text string, overrides ...Override) (*Config, []Misfit, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadWith(path, func(name string) (string, bool) { return "/home/u", name == "HOME" }, overrides)
}

// An override sets what the file could set, wherever that is.
func TestOverrides(t *testing.T) {
	t.Parallel()
	c, misfits, err := loadOverridden(t, overridden,
		Override{Name: "access.dm", Value: "open"}, Override{Name: `access.group."-100.5".model`, Value: `"haiku"`},
		Override{Name: "access.group.new.require_mention", Value: "false"}, Override{Name: "plugin.tg.reply.stream", Value: "off"},
		Override{Name: "outbox.attempts", Value: "3"}, Override{Name: "inbound.debounce", Value: "250ms"},
		Override{Name: "access.owners", Value: `["tg:1", "tg:2"]`}, Override{Name: "claude.model", Value: "opus"}, Override{Name: "log.levels", Value: `{ tg = "debug" }`},
	)
	if err != nil || len(misfits) > 0 {
		t.Fatalf("misfits %v, error %v", misfits, err)
	}
	got := []any{
		c.Access.DM, c.Access.Group["-100.5"].Model, *c.Access.Group["new"].RequireMention, c.For("tg").Reply.Stream, c.Reply.Stream,
		c.Outbox.Attempts, c.Inbound.Debounce, c.For("tg").Access.Owners, c.Agent.Claude.Model, c.Log.Levels["tg"],
	}
	want := []any{"open", "haiku", false, "off", "preview", 3, 250 * time.Millisecond, []string{"tg:1", "tg:2"}, "opus", "debug"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// What does not fit is left out, each with its reason, and the rest applies.
func TestMisfits(t *testing.T) {
	t.Parallel()
	c, misfits, err := loadOverridden(t, overridden,
		Override{Name: "access.dm", Value: "opne"}, Override{Name: "plugin.gone.access.dm", Value: "open"}, Override{Name: "reply.stream", Value: "off"},
		Override{Name: "queue.cap", Value: "many"}, Override{Name: "old.name", Value: "1"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if c.Reply.Stream != "off" || c.Access.DM != "pairing" || c.Queue.Cap != 20 {
		t.Errorf("stream %q, dm %q, cap %d", c.Reply.Stream, c.Access.DM, c.Queue.Cap)
	}
	got := map[string]string{}
	for _, m := range misfits {
		got[m.Name] = m.Why
	}
	for name, want := range map[string]string{
		"access.dm": `Did you mean "open"?`, "plugin.gone.access.dm": `the file has no plugin "gone"`, "queue.cap": "must be a whole number", "old.name": `no block "old"`,
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q, want %q in it", name, got[name], want)
		}
	}
	if len(misfits) != 4 {
		t.Errorf("misfits %v", misfits)
	}
	if _, _, err := loadOverridden(t, "access {\n  dm = 1\n}\n", Override{Name: "access.dm", Value: "open"}); err == nil {
		t.Error("a bad file is read because an override hides its error")
	}
}

// Each name has one spelling, and what may be a secret or does not apply at once cannot be set.
func TestCanonicalOverrides(t *testing.T) {
	t.Parallel()
	for given, want := range map[Override]string{
		{Name: "access.dm", Value: "open"}:                                 "access.dm",
		{Name: `access."dm"`, Value: "open"}:                               "access.dm",
		{Name: `access.group."-100".model`, Value: "opus"}:                 "access.group.-100.model",
		{Name: `access.group."1@g.us".model`, Value: "opus"}:               `access.group."1@g.us".model`,
		{Name: "plugin.tg.session.scope", Value: "main"}:                   "plugin.tg.session.scope",
		{Name: "agent.server.claude.model", Value: "opus"}:                 "agent.server.claude.model",
		{Name: "agent.name", Value: "Ada"}:                                 "agent.name",
		{Name: "access.dmm", Value: "open"}:                                `! Did you mean "dm"?`,
		{Name: "acess.dm", Value: "open"}:                                  `! Did you mean "access"?`,
		{Name: "access", Value: "open"}:                                    "! access is a block",
		{Name: "access.", Value: "open"}:                                   "! is no name of a setting",
		{Name: `access."dm`, Value: "open"}:                                "! quote without an end",
		{Name: "", Value: "open"}:                                          "! is no name of a setting",
		{Name: "access.group.model", Value: "opus"}:                        "! has a label",
		{Name: "route.agent", Value: "main"}:                               "! several blocks route",
		{Name: "agent.worktree_setup", Value: "sh"}:                        "! reaches files or runs a program",
		{Name: "agent.server.folders", Value: `["/"]`}:                     "! reaches files or runs a program",
		{Name: "agent.context_files", Value: `["/etc/passwd"]`}:            "! reaches files or runs a program",
		{Name: "state_dir", Value: "/tmp"}:                                 "! needs a restart",
		{Name: "claude.command", Value: "sh"}:                              "! may hold a secret",
		{Name: "claude.env", Value: "{}"}:                                  "! may hold a secret",
		{Name: "plugin.tg.source", Value: "/bin/sh"}:                       "! in the file only",
		{Name: "plugin.tg.config.token", Value: "x"}:                       "! may hold a secret",
		{Name: "plugin.tg.config.listen", Value: "x"}:                      "! in the file only",
		{Name: "agent.system_prompt", Value: `file("/etc/x")`}:             "! functions work in the file only",
		{Name: "agent.system_prompt", Value: `"${HOME}"`}:                  "! quote text",
		{Name: "access.owners", Value: `["tg:1"`}:                          "! cannot be read",
		{Name: "access.owners", Value: strings.Repeat("x", maxOverride+1)}: "! at most",
	} {
		got, err := given.Canonical()
		if complaint, refused := strings.CutPrefix(want, "! "); refused {
			if err == nil || !strings.Contains(err.Error(), complaint) {
				t.Errorf("%+v: error %v, want %q in it", given.Name, err, complaint)
			}
			continue
		}
		if err != nil || got.Name != want {
			t.Errorf("%+v: name %q, error %v; want %q", given, got.Name, err, want)
		}
	}
}

// A reload knows what has changed, what each change needs, and shows no secret.
func TestChanges(t *testing.T) {
	t.Parallel()
	was, _, err := loadOverridden(t, overridden)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`"sonnet"`, `"opus"`, "secret", "other", "access {", "state_dir = \"/x\"\naccess {\n  dm = \"open\"", `group "-100.5"`, `group "-200"`).Replace(overridden) +
		"plugin \"new\" {}\nagent \"server\" {\n  workspace = \"/srv\"\n  claude {\n    effort = \"low\"\n  }\n}\n"
	is, _, err := loadOverridden(t, strings.Replace(text, "enabled = false\n  source  = env(\"NOT_SET\")", "enabled = true\n  access {\n    dm = \"open\"\n  }", 1))
	if err != nil {
		t.Fatal(err)
	}
	got := was.Changes(is)
	want := []Change{
		{Name: `access.group."-100.5"`, Was: wholeBlock, Effect: EffectNow},
		{Name: "access.group.-200", Is: wholeBlock, Effect: EffectNow},
		{Name: "agent.server", Is: wholeBlock, Effect: EffectRestart},
		{Name: "claude.model", Was: `"sonnet"`, Is: `"opus"`, Effect: EffectNow},
		{Name: "plugin.away.access.dm", Is: `"open"`, Effect: EffectNow},
		{Name: "plugin.away.enabled", Was: "false", Is: "true", Effect: EffectPlugin, Plugin: "away"},
		{Name: "plugin.new", Is: wholeBlock, Effect: EffectPlugin, Plugin: "new"},
		{Name: "plugin.tg.config.token", Was: hidden, Is: hidden, Effect: EffectPlugin, Plugin: "tg"},
		{Name: "state_dir", Is: `"/x"`, Effect: EffectRestart},
		{Name: "access.dm", Is: `"open"`, Effect: EffectNow},
	}
	less := cmpopts.SortSlices(func(a, b Change) bool { return a.Name < b.Name })
	if diff := gocmp.Diff(want, got, less, cmpopts.IgnoreFields(Change{}, "From")); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for _, c := range got {
		if !strings.Contains(c.From, "config.hcl:") {
			t.Errorf("%s is from %q", c.Name, c.From)
		}
		if strings.Contains(c.String(), "secret") || strings.Contains(c.String(), "123456") {
			t.Errorf("the change shows a secret: %s", c)
		}
	}
	if again := is.Changes(is); len(again) > 0 {
		t.Errorf("a config differs from itself: %v", again)
	}
}

// The longest beginning of a name decides, at whole words.
func TestEffects(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Effect{
		"access.dm": EffectNow, "access.group.model": EffectNow, "claude.model": EffectNow, "claude.command": EffectRestart, "claude.mode": EffectRestart,
		"plugin.config": EffectPlugin, "media.tts": EffectNow, "media.accept": EffectRestart, "log.level": EffectNow, "log.file": EffectRestart, "agent": EffectRestart,
	} {
		if got := EffectOf(name); got != want {
			t.Errorf("a change of %s needs %q, want %q", name, got, want)
		}
	}
}
