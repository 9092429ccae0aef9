package agent_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

var update = flag.Bool("update", false, "write the golden files")

// write makes a file in a folder and returns its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// changedAt gives a file the time of a change, in hours before a moment that is long ago.
func changedAt(t testing.TB, path string, hours int) {
	t.Helper()
	when := time.Date(2024, 3, 15, 24-hours, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// plain is an agent without anything that its operator adds.
func plain(workspace string) agent.Identity {
	return agent.Identity{Name: "Claw", Workspace: workspace, Timezone: time.Local}
}

// The sessions that the tests show.
var (
	direct = agent.Session{Channel: "telegram", Kind: chat.Direct}
	group  = agent.Session{Channel: "telegram", Kind: chat.Group}
	always = agent.Session{Channel: "discord", Kind: chat.Group, Always: true, MayBeSilent: true}
	owners = agent.Session{Channel: "webchat", Kind: chat.Direct, Owner: true, Files: true, Replies: true, Speech: true, Model: "sonnet"}
)

// Behaviour: system-prompt.
func TestPrompt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := agent.Identity{
		Name:      "Anna's helper",
		Persona:   "\nBe kind.\nBe right.\n\n",
		Owners:    []string{"anna", "telegram:123", " "},
		Workspace: dir,
		ContextFiles: []string{
			write(t, dir, "AGENTS.md", "# Rules\n\nNone.\n"),
			write(t, dir, "notes/b.md", "A </file> in it, and \xff."),
			write(t, dir, "empty.md", " \n"),
		},
		Timezone: time.FixedZone("Europe/Berlin", 3600),
		Aliases:  map[string]string{"smart": "opus", "fast": "haiku"},
	}
	write(t, dir, "skills/deploy/SKILL.md", skill("deploy", "Puts the site on the server."))
	write(t, dir, "skills/bake/SKILL.md", skill("bake", "Bakes bread."))
	none := t.TempDir()
	for name, tt := range map[string]struct {
		id      agent.Identity
		session agent.Session
	}{
		"direct":        {plain(none), direct},
		"group_mention": {plain(none), group},
		"group_silent":  {plain(none), always},
		"full":          {full, owners},
	} {
		prompter := agent.NewPrompter(tt.id)
		got := prompter.Prompt(tt.session)
		if len(got.Problems) > 0 {
			t.Errorf("%s: problems %v", name, got.Problems)
		}
		if diff := cmp.Diff(got, prompter.Prompt(tt.session)); diff != "" {
			t.Errorf("%s: not the same twice: %s", name, diff)
		}
		if diff := cmp.Diff(got, agent.NewPrompter(tt.id).Prompt(tt.session)); diff != "" {
			t.Errorf("%s: not the same by another Prompter: %s", name, diff)
		}
		sum := len(got.Sections) - 1 // the lines between them
		for _, section := range got.Sections {
			sum += section.Bytes
		}
		if sum != len(got.Text) {
			t.Errorf("%s: the sections have %d bytes, the prompt %d", name, sum, len(got.Text))
		}
		golden := filepath.Join("testdata", name+".golden")
		text := strings.NewReplacer(tt.id.Workspace, "/home/anna/clawhost", runtime.GOOS+"/"+runtime.GOARCH, "linux/amd64").Replace(got.Text)
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Behaviour: system-prompt.
func TestPromptIsSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := plain(dir)
	if err := agent.Bootstrap(dir); err != nil {
		t.Fatal(err)
	}
	id.Owners, id.Persona = []string{"anna"}, strings.Repeat("x", 1000)
	id.ContextFiles = []string{filepath.Join(dir, "AGENTS.md")}
	for name, session := range map[string]agent.Session{"direct": direct, "owner": owners, "group": group, "group, always, silent": always} {
		ours := 0
		for _, section := range agent.NewPrompter(id).Prompt(session).Sections {
			if section.Name != "persona" {
				ours += section.Bytes
			}
		}
		t.Logf("%s: %d bytes", name, ours)
		if ours > 6500 {
			t.Errorf("%s: %d bytes without the operator's words, want at most 6500", name, ours)
		}
	}
}

// Behaviour: group-prompt, memory-section, silent, visible.
func TestSections(t *testing.T) {
	t.Parallel()
	id := plain(t.TempDir())
	id.Owners = []string{"anna"}
	tests := []struct {
		name     string
		session  agent.Session
		has, not []string
	}{
		{
			"direct", direct,
			[]string{"Always answer", "MEMORY.md and memory/ in your working folder hold what your owner has told you in private", "anybody can take one"},
			[]string{"NO_REPLY", "# This group", "model:", "The tool manual"},
		},
		{"owner's direct chat", owners, []string{"search both", "In this chat you talk with your owner", "model: sonnet", "The tool manual"}, []string{"Do not look there"}},
		{
			"group of owners",
			agent.Session{Kind: chat.Group, Owner: true},
			[]string{"Do not look there", "This chat is a group."},
			[]string{"search both", "you talk with your owner"},
		},
		{"group, addressed", group, []string{"This chat is a group. Many", "addressed to you", "Always answer"}, []string{"NO_REPLY", "every message"}},
		{"group, always", always, []string{"every message", "NO_REPLY"}, []string{"Always answer", "addressed to you"}},
		{"broadcast channel", agent.Session{Kind: chat.Broadcast, MayBeSilent: true}, []string{"# This channel", "NO_REPLY"}, []string{"# This group"}},
		{"no kind", agent.Session{Owner: true}, []string{"Do not look there", "Always answer"}, []string{"NO_REPLY"}},
		{"direct, silent", agent.Session{Kind: chat.Direct, MayBeSilent: true}, []string{"NO_REPLY"}, []string{"Always answer", "# This group"}},
		{"by the tool alone", agent.Session{Kind: chat.Direct, ByTool: true}, []string{"your answer is private"}, []string{"is sent to the chat"}},
		{
			"hostile names",
			agent.Session{Kind: chat.Group, Channel: "a\nb", Model: "[m]\n"},
			[]string{"channel: a b\n", "model: (m);"},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := agent.NewPrompter(id).Prompt(tt.session).Text
			for _, want := range tt.has {
				if !strings.Contains(text, want) {
					t.Errorf("the prompt has no %q", want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(text, not) {
					t.Errorf("the prompt has %q", not)
				}
			}
			if n := strings.Count(text, "\n# Who you are"); n != 0 {
				t.Errorf("a name begins a section")
			}
		})
	}
}

// What the agent may trust must be what a text cannot hold.
func TestPromptExplainsTheMarksOfTheEnvelope(t *testing.T) {
	t.Parallel()
	prompt := agent.NewPrompter(plain(t.TempDir())).Prompt(direct).Text
	for _, mark := range []string{
		"[Telegram John +5m Fri 2024-03-15 14:30 EST id:57]", "[Telegram Family +5m Fri 2024-03-15 14:30 EST id:58]", "[Context]", "[/Context]",
		"<media:image>", "[Forwarded from Anna]", "[Late: …]", "[Replying to Anna]", "[/Replying]", "[Cut: …]", "[from: Anna]", "System: [time]",
		"[Chat messages since your last reply - for context]", "[Current message - respond to this]",
		"[Queued messages while agent was busy]", "Queued #1 (from Anna)", "[Queue overflow]",
	} {
		if !strings.Contains(prompt, mark) {
			t.Errorf("the agent is not told of %s", mark)
		}
		if got := envelope.Neutralise(mark); got != `\`+mark {
			t.Errorf("a text may hold %s", got)
		}
	}
}

// A file is read when it changed, and only then.
// Behaviour: context-files.
func TestFilesAreReadWhenTheyChange(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	for name, folder := range map[string]string{"within the workspace": dir, "outside": outside} {
		path := write(t, folder, "notes.md", "one")
		changedAt(t, path, 9)
		id := plain(dir)
		id.ContextFiles = []string{path}
		prompter := agent.NewPrompter(id)
		shows := func(want, when string) {
			t.Helper()
			if text := prompter.Prompt(direct).Text; !strings.Contains(text, "\n"+want+"\n</file>") {
				t.Errorf("%s: %s: %q is not shown", name, when, want)
			}
		}
		shows("one", "at first")

		write(t, folder, "notes.md", "two")
		changedAt(t, path, 9)
		shows("one", "the file looks the same")
		changedAt(t, path, 8)
		shows("two", "another time")
		write(t, folder, "notes.md", "three")
		changedAt(t, path, 8)
		shows("three", "another size")
		changedAt(t, write(t, folder, "new.md", "THREE"), 8)
		if err := os.Rename(filepath.Join(folder, "new.md"), path); err != nil {
			t.Fatal(err)
		}
		shows("THREE", "another file")

		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got := prompter.Prompt(direct)
			if strings.Contains(got.Text, "THREE") || len(got.Problems) != 1 || !errors.Is(got.Problems[0], fs.ErrNotExist) {
				t.Errorf("%s: removed: problems %v", name, got.Problems)
			}
		}
		write(t, folder, "notes.md", "four")
		shows("four", "there again")
		// What was written a moment ago may be written again within the same tick of the clock.
		soon := time.Now()
		for _, text := range []string{"five", "FIVE"} {
			write(t, folder, "notes.md", text)
			if err := os.Chtimes(path, soon, soon); err != nil {
				t.Fatal(err)
			}
			shows(text, "two changes at a time")
		}
	}
}

// A prompt that is kept is the one that another Prompter builds.
func TestPromptsOfManySessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := plain(dir)
	id.ContextFiles = []string{write(t, dir, "notes.md", "one")}
	prompter := agent.NewPrompter(id)
	for hours := range 2 {
		changedAt(t, write(t, dir, "notes.md", fmt.Sprint("notes ", hours)), 9-hours)
		for range 2 {
			for n := range 20 {
				s := agent.Session{Channel: fmt.Sprint("group ", n), Kind: chat.Group}
				if got, want := prompter.Prompt(s).Text, agent.NewPrompter(id).Prompt(s).Text; got != want {
					t.Fatalf("%s: got\n%s\nwant\n%s", s.Channel, got, want)
				}
			}
		}
	}
}

func TestPrompterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := plain(dir)
	id.ContextFiles = []string{write(t, dir, "notes.md", "one")}
	prompter := agent.NewPrompter(id)
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("s%d-%d", i, j)
				write(t, dir, "skills/"+name+"/SKILL.md", skill(name, "Works."))
				if text := prompter.Prompt(direct).Text; !strings.Contains(text, "- "+name+": Works.") {
					t.Errorf("%s is not listed", name)
				}
				prompter.SkillList()
			}
		})
	}
	workers.Wait()
}

// Behaviour: context-files.
func TestContextFilesAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := plain(dir)
	without := agent.NewPrompter(id).Prompt(direct).Text
	id.ContextFiles = []string{
		write(t, dir, "a.md", "a"+strings.Repeat("é", 32<<10)),
		write(t, dir, "b.md", strings.Repeat("b", 20<<10)),
		write(t, dir, "c.md", strings.Repeat("c", 20<<10)),
		write(t, dir, "d.md", "d"),
	}
	got := agent.NewPrompter(id).Prompt(direct)
	if most := len(without) + 64<<10 + 200; len(got.Text) > most || len(got.Text) < most-400 {
		t.Errorf("%d bytes, want about %d", len(got.Text), most)
	}
	if !utf8.ValidString(got.Text) {
		t.Error("cut within a character")
	}
	for name, want := range map[string]int{"a.md": 1, "b.md": 1, "c.md": 1, "d.md": 0} {
		if n := strings.Count(got.Text, "<file name=\""+name+"\">"); n != want {
			t.Errorf("%s is shown %d times, want %d", name, n, want)
		}
	}
	for i, want := range []string{"/a.md: it is too long: only its beginning is shown", "/c.md: it is too long: only its beginning is shown", "/d.md: the files before it are too long: it is not shown"} {
		if i >= len(got.Problems) || !strings.HasSuffix(got.Problems[i].Error(), want) {
			t.Errorf("problem %d of %v, want %q", i, got.Problems, want)
		}
	}
}

// Behaviour: context-files.
func TestContextFilesThatAreNotShown(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	secret := write(t, outside, "secret", "outside")
	target := write(t, dir, "target.md", "linked within")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(name, to string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out, in := link("out.md", secret), link("in.md", filepath.Base(target))
	missing := filepath.Join(dir, "missing.md")

	id := plain(dir)
	id.ContextFiles = []string{missing, out, pipe, dir, in}
	got := agent.NewPrompter(id).Prompt(direct)
	if strings.Contains(got.Text, "outside") {
		t.Error("a link out of the workspace was followed")
	}
	if !strings.Contains(got.Text, "<file name=\"in.md\">\nlinked within\n</file>") {
		t.Error("a link within the workspace was not followed")
	}
	if len(got.Problems) != 4 {
		t.Fatalf("problems %v, want 4", got.Problems)
	}
	for i, path := range []string{missing, out, pipe, dir} {
		if !strings.Contains(got.Problems[i].Error(), path) {
			t.Errorf("problem %q does not name %s", got.Problems[i], path)
		}
		if missing := errors.Is(got.Problems[i], fs.ErrNotExist); missing != (i == 0) {
			t.Errorf("problem %q: missing is %v", got.Problems[i], missing)
		}
	}

	// What the operator names outside of the workspace is shown, and a workspace that is not there yet is no failure.
	id = plain(filepath.Join(dir, "later"))
	id.ContextFiles = []string{secret, filepath.Join(dir, "later", "AGENTS.md")}
	got = agent.NewPrompter(id).Prompt(direct)
	if !strings.Contains(got.Text, "outside") || len(got.Problems) != 1 || !errors.Is(got.Problems[0], fs.ErrNotExist) {
		t.Errorf("problems %v, and the named file is shown: %v", got.Problems, strings.Contains(got.Text, "outside"))
	}
}
