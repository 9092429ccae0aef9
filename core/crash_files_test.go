package core_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// A file that the agent has put into its conversation's folder is sent once, also where the host is killed before it has removed
// it.
func TestCrashBetweenAnAnswerAndItsFiles(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "crash") // The control socket's path must be short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	bin := t.TempDir()
	buildForCrash(t, bin)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	network := telegramtest.New(t)
	config := fmt.Sprintf(`
state_dir  = %q
plugin_dir = %q
agent { workspace = %q }
claude { command = %q }
access { dm = "open" }
inbound { debounce = "0" }
plugin "telegram" {
  config {
    token        = env("BOT_TOKEN")
    api_endpoint = %q
  }
}
`, filepath.Join(dir, "state"), bin, filepath.Join(dir, "work"), filepath.Join(bin, "claude-stub"), network.URL())
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	start := func(point string) *exec.Cmd {
		host := exec.CommandContext(ctx, filepath.Join(bin, "clawhost"), "-config", filepath.Join(dir, "config.hcl"))
		host.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "BOT_TOKEN=" + network.Token(), "CLAWHOST_CRASH_POINT=" + point}
		host.Stdout, host.Stderr = &log, &log
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		return host
	}
	left := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "work", "outbound", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	documents := func(messages []telegramtest.Message) (names []string) {
		for _, m := range messages {
			if m.Media == "document" {
				names = append(names, m.FileName)
			}
		}
		return names
	}
	answered := func(text string) func([]telegramtest.Message) bool {
		return func(messages []telegramtest.Message) bool {
			return slices.ContainsFunc(messages, func(m telegramtest.Message) bool { return m.Text == text })
		}
	}

	// Nothing arrives before the crash, so that no send has an unknown outcome.
	network.Fail("sendMessage", 1000, telegramtest.TooManyRequests(time.Second))
	anna := network.User(1001)
	anna.Send(anna.ID, `[[stub {"tool": "echo june > $(echo $HOME/work/outbound/*)/june.txt", "answer": "Here is june."}]] and june?`)
	_ = start("1:completed").Wait()
	if ctx.Err() != nil || len(left()) != 1 || len(documents(network.Messages(anna.ID))) != 0 {
		t.Fatalf("left is %q, sent %q\n%s", left(), documents(network.Messages(anna.ID)), &log)
	}
	network.Heal()

	host := start("")
	defer func() {
		_ = host.Process.Kill()
		_ = host.Wait()
		if t.Failed() {
			t.Logf("the host's log:\n%s", &log)
		}
	}()
	if _, err := network.AwaitMessages(ctx, anna.ID, func(m []telegramtest.Message) bool { return len(documents(m)) > 0 }); err != nil {
		t.Fatal(err)
	}
	anna.Send(anna.ID, `[[stub {"answer": "That was all."}]] and july?`)
	if _, err := network.AwaitMessages(ctx, anna.ID, answered("That was all.")); err != nil {
		t.Fatal(err)
	}
	anna.Send(anna.ID, `[[stub {"answer": "Really."}]] nothing more?`) // behind what the answer before might have sent
	messages, err := network.AwaitMessages(ctx, anna.ID, answered("Really."))
	if err != nil {
		t.Fatal(err)
	}
	if got := documents(messages); len(got) != 1 || got[0] != "june.txt" {
		t.Errorf("sent are %q", got)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(left()) > 0 && ctx.Err() == nil { // nothing tells when the host has looked
		<-tick.C
	}
	if len(left()) > 0 {
		t.Errorf("left are %q", left())
	}
}
