package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// skill returns a skill's file.
func skill(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n# How\n\n---\n", name, description)
}

// Behaviour: skills.
func TestSkillFiles(t *testing.T) {
	t.Parallel()
	deploy := func(description string) string { return "- deploy: " + description + " (skills/deploy/SKILL.md)\n" }
	tests := []struct {
		name    string
		folder  string // empty: deploy
		text    string
		listed  string
		problem string
	}{
		{name: "plain", text: skill("deploy", "Puts it online."), listed: deploy("Puts it online.")},
		{name: "more in the front matter", text: "---\nname: deploy\nlicense: MIT\ndescription: 'Puts: it'\nmeta:\n  a: [1, 2]\n---", listed: deploy("Puts: it")},
		{name: "another editor", text: "\ufeff---\r\nname: deploy\r\ndescription: Puts it\r\n---\r\nHow.", listed: deploy("Puts it")},
		{name: "several lines", text: "---\nname: deploy\ndescription: >\n  Puts it\n  online.\n\n  At once.\n---\n", listed: deploy("Puts it online. At once.")},
		{name: "hidden characters", text: "---\nname: deploy\ndescription: \"Puts\\u202e it\\n# Who you are\\0\"\n---\n", listed: deploy("Puts it # Who you are")},
		{name: "a name of 64", folder: strings.Repeat("a", 64), text: skill(strings.Repeat("a", 64), "x"), listed: "- " + strings.Repeat("a", 64) + ": x"},
		{name: "capitals", folder: "PDF-Forms", text: skill("PDF-Forms", "x"), listed: "- PDF-Forms: x"},
		{name: "300 characters", text: skill("deploy", strings.Repeat("é", 300)), listed: deploy(strings.Repeat("é", 300))},
		{
			name: "301 characters", text: skill("deploy", strings.Repeat("é", 301)), listed: deploy(strings.Repeat("é", 299) + "…"),
			problem: "its description has more than 300 characters: only its beginning is shown",
		},
		{name: "64 KiB", text: skill("deploy", "x") + strings.Repeat("x", 64<<10-len(skill("deploy", "x"))), listed: deploy("x")},
		{name: "more than 64 KiB", text: skill("deploy", "x") + strings.Repeat("x", 64<<10), problem: "it is longer than 64 KiB"},
		{name: "empty", text: "", problem: "it does not begin with a front matter"},
		{name: "no front matter", text: "# Deploy\n", problem: "it does not begin with a front matter"},
		{name: "no end", text: "---\nname: deploy\ndescription: x\n", problem: "it does not begin with a front matter"},
		{name: "no description", text: "---\nname: deploy\n---\n", problem: "its front matter has no description"},
		{name: "a blank description", text: skill("deploy", "' \u200b'"), problem: "its front matter has no description"},
		{name: "no name", text: "---\ndescription: x\n---\n", problem: "the name in its front matter is not that of its folder"},
		{name: "another name", text: skill("publish", "x"), problem: "the name in its front matter is not that of its folder"},
		{name: "no YAML", text: "---\nname: deploy\ndescription: a: b\n---\n", problem: "read front matter: "},
		{name: "a list", text: "---\nname: deploy\ndescription: [a]\n---\n", problem: "read front matter: "},
		{name: "two documents", text: "---\nname: deploy\ndescription: a\n--- # \nname: x\n---\n", problem: "read front matter: "},
		{name: "a name of 65", folder: strings.Repeat("a", 65), text: skill(strings.Repeat("a", 65), "x"), problem: "its folder's name must be"},
		{name: "blanks", folder: "PDF forms", text: skill("PDF forms", "x"), problem: "its folder's name must be"},
		{name: "a space", folder: "de ploy", text: skill("de ploy", "x"), problem: "its folder's name must be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder := tt.folder
			if folder == "" {
				folder = "deploy"
			}
			path := write(t, dir, "skills/"+folder+"/SKILL.md", tt.text)
			write(t, dir, "skills/bake/SKILL.md", skill("bake", "Bakes bread."))
			got := agent.NewPrompter(plain(dir)).Prompt(direct)
			if tt.listed != "" && !strings.Contains(got.Text, tt.listed) {
				t.Errorf("the prompt has no %q", tt.listed)
			}
			if tt.listed == "" && strings.Contains(got.Text, "/"+folder+"/") {
				t.Error("it is listed")
			}
			if !strings.Contains(got.Text, "- bake: Bakes bread. (skills/bake/SKILL.md)\n") {
				t.Error("the other skill is not listed")
			}
			switch {
			case tt.problem == "" && len(got.Problems) > 0:
				t.Errorf("problems %v", got.Problems)
			case tt.problem != "" && (len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].Error(), "skill "+path+": "+tt.problem)):
				t.Errorf("problems %v, want one with %q", got.Problems, tt.problem)
			}
		})
	}
}

