package agent_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/envelope"
)

var update = flag.Bool("update", false, "write the golden files")

// write makes a file in a folder and returns its path.
func write(t *testing.T, dir, name, text string) string {
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

func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := agent.Identity{
		Name:      "Claw",
		Persona:   "\nBe kind.\nBe right.\n\n",
		Workspace: dir,
		ContextFiles: []string{
			write(t, dir, "AGENTS.md", "# Rules\n\nNone.\n"),
			write(t, dir, "notes/b.md", "A </file> in it, and \xff."),
			write(t, dir, "empty.md", " \n"),
		},
		Timezone:    time.FixedZone("Europe/Berlin", 3600),
		MayBeSilent: true,
	}
	plain := agent.Identity{Name: "Anna's helper", Workspace: dir, Timezone: time.Local}
	for name, id := range map[string]agent.Identity{"full": full, "plain": plain} {
		got, skipped := agent.SystemPrompt(id)
		if len(skipped) > 0 {
			t.Errorf("%s: skipped %v", name, skipped)
		}
		if again, _ := agent.SystemPrompt(id); again != got {
			t.Errorf("%s: not the same twice", name)
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if ours, _ := agent.SystemPrompt(plain); len(ours) > 6<<10 {
		t.Errorf("%d bytes without the operator's words, want at most 6 KiB", len(ours))
	}
}

// What the agent is told to trust must be what a text cannot hold.
func TestMarksAreTheEnvelopes(t *testing.T) {
	t.Parallel()
	prompt, _ := agent.SystemPrompt(agent.Identity{Name: "Claw", Workspace: t.TempDir(), Timezone: time.UTC})
	for _, mark := range []string{
		"[Telegram John +5m Fri 2024-03-15 14:30 EST]", "[Telegram Family +5m Fri 2024-03-15 14:30 EST]", "[Context]", "[/Context]",
		"<media:image>", "[Forwarded from Anna]", "[Late: …]", "[Replying to Anna]", "[/Replying]", "[Cut: …]",
	} {
		if !strings.Contains(prompt, mark) {
			t.Errorf("the agent is not told of %s", mark)
		}
		if got := envelope.Neutralise(mark); got != `\`+mark {
			t.Errorf("a text may hold %s", got)
		}
	}
}

func TestContextFilesAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := agent.Identity{Name: "Claw", Workspace: dir, Timezone: time.UTC, ContextFiles: []string{
		write(t, dir, "a.md", "a"+strings.Repeat("é", 32<<10)),
		write(t, dir, "b.md", strings.Repeat("b", 20<<10)),
		write(t, dir, "c.md", strings.Repeat("c", 20<<10)),
		write(t, dir, "d.md", "d"),
	}}
	without, _ := agent.SystemPrompt(agent.Identity{Name: "Claw", Workspace: dir, Timezone: time.UTC})
	got, skipped := agent.SystemPrompt(id)
	if most := len(without) + 64<<10 + 200; len(got) > most || len(got) < most-400 {
		t.Errorf("%d bytes, want about %d", len(got), most)
	}
	if !utf8.ValidString(got) {
		t.Error("cut within a character")
	}
	for name, want := range map[string]int{"a.md": 1, "b.md": 1, "c.md": 1, "d.md": 0} {
		if n := strings.Count(got, "<file name=\""+name+"\">"); n != want {
			t.Errorf("%s is shown %d times, want %d", name, n, want)
		}
	}
	for i, want := range []string{"/a.md: it is too long: only its beginning is shown", "/c.md: it is too long: only its beginning is shown", "/d.md: the files before it are too long: it is not shown"} {
		if i >= len(skipped) || !strings.HasSuffix(skipped[i].Error(), want) {
			t.Errorf("error %d of %v, want %q", i, skipped, want)
		}
	}
}

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

	got, skipped := agent.SystemPrompt(agent.Identity{
		Name: "Claw", Workspace: dir, Timezone: time.UTC,
		ContextFiles: []string{missing, out, pipe, dir, in},
	})
	if strings.Contains(got, "outside") {
		t.Error("a link out of the workspace was followed")
	}
	if !strings.Contains(got, "<file name=\"in.md\">\nlinked within\n</file>") {
		t.Error("a link within the workspace was not followed")
	}
	if len(skipped) != 4 {
		t.Fatalf("skipped %v, want 4", skipped)
	}
	for i, path := range []string{missing, out, pipe, dir} {
		if !strings.Contains(skipped[i].Error(), path) {
			t.Errorf("error %q does not name %s", skipped[i], path)
		}
		if missing := errors.Is(skipped[i], fs.ErrNotExist); missing != (i == 0) {
			t.Errorf("error %q: missing is %v", skipped[i], missing)
		}
	}

	// What the operator names outside of the workspace is shown, and a workspace that is not there yet is no failure.
	got, skipped = agent.SystemPrompt(agent.Identity{
		Name: "Claw", Workspace: filepath.Join(dir, "later"), Timezone: time.UTC,
		ContextFiles: []string{secret, filepath.Join(dir, "later", "AGENTS.md")},
	})
	if !strings.Contains(got, "outside") || len(skipped) != 1 || !errors.Is(skipped[0], fs.ErrNotExist) {
		t.Errorf("skipped %v, and the named file is shown: %v", skipped, strings.Contains(got, "outside"))
	}
}
