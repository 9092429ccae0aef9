package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// initialise runs `clawhost init` without a terminal.
func initialise(t *testing.T, env []string, args ...string) (out string, code int) {
	t.Helper()
	if _, err := plugins(); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("clawhost")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, append([]string{"init"}, args...)...)
	command.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// Behaviour: init.
func TestInit(t *testing.T) {
	t.Parallel()
	telegram := telegramtest.New(t)
	at := filepath.Join(t.TempDir(), "new", "config.hcl")
	token, api := "TELEGRAM_TOKEN="+telegram.Token(), "telegram.api_endpoint="+telegram.URL()
	base := []string{"-yes", "-demo", "-config", at, "-network", "telegram", "-set", api}

	// Nothing is written until everything is good.
	for _, c := range []struct {
		env  []string
		args []string
		want string
		code int
	}{
		{nil, []string{"-config", at}, "nobody can be asked here", 2},
		{nil, base, "telegram needs token: the bot's token as BotFather gives it; set the variable TELEGRAM_TOKEN", 1},
		{[]string{"TELEGRAM_TOKEN=nonsense"}, base, "this is not a bot token", 1},
		{[]string{token + "x"}, base, "error    the token is rejected by Telegram (401)", 1},
		{[]string{token}, append(base, "-network", "slack"), `there is no plugin for the network "slack"; there are webchat, telegram, `, 2},
		{[]string{token}, append(base, "-set", "discord.x=1"), "is about a network that is not chosen", 2},
		{[]string{token}, append(base, "-set", "telegram.token=1:x"), "this is a secret", 2},
		{[]string{token}, append(base, "-set", "webchat.token=x"), "this is a secret", 2},
		{[]string{token}, append(base, "-set", "telegram.colour=red"), `has no argument "colour"`, 1},
		{[]string{token}, append(base, "-owner", "anna"), `-owner "anna" is not NETWORK:ACCOUNT`, 2},
		{[]string{token}, append(base, "-json"), "init prints no JSON", 2},
	} {
		out, code := initialise(t, c.env, c.args...)
		if code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, telegram.Token()) {
			t.Errorf("init %q with %q: exit code %d, want %d and %q:\n%s", c.args, c.env, code, c.code, c.want, out)
		}
		if _, err := os.Stat(at); err == nil {
			t.Fatalf("init %q has written a config:\n%s", c.args, out)
		}
	}

	out, code := initialise(t, []string{token}, append(base, "-owner", "telegram:1001", "-name", `The "Claw" ${HOME}`)...)
	if code != 0 || !strings.Contains(out, "ok       telegram accepts the account, which is @claw_bot") {
		t.Fatalf("init: exit code %d:\n%s", code, out)
	}
	text, err := os.ReadFile(at)
	if err != nil || !bytes.Contains(text, []byte(`owners = ["webchat:local", "telegram:1001"]`)) || bytes.Contains(text, []byte(telegram.Token())) {
		t.Errorf("the config: %v\n%s", err, text)
	}
	variables, err := os.ReadFile(filepath.Join(filepath.Dir(at), "env"))
	if err != nil || string(variables) != token+"\n" {
		t.Errorf("the variables: %v\n%s", err, variables)
	}

	// A config is not replaced, but by -force, which keeps it, and the variables that others have set.
	if out, code := initialise(t, []string{token}, base...); code != 1 || !strings.Contains(out, "is there already") {
		t.Errorf("init again: exit code %d:\n%s", code, out)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(at), "env"), []byte("OTHER=1\nTELEGRAM_TOKEN=old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := initialise(t, []string{token}, append(base, "-force")...); code != 0 {
		t.Errorf("init -force: exit code %d:\n%s", code, out)
	}
	if kept, err := os.ReadFile(at + ".bak"); err != nil || !bytes.Equal(kept, text) {
		t.Errorf("the config that was there: %v\n%s", err, kept)
	}
	if variables, err = os.ReadFile(filepath.Join(filepath.Dir(at), "env")); err != nil || string(variables) != "OTHER=1\n"+token+"\n" {
		t.Errorf("the variables after -force: %v\n%s", err, variables)
	}
}

// The code makes its sender the owner only in a direct chat; wrong codes do not. Behaviour: init.
func TestInitAwaitsTheOwner(t *testing.T) {
	t.Parallel()
	telegram := telegramtest.New(t)
	anna, mallory := telegram.User(1001), telegram.User(1002)
	const group = -100123
	telegram.Group(group, "everybody")
	at := filepath.Join(t.TempDir(), "config.hcl")
	if _, err := plugins(); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "clawhost", "init", "-yes", "-demo", "-pair", "-config", at, "-network", "telegram",
		"-set", "telegram.api_endpoint="+telegram.URL())
	command.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TELEGRAM_TOKEN=" + telegram.Token()}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	code := regexp.MustCompile(`send it this code:\s+([A-Z0-9]{8})\n`)
	for buffer := make([]byte, 1<<10); !code.Match(text.Bytes()); {
		n, err := out.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			t.Fatalf("it ends without a code: %v\n%s", err, &text)
		}
	}
	typed := string(code.FindSubmatch(text.Bytes())[1])
	mallory.Send(group, typed+" @claw_bot")
	mallory.Send(mallory.ID, "ABCDEFGH")
	if _, err := telegram.AwaitMessage(t.Context(), mallory.ID, func(m telegramtest.Message) bool { return m.From == telegram.Bot().ID }); err != nil {
		t.Fatal(err)
	}
	anna.Send(anna.ID, " "+strings.ToLower(typed[:4])+"-"+typed[4:]+" ")
	if _, err := text.ReadFrom(out); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil || !strings.Contains(text.String(), "(telegram:1001) is the owner") {
		t.Errorf("%v\n%s", err, &text)
	}
	if config, err := os.ReadFile(at); err != nil || !bytes.Contains(config, []byte(`owners = ["webchat:local", "telegram:1001"]`)) {
		t.Errorf("the config: %v\n%s", err, config)
	}
}
