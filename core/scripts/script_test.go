package scripts_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// patience is how long a script waits for what must happen. No script is quicker or slower by it.
const patience = 30 * time.Second

// binaries are the packages whose binaries the scripts run, by their names.
var binaries = map[string]string{
	"clawhost":          "core/cmd/clawhost",
	"claude":            "core/cmd/claude-stub",
	"clawhost-telegram": "plugins/telegram",
	"clawhost-discord":  "plugins/discord",
	"clawhost-whatsapp": "plugins/whatsapp",
	"clawhost-webchat":  "plugins/webchat",
	"clawhost-memory":   "plugins/memory",
	"clawhost-webhook":  "plugins/webhook",
	"clawhost-schedule": "plugins/schedule",
	"clawhost-dice":     "examples/dice",
	"clawhost-clock":    "examples/clock",
	"clawhost-todo":     "examples/todo",
	"clawhost-moody":    "core/scripts/testdata/plugins/moody",
	"clawhost-witness":  "core/scripts/testdata/plugins/witness",
	"clawhost-artist":   "core/scripts/testdata/plugins/artist",
	"clawhost-desk":     "core/scripts/testdata/plugins/desk",
	"clawhost-thief":    "core/scripts/testdata/plugins/thief",
	"clawhost-diary":    "core/scripts/testdata/plugins/diary",
	"clawhost-clerk":    "core/scripts/testdata/plugins/clerk",
}

// hold is the shell script with which a turn's tool waits for its script: "hold NAME" ends when "release NAME" is done.
const hold = `#!/bin/sh
mkfifo -m 600 "$HOME/$1.gate" 2>/dev/null
exec cat "$HOME/$1.gate"
`

// root is the folder of the binaries and of the scripts' folders. Its path is short, because the path of a host's socket is limited.
var root string

func TestMain(m *testing.M) { os.Exit(inRoot(m)) }

func inRoot(m *testing.M) int {
	var err error
	if root, err = os.MkdirTemp("", "s"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	return m.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	run(t, "testdata/script")
}

// run runs the scripts of a folder.
func run(t *testing.T, scripts string) {
	t.Helper()
	lookAtSources(t)
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		WorkdirRoot:         root,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(env, bin) },
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"host": on((*stage).runHost), "log": taking("log PATTERN", (*stage).awaitLog), "logged": taking("logged COUNT PATTERN", (*stage).logged), "clawhost": on((*stage).clawhost),
			"capture": taking("capture NAME PATTERN", (*stage).capture), "delivered": taking("delivered", (*stage).delivered),
			"pairs": taking("pairs LABEL", (*stage).pairs),

			"says": on((*stage).says), "expect": on((*stage).expect), "shows": on((*stage).shows),
			"presses": taking("presses WHO CHAT PATTERN BUTTON", (*stage).presses), "edits": taking("edits WHO CHAT PATTERN TEXT", (*stage).edits),
			"types":   taking("types WHO CHAT", (*stage).types),
			"reacted": taking("reacted CHAT PATTERN EMOJI", (*stage).reacted), "sends": taking("sends CHAT NAME FILE", (*stage).sends),
			"replies": taking("replies CHAT PATTERN TO", (*stage).replies), "id": taking("id NAME CHAT PATTERN", (*stage).id),
			"silent": on((*stage).silent), "taken": taking("taken", (*stage).taken),

			"topics": taking("topics GROUP", (*stage).addTopics), "menu": taking("menu PATTERN", (*stage).menu),
			"upgrades": taking("upgrades WHO den hall", (*stage).upgrade),
			"drafts":   taking("drafts CHAT PATTERN", (*stage).drafts), "stops": taking("stops CHAT", (*stage).stops),
			"picks": on((*stage).picks), "expires": taking("expires", (*stage).expires),
			"calls": on((*stage).calls), "refuse": taking("refuse METHOD TIMES STATUS TEXT", (*stage).refuse),
			"stalls": taking("stalls METHOD", (*stage).stalls), "resumes": taking("resumes METHOD", (*stage).resumes),
			"blocks": taking("blocks WHO", inPrivate((*telegramtest.User).Block)), "unblocks": taking("unblocks WHO", inPrivate((*telegramtest.User).Unblock)),

			"scrape": on((*stage).scrape), "watched": taking("watched", (*stage).watched),
			"trace": on((*stage).trace), "exported": taking("exported", (*stage).exported),

			"posts": on((*stage).posts), "pluginkill": taking("pluginkill LABEL", (*stage).killPlugin),

			"served": taking("served LABEL N", (*stage).served), "disk": taking("disk FOLDER SIZE", (*stage).disk),

			"prompt": on((*stage).prompt), "told": taking("told PATTERN", (*stage).handed),
			"unpacks": taking("unpacks BUNDLE FOLDER", (*stage).unpacks), "lacks": on((*stage).lacks),
			"held": taking("held NAME", (*stage).held), "release": taking("release NAME", (*stage).release),
		},
	})
}

