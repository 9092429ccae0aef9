package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Whoever decides sees what they decide on, whatever the model writes.
// Behaviour: ask.
func TestNothingIsHidden(t *testing.T) {
	t.Parallel()
	ask := func(tool string, input map[string]any) string {
		encoded, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		r := newFixture()
		d := r.desk(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan agent.Decision, 1)
		go func() {
			done <- d.Ask(ctx, runOf("owner", chat.Owner), agent.Question{Tool: tool, Input: encoded, Description: "Say hello"})
		}()
		r.next(t)
		cancel()
		receive(t, done)
		return r.asked[0].Text
	}
	bash := func(command string) string { return ask("Bash", map[string]any{"command": command}) }

	long := bash("echo " + strings.Repeat("hello ", 2000) + "; rm -rf ~")
	for _, want := range []string{"echo hello", "; rm -rf ~\n```", "10515 characters of it are not shown here, so it can be allowed once only.**"} {
		if !strings.Contains(long, want) {
			t.Errorf("a long command does not show %q:\n%s", want, long)
		}
	}
	if text := bash("ls"); strings.Contains(text, "not shown") || strings.Contains(text, "With ") {
		t.Error(text)
	}
	if text := ask("Bash", map[string]any{"command": "ls", "timeout": 5, "dangerouslyDisableSandbox": true}); !strings.Contains(text, "With `timeout: 5, dangerouslyDisableSandbox: true`.") {
		t.Error(text)
	}
	for _, hidden := range []string{"\u00ad", "\u061c", "\u180e", "\u200b", "\u202e", "\u2066", "\u2800", "\u3164", "\u115f", "\U000e0041", "\u0085", "\u2028", "\x1b", "\r", "\ufe0f", "\u200d", "\u00a0", "\u2009", "\u202f"} {
		if text := ask("Read", map[string]any{"command": "x", "file_path": "/a" + hidden + "b"}); strings.Contains(text, hidden) {
			t.Errorf("%+q in a path is shown as %q", hidden, text)
		}
		if text := bash("ls " + hidden + "; id"); strings.Contains(text, hidden) || !strings.Contains(text, "�") {
			t.Errorf("%+q is shown as %q", hidden, text)
		}
	}
	if text := bash("echo Grüße 👩‍👩‍👧 日本語　x"); !strings.Contains(text, "Grüße 👩‍👩‍👧 日本語　x") {
		t.Error(text)
	}
	if text := ask("ExitPlanMode", map[string]any{"plan": "Du thé\u00a0?"}); !strings.Contains(text, "Du thé\u00a0?") {
		t.Error(text)
	}
	if text := ask("ExitPlanMode", map[string]any{}); !strings.Contains(text, "It does not say what the plan is.") {
		t.Error(text)
	}
	if text := ask("ExitPlanMode", map[string]any{"plan": "```\nrm -rf ~"}); strings.Count(text, "```") != 2 {
		t.Error(text)
	}
	choice := ask("AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "**A**"}}}}})
	if !strings.Contains(choice, "**Which?**") {
		t.Error(choice)
	}
}

// Field names are case-sensitive, repeated fields are all shown, and an input that is not shown in full is allowed only once.
// Behaviour: ask.
func TestQuestionShowsRepeatedFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, test := range map[string]struct {
		tool, input string
		outside     string
		rules       []string
		has, hasNot []string
		once        bool // it can be allowed once only
	}{
		"a plan in another case":    {tool: "ExitPlanMode", input: `{"plan":"# Evil","PLAN":"# Harmless"}`, has: []string{"# Evil", `With ` + "`PLAN: \"# Harmless\"`"}},
		"a plan twice":              {tool: "ExitPlanMode", input: `{"plan":"# Evil","plan":"# Harmless"}`, has: []string{"# Evil", "# Harmless", "more than one way"}},
		"a command twice":           {tool: "Bash", input: `{"command":"rm -rf ~","command":"ls"}`, has: []string{"rm -rf ~", `"ls"`, "more than one way"}, once: true},
		"a command in another case": {tool: "Bash", input: `{"Command":"ls","command":"rm -rf ~"}`, has: []string{"```\nrm -rf ~\n```", "Command: \"ls\""}},
		"a short field behind long ones": {
			tool: "Bash", input: `{"command":"ls","a":"` + long + `","b":"` + long + `","dangerouslyDisableSandbox":true}`,
			has: []string{"dangerouslyDisableSandbox: true", "9604 characters of it are not shown"}, once: true,
		},
		"a long name":     {tool: "Bash", input: `{"command":"ls","` + long + `":1}`, has: []string{"4940 characters"}, once: true},
		"many fields":     {tool: "Bash", input: `{"command":"ls"` + many(30) + `}`, has: []string{"f19: 1", "characters of it are not shown"}, hasNot: []string{"f25"}, once: true},
		"a long reason":   {tool: long, input: `{}`, has: []string{"characters of it are not shown"}, once: true},
		"a long rule":     {tool: "Bash", input: `{"command":"ls"}`, rules: []string{"Bash(" + long + ")"}, once: true},
		"a hidden rule":   {tool: "Bash", input: `{"command":"ls"}`, rules: []string{"Bash(ls\u200b *)"}, once: true},
		"several rules":   {tool: "Bash", input: `{"command":"ls"}`, rules: []string{"Bash(ls *)", "Read(`x`)"}, has: []string{"would allow, for messages of owners: `Bash(ls *)`, `` Read(`x`) ``"}},
		"what is written": {tool: "Write", input: `{"file_path":"/x/a.go","content":"package a\n\nvar b = 1\n"}`, has: []string{"```\npackage a\n\nvar b = 1\n", "With `file_path: \"/x/a.go\"`."}, hasNot: []string{`\n`}},
		"what is changed": {
			tool: "Edit", input: `{"file_path":"/x","old_string":"a\nb\nc","new_string":"a\nB\nd\nc","replace_all":true}`,
			has: []string{"```\n  a\n- b\n+ B\n+ d\n  c\n```", "replace_all: true"},
		},
		"spaces in a field": {tool: "Bash", input: `{"command":"ls","cwd":"/x  y","z" : { "a" : [1, "b  c"] }}`, has: []string{`cwd: "/x  y"`, `z: {"a":[1,"b  c"]}`}},
		"a name like two fields": {
			tool: "Bash", input: `{"command":"ls","sandbox: true, x":1,"a  b":2,"q\"\n":3}`, has: []string{`"sandbox: true, x": 1`, `"a  b": 2`, `"q\"\n": 3`},
		},
		"backticks in a field":        {tool: "Bash", input: `{"command":"ls","cwd":"` + "`id`" + `"}`, has: []string{"`` cwd: \"`id`\" ``"}},
		"long fences":                 {tool: "Bash", input: `{"command":"echo ` + "````" + `"}`, has: []string{"\n`````\necho ````\n`````\n"}},
		"a link in a plan":            {tool: "ExitPlanMode", input: `{"plan":"Read [the docs](https://example.org/evil)."}`, has: []string{"```\nRead [the docs](https://example.org/evil).\n```"}},
		"a reference in a plan":       {tool: "ExitPlanMode", input: `{"plan":"Hello.\n\n[x]: https://example.org \"rm -rf ~\""}`, has: []string{"```\nHello.", "rm -rf ~\"\n```"}},
		"words behind a fence":        {tool: "ExitPlanMode", input: `{"plan":"` + "```sh and rm -rf ~\\nls\\n```" + `"}`, has: []string{"````\n```sh and rm -rf ~\nls\n```\n````"}},
		"letters by number in a plan": {tool: "ExitPlanMode", input: `{"plan":"&#114;m"}`, has: []string{"```\n&#114;m\n```"}},
		"a plan in Markdown": {
			tool: "ExitPlanMode", input: `{"plan":"# Plan\n\n1. **Read** ` + "`a.go`" + `\n2. [x] Run\n\n` + "```sh\\nls\\n```" + `\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nhttps://example.org"}`,
			has: []string{"\n# Plan\n\n1. **Read** `a.go`"}, hasNot: []string{"````", "```\n# Plan"},
		},
		"a choice of lines": {tool: "AskUserQuestion", input: `{"questions":[{"question":"Which?\n\n- it","options":[{"label":"A"}]}]}`, has: []string{"**Which?**\n\n**\\- it**"}},
		"a long choice": {
			tool: "AskUserQuestion", input: `{"questions":[{"question":"Which?","options":[{"label":"` + long + `","description":"` + long + `"}` + strings.Repeat(`,{"label":"Another"}`, 10) + `]}]}`,
			has: []string{"**9747 characters of it are not shown here.** Say so in your own words if you want to see them first."},
		},
		"a deep input": {
			tool: "Other", input: `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
			has: []string{"```\n{\"a\":[[[", "16506 characters of it are not shown"}, once: true,
		},
		"a path outside":    {tool: "Read", input: `{"file_path":"/x  y"}`, outside: "/x  `y`\n", has: []string{"It reaches outside the workspace: `` /x  `y`� ``"}},
		"a file is emptied": {tool: "Write", input: `{"file_path":"/x","content":""}`, has: []string{`"content": ""`}},
		"no text":           {tool: "Edit", input: `{"file_path":"/x","old_string":1,"new_string":["b"]}`, has: []string{`"old_string": 1`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			d := r.desk(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan agent.Decision, 1)
			go func() {
				done <- d.Ask(ctx, runOf("owner", chat.Owner), agent.Question{Tool: test.tool, Input: json.RawMessage(test.input), Suggested: test.rules, Outside: test.outside})
			}()
			id := r.next(t)
			text := r.asked[0].Text
			for _, want := range test.has {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, no := range test.hasNot {
				if strings.Contains(text, no) {
					t.Errorf("%q is in\n%s", no, text)
				}
			}
			if test.once {
				said, _, _ := d.Answer(t.Context(), caller("owner", chat.Owner), id, "always")
				if !strings.Contains(said, "is not an answer") || len(r.grants) > 0 || strings.Contains(text, "Always") || len(r.asked[0].Buttons) != 1 {
					t.Errorf("it can be granted: %q, %v, %v, in\n%s", said, r.grants, r.asked[0].Buttons, text)
				}
			}
			cancel()
			receive(t, done)
		})
	}
}

// many are so many fields.
func many(n int) (fields string) {
	for i := range n {
		fields += fmt.Sprintf(`,"f%02d":1`, i)
	}
	return fields
}

// What is granted for one input says which, as the list of grants shows it, and holds for nothing else.
// Behaviour: ask-grant.
func TestAGrantOfOneInputSaysWhich(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	q := agent.Question{Tool: "Bash", Input: json.RawMessage(`{"command":"ls /etc;\ncat > yy","timeout":5}`)}
	ask(t, d, r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), "always")
	if len(r.grants) != 1 || !strings.HasSuffix(r.grants[0].Rule, " Bash ls /etc; cat > yy with timeout: 5") {
		t.Fatalf("granted: %+v", r.grants)
	}
	if got := d.Ask(t.Context(), runOf("owner", chat.Owner), q); !got.Allow {
		t.Errorf("the same again: %+v", got)
	}
	q.Input = json.RawMessage(`{"command":"ls /etc; cat > yy","timeout":5}`)
	if got, _ := ask(t, d, r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), "no"); got.Allow {
		t.Error("another input is not asked about")
	}
}

// What is said once a question is over fits into a message of any network, or its buttons would stay.
func TestTheEndFitsIntoAMessage(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	who := caller("owner", chat.Owner)
	long := strings.Repeat("_", 5000)
	input, _ := json.Marshal(map[string]any{"questions": []any{map[string]any{"question": long, "options": []any{map[string]any{"label": long}}}}})
	ask(t, d, r, runOf("owner", chat.Owner), agent.Question{Tool: "AskUserQuestion", Input: input}, who, long)
	ask(t, d, r, runOf("owner", chat.Owner), agent.Question{Tool: long, Input: json.RawMessage(`{"url":"` + long + `"}`)}, who, "no "+long)
	for _, said := range r.edits {
		if n := len(said); n > 2000 {
			t.Errorf("%d bytes: %.60s", n, said)
		}
	}
	if len(r.edits) != 2 {
		t.Error(r.edits)
	}
}
