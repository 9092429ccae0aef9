package core_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Backups are made of a host under load that is killed, after each kill and some while it runs. Each is restored to another folder, and
// a host that is started there must answer what was accepted before the backup began, unless it was answered by then, once and in
// order. What it sends under a key that was seen before must have the same text: a person's network drops it as a repetition.

// Behaviour: backup, restore.
func TestCrashBackup(t *testing.T) {
	t.Parallel()
	kills := 4
	if long() {
		kills = 50
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	address := freeAddress(t)
	config := func(address string) string {
		return fmt.Sprintf(`
inbound { debounce = "0" }
queue { mode = "queue" }
access { dm = "open" }
plugin "echo" {
  config { listen = %q }
}
`, address)
	}
	w := newCrashWorld(t, random, crashHost{plugin: "clawhost-echo", points: []string{"accepted", "result", "sent", "completed"}, config: config(address)})
	defer w.close(t)
	persons := []*person{}
	for i := range crashChats {
		persons = append(persons, newPerson(fmt.Sprint("chat", i), address, chatty{}))
	}
	var people sync.WaitGroup
	writing, stopWriting := context.WithCancel(t.Context())
	for _, p := range persons {
		people.Go(func() { p.talk(writing) })
	}
	defer people.Wait()
	defer func() {
		stopWriting()
		for _, p := range persons {
			p.hangUp()
		}
	}()

	running, pending, repeated := 0, 0, 0
	for n := 0; n < kills && !t.Failed(); n++ {
		w.keepUp(t, func() {
			for _, p := range persons {
				if n%killsInARow == 0 {
					p.await()
				}
				p.awaitMore(p.seen())
			}
		})
		w.kill(t)
		if n%3 == 2 { // a backup of a host that works
			if !w.running() {
				w.start(t, "")
			}
			w.pause(time.Duration(random.IntN(500)) * time.Millisecond)
			running++
		}
		p, r := restoreAndCompare(t, w, config, persons)
		pending, repeated = pending+p, repeated+r
	}
	if pending == 0 {
		t.Error("no backup had a message without an answer, so nothing was compared")
	}
	for _, p := range persons {
		for _, problem := range p.wrong {
			t.Errorf("%s: %s", p.chat, problem)
		}
	}
	w.report(t, fmt.Sprintf("%d backups, %d of them while the host ran; %d messages without an answer then, all answered once by the restored hosts",
		kills, running, pending), repeated)
}

// seen is what a person had been through when a backup began.
type seen struct {
	accepted int
	answered map[int]bool
	keys     map[string]string
}

func (p *person) seen() seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := seen{accepted: p.sent, answered: map[int]bool{}, keys: maps.Clone(p.keys)}
	for _, n := range p.answers {
		s.answered[n] = true
	}
	return s
}

// awaitMore returns when more is answered than was seen, so that the host works and messages wait.
func (p *person) awaitMore(than seen) {
	late := time.AfterFunc(drainTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wrong = append(p.wrong, "gave up waiting for another answer")
		p.changed.Broadcast()
	})
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.answers) <= len(than.answered) && len(p.wrong) == 0 {
		p.changed.Wait()
	}
}

// restoreAndCompare makes a backup of the world, restores it, and has a host answer what is left. It returns how many messages had no
// answer when the backup began, and how many answers came again.
func restoreAndCompare(t *testing.T, w *crashWorld, config func(address string) string, persons []*person) (pending, repeated int) {
	t.Helper()
	var before []seen
	for _, p := range persons {
		before = append(before, p.seen())
	}
	archive := filepath.Join(w.dir, "backup.tar.gz")
	clawhost(t, w.bin, w.dir, "backup", archive)
	var after []seen // what a running host has answered meanwhile may be answered for the backup
	for _, p := range persons {
		after = append(after, p.seen())
	}

	address := freeAddress(t)
	other := newCrashWorld(t, w.random, crashHost{plugin: w.plugin, config: config(address)})
	defer other.close(t)
	// Claude Code keeps its transcripts by the path of the workspace.
	text, err := os.ReadFile(filepath.Join(other.dir, "config.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Replace(string(text), filepath.Join(other.dir, "work"), filepath.Join(w.dir, "work"), 1)
	if err := os.WriteFile(filepath.Join(other.dir, "config.hcl"), []byte(same), 0o600); err != nil {
		t.Fatal(err)
	}
	clawhost(t, w.bin, other.dir, "restore", archive)
	other.start(t, "")
	silent, stop := context.WithCancel(t.Context())
	stop()
	var listening sync.WaitGroup
	defer listening.Wait()
	for i, p := range persons {
		again := newPerson(p.chat, address, chatty{})
		listening.Go(func() { again.talk(silent) })
		defer again.hangUp()
		open, repeats := again.catchUp(t, before[i], after[i])
		pending, repeated = pending+open, repeated+repeats
	}
	return pending, repeated
}

// catchUp waits until all that was accepted is answered, then or now, and compares the answers.
func (p *person) catchUp(t *testing.T, before, after seen) (pending, repeated int) {
	t.Helper()
	late := time.AfterFunc(drainTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wrong = append(p.wrong, fmt.Sprintf("gave up waiting; heard last: %q", p.last))
		p.changed.Broadcast()
	})
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := func() (list []int) {
		now := map[int]bool{}
		for _, n := range p.answers {
			now[n] = true
		}
		for n := 1; n <= before.accepted; n++ {
			if !after.answered[n] && !now[n] {
				list = append(list, n)
			}
		}
		return list
	}
	pending = len(missing())
	for (len(missing()) > 0 || p.conn == nil) && len(p.wrong) == 0 {
		p.changed.Wait()
	}
	if list := missing(); len(list) > 0 {
		t.Errorf("%s: messages %v of %d were accepted before the backup and not answered", p.chat, list, before.accepted)
	}
	for _, problem := range p.wrong {
		t.Errorf("%s: %s", p.chat, problem)
	}
	last := 0
	for _, n := range p.answers {
		if n <= last {
			t.Errorf("%s: message %d was answered after %d", p.chat, n, last)
		}
		last = n
	}
	for key, text := range p.keys {
		switch earlier, again := before.keys[key]; {
		case again && earlier != text:
			t.Errorf("%s: the key %s had the text %q, and now has %q", p.chat, key, earlier, text)
		case again:
			repeated++
		default:
			if n, err := numberIn(number, text); err == nil && before.answered[n] {
				t.Errorf("%s: message %d was answered before the backup, and is answered again under another key", p.chat, n)
			}
		}
	}
	return pending, repeated
}

// clawhost runs the command with the config of a folder.
func clawhost(t *testing.T, bin, dir string, args ...string) {
	t.Helper()
	command := exec.Command(filepath.Join(bin, "clawhost"), append([]string{"-config", filepath.Join(dir, "config.hcl")}, args...)...)
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("clawhost %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