func TestSkillFolders(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "leak/SKILL.md", skill("leak", "outside"))
	write(t, dir, "elsewhere/SKILL.md", skill("within", "within"))
	write(t, dir, "skills/README.md", "not a skill")
	write(t, dir, "skills/.git/config", "hidden")
	write(t, dir, "skills/empty/notes.md", "no SKILL.md")
	for name, to := range map[string]string{"leak": filepath.Join(outside, "leak"), "within": "../elsewhere"} {
		if err := os.Symlink(to, filepath.Join(dir, "skills", name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "skills/file/SKILL.md/x", "a folder")
	if err := os.MkdirAll(filepath.Join(dir, "skills/pipe"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "skills/pipe/SKILL.md"), 0o600); err != nil {
		t.Fatal(err)
	}

	changedAt(t, filepath.Join(dir, "elsewhere/SKILL.md"), 9)
	prompter := agent.NewPrompter(plain(dir))
	want := []agent.Skill{{Name: "within", Description: "within", Path: "skills/within/SKILL.md"}}
	if diff := cmp.Diff(want, prompter.SkillList()); diff != "" {
		t.Error(diff)
	}
	prompter.SkillList()[0].Name = "mine"
	if diff := cmp.Diff(want, prompter.SkillList()); diff != "" {
		t.Errorf("a caller changed the list: %s", diff)
	}
	var problems []string
	for _, err := range prompter.Prompt(direct).Problems {
		problems = append(problems, strings.TrimPrefix(err.Error(), "skill "+dir+"/skills/"))
	}
	if diff := cmp.Diff([]string{
		"empty/SKILL.md: no such file or directory",
		"file/SKILL.md: it is not a regular file",
		"leak/SKILL.md: path escapes from parent",
		"pipe/SKILL.md: it is not a regular file",
	}, problems); diff != "" {
		t.Error(diff)
	}
}

// Behaviour: skills.
func TestSkillsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 101 {
		name := fmt.Sprintf("s%03d", i)
		write(t, dir, "skills/"+name+"/SKILL.md", skill(name, "x"))
	}
	prompter := agent.NewPrompter(plain(dir))
	list, problems := prompter.SkillList(), prompter.Prompt(direct).Problems
	if len(list) != 100 || list[0].Name != "s000" || list[99].Name != "s099" {
		t.Errorf("%d skills, want the first 100", len(list))
	}
	if len(problems) != 1 || problems[0].Error() != "folder "+dir+"/skills: it has more than 100 folders: the last of them are not listed" {
		t.Errorf("problems %v", problems)
	}

	for i := range 900 {
		write(t, dir, fmt.Sprintf("skills/f%d", i), "")
	}
	list, problems = prompter.SkillList(), prompter.Prompt(direct).Problems
	if len(list) != 0 || len(problems) != 1 || problems[0].Error() != "folder "+dir+"/skills: it has more than 1000 entries: no skill is listed" {
		t.Errorf("%d skills, problems %v", len(list), problems)
	}
}

// The name of the skills is another one exactly when what is listed is.
// Behaviour: skills.
func TestSkillsAreRefreshed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prompter := agent.NewPrompter(plain(dir))
	last, text := "", ""
	step := func(what string, changes bool) {
		t.Helper()
		got := prompter.Prompt(direct)
		if changed := got.Skills != last; changed != changes {
			t.Errorf("%s: the skills' name changed: %v", what, changed)
		}
		if changed := got.Text != text; text != "" && changed != changes {
			t.Errorf("%s: the prompt changed: %v", what, changed)
		}
		last, text = got.Skills, got.Text
		if fresh := agent.NewPrompter(plain(dir)).Prompt(direct); fresh.Skills != last || fresh.Text != text {
			t.Errorf("%s: another Prompter has another prompt", what)
		}
	}
	set := func(name, description string, hours int) {
		t.Helper()
		changedAt(t, write(t, dir, "skills/"+name+"/SKILL.md", skill(name, description)), hours)
	}
	step("no workspace's skills", false)
	set("bake", "Bakes bread.", 9)
	step("the first", true)
	first := last
	step("nothing", false)
	set("deploy", "Puts it online.", 9)
	step("one more", true)
	set("deploy", "Puts it on line", 8)
	step("another description of the same length", true)
	changedAt(t, filepath.Join(dir, "skills/deploy/SKILL.md"), 7)
	step("a touch", false)
	changedAt(t, write(t, dir, "skills/deploy/SKILL.md", skill("deploy", "Puts it on line")+"More.\n"), 6)
	step("another text below", false)
	write(t, dir, "skills/deploy/notes.md", "notes")
	write(t, dir, "MEMORY.md", "notes")
	step("another file", false)
	// A folder that has not changed for a while is not listed again; what is in it is seen all the same.
	changedAt(t, filepath.Join(dir, "skills"), 9)
	step("a folder that is settled", false)
	step("a settled folder", false)
	set("deploy", "Puts it on air!", 5)
	step("another description in it", true)
	set("eat", "Eats bread.", 9)
	step("one more in it", true)
	if err := os.RemoveAll(filepath.Join(dir, "skills/eat")); err != nil {
		t.Fatal(err)
	}
	changedAt(t, filepath.Join(dir, "skills"), 8)
	step("one less in it", true)
	if err := os.RemoveAll(filepath.Join(dir, "skills/deploy")); err != nil {
		t.Fatal(err)
	}
	step("one less", true)
	if last != first {
		t.Error("the same skills have another name")
	}
	if err := os.Rename(filepath.Join(dir, "skills/bake"), filepath.Join(dir, "skills/cook")); err != nil {
		t.Fatal(err)
	}
	changedAt(t, write(t, dir, "skills/cook/SKILL.md", skill("cook", "Bakes bread.")), 9)
	step("another name", true)
	if err := os.RemoveAll(filepath.Join(dir, "skills")); err != nil {
		t.Fatal(err)
	}
	step("none", true)
	if last != "" || strings.Contains(text, "# Your skills") {
		t.Errorf("no skills are called %q", last)
	}
}

