package core_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// A file is there when its turn begins, whatever ends during it: the plugin that fetches it, the host, or nothing but the
// stream.
// Behaviour: file-fetch.
func TestCrashWhileAFileIsFetched(t *testing.T) {
	t.Parallel()
	path := regexp.MustCompile(`<media:file (\S+)`)
	for name, end := range map[string]func(*fileWorld){
		"the plugin": func(w *fileWorld) {
			for _, pid := range childrenOf(w.host.Process.Pid, "clawhost-telegram") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		},
		"the host": func(w *fileWorld) {
			_ = w.host.Process.Kill()
			_ = w.host.Wait()
			w.start("")
		},
		"the stream": func(*fileWorld) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFileWorld(t, "")
			content := strings.Repeat("All that is in the file.\n", 10_000)
			w.network.Fail("download", 1, telegramtest.HangAfter())
			w.anna.Post(telegramtest.Post{Media: "document", FileName: "long.txt", File: []byte(content), Text: "what is in it?"})
			w.start("")
			if _, err := w.network.AwaitCalls(w.ctx, "download", 1); err != nil {
				t.Fatal(err)
			}
			end(w)
			textsOf := func(messages []telegramtest.Message) (texts []string) {
				for _, m := range messages {
					if m.From != w.anna.ID && strings.Contains(m.Text, "what is in it?") {
						texts = append(texts, m.Text)
					}
				}
				return texts
			}
			if _, err := w.network.AwaitMessages(w.ctx, w.anna.ID, func(m []telegramtest.Message) bool { return len(textsOf(m)) > 0 }); err != nil {
				t.Fatal(err)
			}
			w.anna.Send(w.anna.ID, `[[stub {"answer": "Really."}]] nothing more?`) // behind what the turn before might have sent
			read := textsOf(w.await("Really."))
			found := path.FindStringSubmatch(strings.Join(read, "\n"))
			if len(read) != 1 || found == nil {
				t.Fatalf("claude read %q", read)
			}
			if got, err := os.ReadFile(found[1]); err != nil || string(got) != content {
				t.Errorf("the file has %d bytes, %v; want %d", len(got), err, len(content))
			}
			if kept, err := filepath.Glob(filepath.Join(w.dir, "state", "media", "telegram", "f????????????????????????????????")); err != nil || len(kept) != 1 {
				t.Errorf("the host has %q, %v", kept, err)
			}
		})
	}
}
