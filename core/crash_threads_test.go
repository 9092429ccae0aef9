package core_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// Topics of a group work in one repository at the same time, each in a git worktree of its own, while the host is killed. No
// topic may see the work of another one. Then all worktrees are merged and removed, and the repository has all of the work.

// threadTasks are the tasks of each topic.
const threadTasks = 2

// task does one task of a topic, once however often it is run: it adds a line to the topic's own file, commits it, and shows what
// the working tree has. A killed git leaves its locks.
const task = `[[stub {"again": true, "tool": "rm -f $(git rev-parse --git-dir)/*.lock; grep -sqx task%[2]d own-%[1]d || echo task%[2]d >> own-%[1]d; git add -A; git commit -qm task > /dev/null || true; git ls-files | tr '\\n' ' '; tr '\\n' ' ' < own-%[1]d", "say": "has $OUTPUT"}]] go`

// Behaviour: worktree, worktree-merge, worktree-remove.
func TestCrashThreads(t *testing.T) {
	t.Parallel()
	topics, kills := 6, 1 // kills in each step
	if long() {
		topics, kills = 20, 12
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills in each step", seed, kills)
	network := telegramtest.New(t)
	anna := network.User(topicOwner)
	network.Forum(crashForum, "Team")
	var threads []int
	for n := range topics {
		threads = append(threads, network.Topic(anna, crashForum, fmt.Sprint("topic ", n)))
	}
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-telegram",
		config: fmt.Sprintf(`
inbound { debounce = "0" }
queue { receipt = false }
reply {
  stream  = "off"
  changes = "off"
}
access {
  owners = ["telegram:%[4]d"]
  group "%[1]d" { require_mention = false }
}
agent "app" {
  workspace = "~/app"
  worktree  = "thread"
}
route {
  chat  = "%[1]d"
  agent = "app"
}
plugin "telegram" {
  config {
    token        = %[2]q
    api_endpoint = %[3]q
  }
}
`, crashForum, network.Token(), network.URL(), topicOwner),
	})
	defer w.close(t)
	repository := filepath.Join(w.dir, "app")
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=Anna", "-c", "user.email=anna@example.com"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(repository, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repository, ".gitignore"), []byte("/inbound\n/outbound\n/memory\n/skills\n/*.md\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, ".gitconfig"), []byte("[user]\nname = Anna\nemail = anna@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-qm", "first")

	// step has something written in all topics, and the host killed, until each topic has an answer that fits.
	step := func(text func(n int) string, fits func(n int) *regexp.Regexp) {
		t.Helper()
		after := len(network.Messages(crashForum))
		for n, thread := range threads {
			anna.Post(telegramtest.Post{Chat: crashForum, Thread: thread, Text: text(n)})
		}
		for range kills {
			if !w.running() {
				w.start(t, "")
			}
			w.pause(500*time.Millisecond + time.Duration(random.IntN(2500))*time.Millisecond)
			w.killHost(t, "host")
		}
		w.keepUp(t, func() {
			ctx, cancel := context.WithTimeout(t.Context(), drainTime)
			defer cancel()
			missing := slices.Clone(threads)
			_, err := network.AwaitMessages(ctx, crashForum, func(all []telegramtest.Message) bool {
				missing = slices.DeleteFunc(missing, func(thread int) bool {
					n := slices.Index(threads, thread)
					return slices.ContainsFunc(all[after:], func(m telegramtest.Message) bool {
						return m.From == network.Bot().ID && m.Thread == thread && fits(n).MatchString(m.Text)
					})
				})
				return len(missing) == 0
			})
			if err != nil {
				t.Fatalf("the topics %v have no answer that fits, such as %s: %v; they have %q", missing, fits(0), err, said(network, after))
			}
		})
	}
	for k := 1; k <= threadTasks; k++ {
		step(func(n int) string { return fmt.Sprintf(task, n, k) }, func(n int) *regexp.Regexp {
			all := ""
			for done := 1; done <= k; done++ {
				all += fmt.Sprintf("task%d ", done)
			}
			return regexp.MustCompile(fmt.Sprintf(`(?m)^has \.gitignore own-%d %s?$`, n, all))
		})
	}
	is := func(pattern string) func(int) *regexp.Regexp {
		return func(int) *regexp.Regexp { return regexp.MustCompile(pattern) }
	}
	step(func(int) string { return "/worktree merge" }, is(`Merged \d commits? of team|main has all commits of team`))
	step(func(n int) string {
		root := filepath.Join(w.dir, ".worktrees", "app", fmt.Sprint("team-", threads[n]))
		head, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		return "/worktree remove team-" + fmt.Sprint(threads[n]) + " yes " + string(head[:8])
	}, is(`is removed\. A message|was removed already|does not exist now`))
	w.end(t)

	if left, err := os.ReadDir(filepath.Join(w.dir, ".worktrees", "app")); err != nil || len(left) > 0 {
		t.Errorf("left of the worktrees is %v, %v", left, err)
	}
	if status := git("status", "--porcelain"); status != "" {
		t.Errorf("the repository has %s", status)
	}
	for n := range threads {
		want := ""
		for k := 1; k <= threadTasks; k++ {
			want += fmt.Sprintf("task%d\n", k)
		}
		if got, err := os.ReadFile(filepath.Join(repository, fmt.Sprint("own-", n))); err != nil || string(got) != want {
			t.Errorf("topic %d has done %q, %v", n, got, err)
		}
	}
	w.report(t, fmt.Sprintf("%d topics with %d tasks each: none saw another one's work, and none of it is lost", topics, threadTasks), 0)
}

// said is what the bot has said after so many messages.
func said(network *telegramtest.Server, after int) (texts []string) {
	for _, m := range network.Messages(crashForum)[after:] {
		if m.From == network.Bot().ID {
			texts = append(texts, fmt.Sprintf("%d: %s", m.Thread, m.Text))
		}
	}
	return texts
}
