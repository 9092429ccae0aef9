package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// The config of the load, with a prefix of the answers.
const loaded = `state_dir = "state"
agent {
  workspace = "workspace"
}
claude {
  command       = "claude-stub"
  max_processes = 4
}
inbound {
  debounce = "0"
}
queue {
  mode = "followup"
}
reply {
  prefix = %q
}
access {
  dm = "open"
}
plugin "echo" {
  config {
    listen = %q
  }
}
`

// A thousand reloads, of which every other one changes what answers look like, while people write: each message is answered once, in
// order, no turn is interrupted, and neither the plugin nor a process is restarted.
// Behaviour: reload.
func TestReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	if _, err := plugins(); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, next := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "next.hcl")
	write := func(n int) {
		if err := os.WriteFile(next, fmt.Appendf(nil, loaded, fmt.Sprintf("%d:", n/2%2), address), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
	}
	write(0)

	out := &journal.Journal{}
	host := exec.CommandContext(context.WithoutCancel(t.Context()), "clawhost", "-config", path)
	host.Dir, host.Stdout, host.Stderr = dir, out, out
	host.Env = append(os.Environ(), "HOME="+dir)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = host.Wait() }()
	t.Cleanup(func() {
		_ = host.Process.Kill()
		<-ended
	})
	client := admin.NewClient(filepath.Join(dir, "state", "clawhost.sock"))

	const people, reloads = 4, 1000
	var writing sync.WaitGroup
	errs, over := make(chan error, people), make(chan struct{})
	started := make(chan struct{}, people)
	for n := range people {
		writing.Go(func() { errs <- converse(fmt.Sprint("person", n), address, started, over) })
	}
	for range people {
		<-started // the first answer has come
	}
	for n := range reloads {
		write(n)
		if _, err := client.Reload(t.Context()); err != nil {
			close(over)
			t.Fatalf("reload %d: %v\n%s", n, err, out)
		}
	}
	close(over)
	writing.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	log := out.String()
	for _, bad := range []string{"interrupted", "tried again", "was cut off", "[ERROR]"} {
		if strings.Contains(log, bad) {
			t.Errorf("the log has %q", bad)
		}
	}
	if n := strings.Count(log, "the plugin is running"); n != 1 {
		t.Errorf("the plugin was started %d times", n)
	}
	if n := strings.Count(log, "the config has changed"); n != reloads/2-1 {
		t.Errorf("%d reloads have changed the config, want %d", n, reloads/2-1)
	}
	if t.Failed() {
		t.Log(log)
	}
}

// converse writes messages, each after the answer to the one before, and checks that each is answered once, in order, until the load is
// over. It says when the first answer has come.
func converse(name, address string, started chan<- struct{}, over <-chan struct{}) error {
	c := &client{chat: name, address: address}
	var first sync.Once
	begin := func() { first.Do(func() { started <- struct{}{} }) }
	defer begin()
	if err := c.connect(); err != nil {
		return err
	}
	defer c.leave()
	for n := 0; ; n++ {
		want := fmt.Sprintf("message %d of %s", n, name)
		if err := c.say(fmt.Sprint(n), want); err != nil {
			return fmt.Errorf("%s, message %d: %w", name, n, err)
		}
		for answered := false; !answered; {
			var line string
			if len(c.kept) > 0 {
				line, c.kept = c.kept[0], c.kept[1:]
			} else {
				var err error
				if line, err = c.next(); err != nil {
					return fmt.Errorf("%s, answer %d: %w", name, n, err)
				}
			}
			text, is := answer(line)
			switch {
			case !is:
			case strings.HasSuffix(text, want):
				answered = true
			default:
				return errors.New(name + " got " + text + ", want the answer to " + want)
			}
		}
		begin()
		select {
		case <-over:
			return nil
		default:
		}
	}
}