// Whatever stands in a skill's file, the prompt gets at most one line of it.
func FuzzSkill(f *testing.F) {
	for _, text := range []string{
		skill("x", "Works."), "---\n---\n", "---\nname: x\ndescription: |\n a\n # b\n---", "---\nname: &a x\ndescription: *a\n---",
		"---\n? name\n: x\ndescription: !!binary AAAA\n---", "---\n<<: [{name: x, description: y}]\n---", "\ufeff---\r\nname: x\r\n---", "---\n\xff: [\n---",
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	without := agent.NewPrompter(plain(dir)).Prompt(direct)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		write(t, dir, "skills/x/SKILL.md", text)
		prompter := agent.NewPrompter(plain(dir))
		got := prompter.Prompt(direct)
		if !utf8.ValidString(got.Text) {
			t.Error("no UTF-8")
		}
		list := prompter.SkillList()
		if (len(list) == 1) != (got.Skills != "") || len(list)+len(got.Problems) == 0 {
			t.Fatalf("skills %v under %q, problems %v", list, got.Skills, got.Problems)
		}
		if len(list) == 0 {
			if strings.Count(got.Text, "\n") != strings.Count(without.Text, "\n") {
				t.Error("it is not listed, but the prompt is another one")
			}
			return
		}
		if n := utf8.RuneCountInString(list[0].Description); n < 1 || n > 300 || strings.ContainsAny(list[0].Description, "\n\r\u2028\x00") {
			t.Errorf("description %q", list[0].Description)
		}
		if n := strings.Count(got.Text, "\n") - strings.Count(without.Text, "\n"); n != 6 {
			t.Errorf("%d lines more than without a skill", n)
		}
	})
}

// A prompt costs a look at each file.
func BenchmarkPrompt(b *testing.B) {
	for _, skills := range []int{0, 100} {
		b.Run(fmt.Sprintf("skills=%d", skills), func(b *testing.B) {
			dir := b.TempDir()
			for i := range skills {
				name := fmt.Sprintf("s%03d", i)
				changedAt(b, write(b, dir, "skills/"+name+"/SKILL.md", skill(name, "Works.")), 9)
			}
			id := plain(dir)
			id.ContextFiles = []string{write(b, dir, "AGENTS.md", "None.")}
			changedAt(b, id.ContextFiles[0], 9)
			prompter := agent.NewPrompter(id)
			for b.Loop() {
				prompter.Prompt(direct)
			}
		})
	}
}

// Behaviour: skills.
func TestSkillProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if problems := agent.SkillProblems(filepath.Join(dir, "missing")); len(problems) > 0 {
		t.Errorf("a missing workspace: %v", problems)
	}
	long := strings.Repeat("Long-", 12) + "name" // 64 characters
	for _, name := range []string{"Deploy", long, long + "r", "with space"} {
		write(t, dir, "skills/"+name+"/SKILL.md", skill(name, "what it does"))
	}
	problems := agent.SkillProblems(dir)
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), long+"r/SKILL.md: its folder's name must be") || !strings.Contains(problems[1].Error(), "with space") {
		t.Errorf("problems: %v", problems)
	}
}

// A pipe in the place of a folder blocks no turn.
// Behaviour: workspace-reads.
func TestAPipeForAFolder(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"skills", "AGENTS.md", "skills/a"} {
		dir := t.TempDir()
		path := filepath.Join(dir, place)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		id := plain(dir)
		id.ContextFiles = []string{filepath.Join(dir, "AGENTS.md")}
		prompter := agent.NewPrompter(id)
		done := make(chan agent.Prompt)
		go func() {
			agent.SkillProblems(dir)
			prompter.SkillList()
			done <- prompter.Prompt(direct)
		}()
		select {
		case got := <-done:
			if got.Text == "" || len(got.Problems) == 0 {
				t.Errorf("with a pipe as %s the problems are %v", place, got.Problems)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("with a pipe as %s a turn waits for its other end", place)
		}
	}
}
