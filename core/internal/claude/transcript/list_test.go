package transcript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// folderOf writes transcripts, the first of which is the oldest, and returns their folder.
func folderOf(t *testing.T, sessions ...[]string) transcript.Folder {
	t.Helper()
	dir := t.TempDir()
	for i, lines := range sessions {
		path := filepath.Join(dir, idOf(i)+".jsonl")
		at := time.Date(2026, time.March, i+1, 0, 0, 0, 0, time.UTC)
		if err := errors.Join(os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	return transcript.Folder(dir)
}

func idOf(i int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", i+1) }

func typed(entry, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u","promptSource":"typed","entrypoint":%q,"message":{"role":"user","content":%q}}`, entry, text)
}

func said(text string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"a","entrypoint":"cli","message":{"role":"assistant","content":[{"type":"text","text":%q}]}}`, text)
}

func all(transcript.Entry) (bool, error) { return true, nil }

// Behaviour: claude-sessions.
func TestList(t *testing.T) {
	t.Parallel()
	folder := folderOf(t,
		[]string{typed("sdk-cli", "the first \"entrypoint\":\"cli\""), `{"type":"user","message":{"content":[{"type":"tool_result"}]}}`, typed("sdk-cli", "more")},
		[]string{`{"type":"file-history-snapshot"}`, typed("cli", "<command-name>/clear</command-name>"), typed("cli", "the boiler"), said("It is BROKEN, the boiler."), "torn"},
		[]string{`{"type":"queue-operation"}`},
		[]string{typed("sdk-cli", "a tool"), `{"type":"assistant","entrypoint":"sdk-cli","message":{"content":[{"type":"tool_use","input":{"entrypoint":"cli"}}]}}`},
		[]string{`{"type":"user","isSidechain":true,"promptSource":"sdk","message":{"content":"a subagent"}}`, typed("sdk-cli", "hello"), `{"type":"system","entrypoint":"cli"}`},
	)
	if err := os.WriteFile(filepath.Join(string(folder), "agent-1.jsonl"), []byte(typed("cli", "no session")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		words []string
		want  []string
	}{
		"all":      {nil, []string{"5 hello 1 true false", "4 a tool 1 false false", "2 the boiler 1 true true", `1 the first "entrypoint":"cli" 2 false false`}},
		"found":    {[]string{"boiler", "Broken"}, []string{"2 the boiler 1 true true"}},
		"in parts": {[]string{"first", "more"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := folder.List(t.Context(), 10, test.words, all)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				got = append(got, fmt.Sprintf("%c %s %d %t %t", e.ID[7], e.First, e.Prompts, e.Terminal, e.Begun))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if list, err := folder.List(t.Context(), 1, nil, all); err != nil || len(list) != 1 {
		t.Errorf("at most one: %v, %v", list, err)
	}
	if list, err := transcript.Folder(filepath.Join(string(folder), "none")).List(t.Context(), 1, nil, all); err != nil || len(list) != 0 {
		t.Errorf("of no folder: %v, %v", list, err)
	}
}

// A transcript without end is read in part, and ends the list.
func TestAHugeTranscript(t *testing.T) {
	t.Parallel()
	folder := folderOf(t, []string{typed("cli", "old")}, []string{typed("cli", "huge")})
	if err := os.Truncate(filepath.Join(string(folder), idOf(1)+".jsonl"), 1<<40); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(string(folder), idOf(1)+".jsonl"), at, at); err != nil {
		t.Fatal(err)
	}
	list, err := folder.List(t.Context(), 10, nil, all)
	if err != nil || len(list) != 1 || list[0].First != "huge" {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	folder := folderOf(t, []string{typed("cli", "one")}, []string{typed("cli", "two")})
	not := func(text string) func(transcript.Entry) (bool, error) {
		return func(e transcript.Entry) (bool, error) { return e.First != text, nil }
	}
	for prefix, want := range map[string]string{"00000002": "two", idOf(0): "one", "0000": "", "000": "", "00000003": "", "": "", "../x": ""} {
		e, ok, err := folder.Find(prefix, all)
		if err != nil || ok != (want != "") || e.First != want {
			t.Errorf("%q: %+v, %t, %v", prefix, e, ok, err)
		}
	}
	if e, ok, err := folder.Find("0000", not("one")); err != nil || !ok || e.First != "two" {
		t.Errorf("the only one that fits: %+v, %t, %v", e, ok, err)
	}
}

// Behaviour: session-taken-back.
func TestForeign(t *testing.T) {
	t.Parallel()
	line := func(id, entry, filling string) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"entrypoint":%q,"message":{"content":%q}}`, id, entry, filling)
	}
	long := strings.Repeat("x", 70<<10)
	for i, test := range []struct {
		lines []string
		want  string
	}{
		{[]string{line("a", "sdk-cli", "")}, ""},
		{[]string{line("a", "cli", ""), line("b", "sdk-cli", "")}, "a"},
		{[]string{line("a", "cli", ""), line("b", "cli", ""), `{"type":"mode"}`}, "b"},
		{[]string{line("a", "cli", ""), line("b", "sdk-cli", `"entrypoint":"cli","uuid":"c"`)}, "a"},
		{[]string{line("a", "cli", ""), line("b", "sdk-cli", long)}, ""},
		{[]string{line("a", "cli", long), line("b", "cli", "")}, "b"},
	} {
		folder := folderOf(t, test.lines)
		if got, err := folder.Foreign(idOf(0)); err != nil || got != test.want {
			t.Errorf("%d: %q, %v, want %q", i, got, err, test.want)
		}
	}
	if got, err := folderOf(t).Foreign(idOf(0)); err != nil || got != "" {
		t.Errorf("of no transcript: %q, %v", got, err)
	}
}