// build makes the binaries, once for all tests, and returns their folder. They are small and plain, as the shipped ones are.
var build = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(root, "bin")
	args := []string{"build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", bin + string(filepath.Separator)}
	for _, of := range binaries {
		args = append(args, "github.com/clawhost/clawhost/"+of)
	}
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	for name, of := range binaries {
		if err := os.Rename(filepath.Join(bin, filepath.Base(of)), filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("name a binary: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "hold"), []byte(hold), 0o700); err != nil {
		return "", fmt.Errorf("write hold: %w", err)
	}
	return bin, nil
})

// lookAtSources opens the folders of all sources: the test must run again when one of them has changed, and for that the go
// command only knows what a test itself opens.
func lookAtSources(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"core", "examples", "plugins", "proto", "sdk"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// stage is what a script has: a host, its bots and the people who write to them. One goroutine uses it.
type stage struct {
	t    testing.TB
	ctx  context.Context
	dir  string
	bin  string
	bots map[string]*bot // by the labels of their plugins
	host *host
	log  *journal.Journal // of all processes of the host

	collector *collector // of traces; nil: none

	gates map[string]*os.File
	disks map[string]bool // folders that are disks of their own
	read  map[string]bool // the ids of the prompts that the script has seen
}

// tokens are the bots' tokens, by the labels of their plugins.
var tokens = map[string]string{
	"telegram": "4242:scripts-loopback-token-0123456789abcdefgh",
	"work":     "4343:scripts-loopback-token-0123456789abcdefgh",
}

// variables are how the names begin of what a script's environment has of a bot.
var variables = map[string]string{"telegram": "BOT", "work": "WORK"}

// setUp prepares a script's stage, which ends with the script.
func setUp(env *testscript.Env, bin string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	env.Defer(cancel)
	s := &stage{
		t: env.T().(testing.TB), ctx: ctx, dir: env.WorkDir, bin: bin,
		bots: map[string]*bot{}, log: &journal.Journal{}, gates: map[string]*os.File{}, disks: map[string]bool{}, read: map[string]bool{},
	}
	for label, token := range tokens {
		t, err := newTelegram(token, map[string]string{"telegram": "claw_bot", "work": "work_bot"}[label])
		if err != nil {
			return err
		}
		env.Defer(t.Close)
		s.bots[label] = &bot{t, map[chat]int64{}}
		env.Setenv(variables[label]+"_URL", t.URL())
		env.Setenv(variables[label]+"_TOKEN", token)
	}
	d := newDiscord(s.log)
	env.Defer(d.Stop)
	s.bots["discord"] = &bot{d, map[chat]int64{}}
	env.Setenv("DISCORD_URL", d.URL())
	env.Setenv("DISCORD_TOKEN", d.Token())
	env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("TZ", "UTC")

	if err := configure(env.WorkDir); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(env.WorkDir, "config.hcl"))
	if err != nil {
		return err
	}
	if bytes.Contains(config, []byte(`plugin "whatsapp"`)) { // Few scripts do, and people's keys take their time.
		w := newWhatsApp()
		env.Defer(w.Stop)
		s.bots["whatsapp"] = &bot{w, map[chat]int64{}}
		env.Setenv("WHATSAPP_URL", w.URL())
		env.Setenv("WHATSAPP_ROOT", w.Root())
	}
	if bytes.Contains(config, []byte(`"ADMIN_ADDRESS"`)) {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		env.Setenv("ADMIN_ADDRESS", address)
	}
	if bytes.Contains(config, []byte(`"OTLP_URL"`)) {
		s.collector = newCollector()
		env.Defer(s.collector.server.Close)
		env.Setenv("OTLP_URL", s.collector.server.URL+"/v1/traces")
	}
	w := newWebchat(s.log)
	env.Defer(w.Stop)
	s.bots["webchat"] = &bot{w, map[chat]int64{}}
	env.Values[(*stage)(nil)] = s
	env.Defer(s.end)
	return nil
}

// end ends what the script has left, and shows what happened where it failed.
func (s *stage) end() {
	for _, gate := range s.gates {
		_ = gate.Close()
	}
	if s.host != nil {
		if err := s.host.stop(); err != nil {
			s.t.Error(err)
		}
	}
	s.removeDisks()
	if !s.t.Failed() {
		return
	}
	for label, b := range s.bots {
		if said := b.conversations(); said != "" {
			s.t.Logf("the chats of the bot %q:\n%s", label, said)
		}
	}
	for _, p := range s.prompts() {
		s.t.Logf("claude read:\n%s", p.text)
	}
	s.t.Logf("the host's log:\n%s", s.log)
}

// on makes a command of a script.
func on(run func(s *stage, ts *testscript.TestScript, neg bool, args []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(run(ts.Value((*stage)(nil)).(*stage), ts, neg, args))
	}
}

// taking makes a command of a script that is never refused and has as many arguments as its usage names.
func taking(usage string, run func(s *stage, ts *testscript.TestScript, args []string) error) func(*testscript.TestScript, bool, []string) {
	want := len(strings.Fields(usage)) - 1
	return on(func(s *stage, ts *testscript.TestScript, neg bool, args []string) error {
		if neg || len(args) != want {
			return errors.New("usage: " + usage)
		}
		return run(s, ts, args)
	})
}

// await is the context of one wait.
func (s *stage) await() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, patience)
}

// poll waits for what only looking again can tell, because it happens in a foreign process.
func poll(ctx context.Context, happened func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := happened(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
