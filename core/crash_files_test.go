package core_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// fileWorld is a host that sends files, and is killed meanwhile. While it is, nothing arrives, so that no send has an unknown outcome.
type fileWorld struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	bin     string
	network *telegramtest.Server
	anna    *telegramtest.User
	log     bytes.Buffer
	host    *exec.Cmd // nil: it was killed
}

func newFileWorld(t *testing.T, more string) *fileWorld {
	t.Helper()
	bin := crashBinaries(t)
	dir, err := os.MkdirTemp("", "crash") // The control socket's path must be short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	w := &fileWorld{t: t, ctx: ctx, dir: dir, bin: bin, network: telegramtest.New(t)}
	w.anna = w.network.User(1001)
	config := fmt.Sprintf(`
state_dir  = %q
plugin_dir = %q
agent { workspace = %q }
claude { command = %q }
access {
  dm     = "open"
  groups = "open"
}
inbound { debounce = "0" }
%s
plugin "telegram" {
  config {
    token        = env("BOT_TOKEN")
    api_endpoint = %q
  }
}
`, filepath.Join(dir, "state"), bin, filepath.Join(dir, "work"), filepath.Join(bin, "claude-stub"), more, w.network.URL())
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if w.host != nil {
			_ = w.host.Process.Kill()
			_ = w.host.Wait()
		}
		if t.Failed() {
			t.Logf("the host's log:\n%s", &w.log)
		}
	})
	return w
}

func (w *fileWorld) start(point string) {
	w.t.Helper()
	w.host = exec.CommandContext(w.ctx, filepath.Join(w.bin, "clawhost"), "-config", filepath.Join(w.dir, "config.hcl"))
	w.host.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "BOT_TOKEN=" + w.network.Token(), "CLAWHOST_CRASH_POINT=" + point}
	w.host.Stdout, w.host.Stderr = &w.log, &w.log
	if err := w.host.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// crash has the host be killed at a point, once a person has written.
func (w *fileWorld) crash(point, text string) {
	w.t.Helper()
	w.network.Fail("sendMessage", 1000, telegramtest.TooManyRequests(time.Second))
	w.anna.Send(w.anna.ID, text)
	w.start(point)
	_ = w.host.Wait()
	w.host = nil
	if w.ctx.Err() != nil || len(documents(w.messages())) != 0 {
		w.t.Fatalf("sent are %q", documents(w.messages()))
	}
	w.network.Heal()
}

func (w *fileWorld) messages() []telegramtest.Message { return w.network.Messages(w.anna.ID) }

// await waits until the bot has said a text, also after a line that the answer was restarted.
func (w *fileWorld) await(text string) []telegramtest.Message {
	w.t.Helper()
	messages, err := w.network.AwaitMessages(w.ctx, w.anna.ID, func(messages []telegramtest.Message) bool {
		return slices.ContainsFunc(messages, func(m telegramtest.Message) bool { return strings.HasSuffix(m.Text, text) })
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return messages
}

// left is what is in the folders of outgoing files.
func (w *fileWorld) left() []string {
	files, err := filepath.Glob(filepath.Join(w.dir, "work", "outbound", "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// documents are the names of the files that were sent.
func documents(messages []telegramtest.Message) (names []string) {
	for _, m := range messages {
		if m.Media == "document" {
			names = append(names, m.FileName)
		}
	}
	return names
}

// A file that the agent has put into its conversation's folder is sent once, also where the host is killed before it has removed
// it.
// Behaviour: files-out-once.
func TestCrashBetweenAnAnswerAndItsFiles(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, "")
	w.crash("1:completed", `[[stub {"tool": "echo june > $(echo $HOME/work/outbound/*)/june.txt", "answer": "Here is june."}]] and june?`)
	if len(w.left()) != 1 {
		t.Fatalf("left is %q", w.left())
	}

	w.start("")
	if _, err := w.network.AwaitMessages(w.ctx, w.anna.ID, func(m []telegramtest.Message) bool { return len(documents(m)) > 0 }); err != nil {
		t.Fatal(err)
	}
	w.anna.Send(w.anna.ID, `[[stub {"answer": "That was all."}]] and july?`)
	w.await("That was all.")
	w.anna.Send(w.anna.ID, `[[stub {"answer": "Really."}]] nothing more?`) // behind what the answer before might have sent
	if got := documents(w.await("Really.")); len(got) != 1 || got[0] != "june.txt" {
		t.Errorf("sent are %q", got)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(w.left()) > 0 && w.ctx.Err() == nil { // nothing tells when the host has looked
		<-tick.C
	}
	if len(w.left()) > 0 {
		t.Errorf("left are %q", w.left())
	}
}

// A file that stands in a block is sent once, wherever the host is killed: with the block on its way and the file not, with both, or
// with the answer.
// Behaviour: files-block.
func TestCrashBetweenABlockAndItsFiles(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"1:early", "2:early", "3:early", "1:completed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newFileWorld(t, `reply { stream = "block" }`)
			chart := filepath.Join(w.dir, "work", "may.txt")
			if err := os.MkdirAll(filepath.Dir(chart), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(chart, []byte("may"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.crash(point, `[[stub {"before": "This is May:\nMEDIA:may.txt\nThat was May.", "tool": "sleep 0.5", "answer": "Done."}]] charts?`)

			w.start("")
			w.await("Done.")
			w.anna.Send(w.anna.ID, `[[stub {"answer": "Really."}]] nothing more?`) // behind all of the answer before
			var seen []string
			for _, m := range w.await("Really.") {
				if m.From != w.anna.ID {
					seen = append(seen, strings.TrimPrefix(m.Text, wording.SentAgain+"\n\n")+m.FileName)
				}
			}
			if got := documents(w.messages()); len(got) != 1 || got[0] != "may.txt" {
				t.Errorf("sent are %q: %q", got, seen)
			}
			for _, text := range []string{"This is May:", "Done."} {
				if n := len(seen) - len(slices.DeleteFunc(slices.Clone(seen), func(s string) bool { return strings.HasSuffix(s, text) })); n != 1 {
					t.Errorf("%q was sent %d times: %q", text, n, seen)
				}
			}
			if in := slices.Index(seen, "may.txt"); point != "1:early" && in != slices.Index(seen, "This is May:")+1 {
				t.Errorf("the file is not in its place: %q", seen)
			}
		})
	}
}
