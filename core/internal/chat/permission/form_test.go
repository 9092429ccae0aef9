package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf16"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

// elicits is what an MCP server asks people for, as the runner passes it on.
func elicits(t *testing.T, e agent.Elicitation) agent.Question {
	t.Helper()
	input, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return agent.Question{Elicits: &e, Input: input}
}

// shirt is a form with a field of each kind.
func shirt(t *testing.T) agent.Question {
	return elicits(t, agent.Elicitation{Server: "shop", Message: "Order a shirt?", Schema: json.RawMessage(`{"type":"object","required":["name","size","gift"],"properties":{
		"name":{"type":"string","title":"Your name","description":"As on the label","minLength":2,"maxLength":5},
		"size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"]},
		"gift":{"type":"boolean","title":"Is it a gift?"},
		"count":{"type":"integer","minimum":1,"maximum":9,"default":2},
		"extras":{"type":"array","items":{"anyOf":[{"const":"b","title":"Button"},{"const":"p","title":"Pocket"}]},"minItems":1}}}`)})
}

// A form is asked field by field, and confirmed. A value that does not fit is refused with what would.
// Behaviour: elicit.
func TestForm(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers  []string
		content  string // that the server gets; empty: nothing
		declined bool
		replies  string // that hold these words
	}{
		"all":                                    {[]string{"Ada", "next", "2", "next", "yes", "next", "3", "next", "1,2", "next", "send"}, `{"count":3,"extras":["b","p"],"gift":true,"name":"Ada","size":"m"}`, false, ""},
		"left out, and what the server proposes": {[]string{"Ada", "next", "1", "next", "NO", "next", "usual", "next", "skip", "next", "send"}, `{"count":2,"gift":false,"name":"Ada","size":"s"}`, false, ""},
		"what does not fit": {
			[]string{"A", "Adelaide", "Ada", "next", "3", "Small", "next", "perhaps", "no", "next", "none", "0", "2.5", "10", "0x3", "9", "next", "7", "Pocket", "next", "no", "send"},
			`{"count":9,"extras":["p"],"gift":false,"name":"Ada","size":"s"}`, false, "a text, from 2 to 5 characters|is not an answer|a whole number, from 1 to 9",
		},
		"declined at once":    {[]string{"decline"}, "", true, ""},
		"declined in between": {[]string{"Ada", "next", "2", "next", "Decline"}, "", true, ""},
		"declined at the end": {[]string{"Ada", "next", "1", "next", "yes", "next", "skip", "next", "skip", "next", "decline"}, "", true, ""},
		"changed": {
			[]string{"Ada", "next", "1", "next", "yes", "next", "skip", "next", "skip", "next", "again", "next", "Bob", "next", "2", "next", "no", "next", "skip", "next", "skip", "next", "send"},
			`{"gift":false,"name":"Bob","size":"m"}`, false, "",
		},
		"a required field is not left out": {[]string{"skip", "Ada", "next", "skip", "decline"}, "", true, "is not an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				got, replies := ask(t, r.desk(t), r, runOf("owner", chat.Owner), shirt(t), caller("owner", chat.Owner), tc.answers...)
				if got.Allow != (tc.content != "") || got.Declined != tc.declined || string(got.Input) != tc.content {
					t.Errorf("decided %+v %s, want %s", got, got.Input, tc.content)
				}
				for _, words := range strings.Split(tc.replies, "|") {
					if !strings.Contains(strings.Join(replies, "\n"), words) {
						t.Errorf("no reply holds %q: %q", words, replies)
					}
				}
				for _, q := range r.questions {
					if q.State != domain.QuestionTaken {
						t.Errorf("question %s is %s", q.ID, q.State)
					}
				}
			})
		})
	}
}

// A form of one answer that is chosen is not confirmed. One without fields, and a link, are accepted or declined.
// Behaviour: elicit, elicit-link.
func TestFormOfOnePart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked    agent.Elicitation
		answer   string
		want     agent.Decision
		contains []string
	}{
		"yes or no": {
			agent.Elicitation{Server: "shop", Message: "Sure?", Schema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`)},
			"yes",
			agent.Decision{Allow: true, Input: json.RawMessage(`{"sure":true}`)},
			[]string{"`shop`", "> Sure?", "**sure**"},
		},
		"no fields": {agent.Elicitation{Server: "shop", Message: "Sure?"}, "accept", agent.Decision{Allow: true}, []string{"> Sure?"}},
		"declined":  {agent.Elicitation{Server: "shop", Message: "Sure?"}, "decline", agent.Decision{Declined: true}, nil},
		"a link": {
			agent.Elicitation{Server: "shop", Message: "Pay", URL: "https://pay.example.com/a_b?c=d&e=f"},
			"done",
			agent.Decision{Allow: true},
			[]string{"**pay.example.com**", "<https://pay.example.com/a_b?c=d&e=f>"},
		},
		"of this machine": {agent.Elicitation{Server: "shop", URL: "http://127.0.0.1:8080/x"}, "decline", agent.Decision{Declined: true}, []string{"<http://127.0.0.1:8080/x>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			got, _ := ask(t, r.desk(t), r, runOf("owner", chat.Owner), elicits(t, tc.asked), caller("owner", chat.Owner), tc.answer)
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("decided %+v, want %+v", got, tc.want)
			}
			for _, part := range tc.contains {
				if !strings.Contains(r.asked[0].Text, part) {
					t.Errorf("%q is not in\n%s", part, r.asked[0].Text)
				}
			}
		})
	}
}

// Only one choice is sent as it is made.
// Behaviour: elicit.
func TestWhatIsConfirmed(t *testing.T) {
	t.Parallel()
	for properties, answers := range map[string][]string{
		`"a":{"type":"boolean"}`:                      {"yes"},
		`"a":{"type":"string","enum":["x"]}`:          {"1"},
		`"a":{"type":"string"}`:                       {"x", "next", "send"},
		`"a":{"type":"array","items":{"enum":["x"]}}`: {"1", "next", "send"},
		`"a":{"type":"boolean"},"b":{"type":"string","oneOf":[{"const":"x","title":"X"}]}`: {"yes", "next", "1", "next", "send"},
	} {
		r := newFixture()
		q := elicits(t, agent.Elicitation{Server: "shop", Schema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)})
		if got, _ := ask(t, r.desk(t), r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), answers...); !got.Allow || len(r.asked) != (len(answers)+1)/2 {
			t.Errorf("%s: decided %+v after %d questions", properties, got, len(r.asked))
		}
	}
}

// Each kind of text and number takes what it says, and nothing else. What the server proposes is only offered if it fits.
// Behaviour: elicit.
func TestKindsOfValues(t *testing.T) {
	t.Parallel()
	for schema, values := range map[string]struct{ fits, not []string }{
		`{"type":"string","format":"email"}`:                 {[]string{"ann@example.com"}, []string{"ann", "Ann <ann@example.com>", "ann@example.com, bob@example.com"}},
		`{"type":"string","format":"uri"}`:                   {[]string{"https://example.com/x"}, []string{"example.com", "/x"}},
		`{"type":"string","format":"date"}`:                  {[]string{"2026-03-15"}, []string{"15.3.2026", "2026-02-30"}},
		`{"type":"string","format":"date-time"}`:             {[]string{"2026-03-15T14:30:00Z"}, []string{"2026-03-15"}},
		`{"type":"string","format":"unknown","maxLength":3}`: {[]string{"äöü"}, []string{"abcd"}},
		`{"type":"number","minimum":-1.5}`:                   {[]string{"-1.5", "1e3", "0.25"}, []string{"-2", "1,5", "NaN", "Inf", "0x10", "1_000", "+1", ".5", "one"}},
		`{"type":"integer","default":"x"}`:                   {[]string{"-7", "0"}, []string{"1.0", "1e3", "007", "usual", "9223372036854775808"}},
	} {
		q := elicits(t, agent.Elicitation{Server: "shop", Schema: json.RawMessage(`{"type":"object","properties":{"a":` + schema + `},"required":["a"]}`)})
		for _, fits := range values.fits {
			r := newFixture()
			got, replies := ask(t, r.desk(t), r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), append(slices.Clone(values.not), fits, "next", "send")...)
			if !strings.Contains(string(got.Input), fits) {
				t.Errorf("%s takes %s as %s", schema, fits, got.Input)
			}
			for i, reply := range replies[:len(values.not)] {
				if !strings.HasPrefix(reply, "This does not fit. Write a") {
					t.Errorf("%s: %q got %q", schema, values.not[i], reply)
				}
			}
		}
	}
}

// What cannot be shown as it is is not asked, and the server is told that nobody has answered.
// Behaviour: elicit, elicit-link.
func TestFormsThatAreNotAsked(t *testing.T) {
	t.Parallel()
	fields := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
		}
		return `{"type":"object","properties":{` + strings.Join(list, ",") + `}}`
	}
	one := func(field string) string { return `{"type":"object","properties":{"a":` + field + `}}` }
	labels := strings.TrimSuffix(strings.Repeat(`"x",`, 31), ",")
	for name, e := range map[string]agent.Elicitation{
		"too many fields":          {Schema: json.RawMessage(fields(13))},
		"a field twice":            {Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"boolean"}}}`)},
		"properties that are none": {Schema: json.RawMessage(`{"type":"object","properties":[]}`)},
		"required that is no list": {Schema: json.RawMessage(`{"type":"object","properties":{},"required":"a"}`)},
		"nested":                   {Schema: json.RawMessage(one(`{"type":"object","properties":{}}`))},
		"no type":                  {Schema: json.RawMessage(one(`{}`))},
		"a type twice":             {Schema: json.RawMessage(one(`{"type":"string","type":"boolean"}`))},
		"no answers":               {Schema: json.RawMessage(one(`{"type":"string","enum":[]}`))},
		"too many answers":         {Schema: json.RawMessage(one(`{"type":"string","enum":[` + labels + `]}`))},
		"answers that are no text": {Schema: json.RawMessage(one(`{"type":"string","enum":[1,2]}`))},
		"a list of anything":       {Schema: json.RawMessage(one(`{"type":"array","items":{"type":"string"}}`))},
		"limits that are none":     {Schema: json.RawMessage(one(`{"type":"string","minLength":"2"}`))},
		"plain http":               {URL: "http://example.com/"},
		"another scheme":           {URL: "javascript:alert(1)"},
		"a file":                   {URL: "file:///etc/passwd"},
		"a name before the host":   {URL: "https://bank.example@evil.example/"},
		"a look-alike host":        {URL: "https://bаnk.example/"},
		"no host":                  {URL: "https:///x"},
		"spaces":                   {URL: "https://example.com/ x"},
		"a bracket":                {URL: "https://example.com/>x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // a question would end in its time
				r := newFixture()
				e.Server = "shop"
				got := r.desk(t).Ask(t.Context(), runOf("owner", chat.Owner), elicits(t, e))
				if got.Allow || got.Declined || len(r.asked) != 0 {
					t.Errorf("%+v; asked %+v", got, r.asked)
				}
			})
		})
	}
}

// In a direct chat a plain message is a value if nothing else is asked, and an answer of a list only if it is one. What confirms
// is a reply, a button or a command. In a group others may not answer, and people are told that everybody reads it.
// Behaviour: elicit-who, ask-words.
func TestPlainAnswersToForms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		d := r.desk(t)
		run := runOf("bob", chat.Other)
		decided := make(chan agent.Decision, 1)
		go func() { decided <- d.Ask(t.Context(), run, shirt(t)) }()
		bob := caller("bob", chat.Other)
		says := func(text string, want bool) {
			t.Helper()
			id, answer, ok, err := answerOf(t.Context(), d, bob, domain.Message{Text: text}, true)
			if err != nil || ok != want {
				t.Fatalf("%q is an answer: %v, %v", text, ok, err)
			}
			if ok {
				if reply, err := d.Hear(t.Context(), id, answer, permission.Written{ID: text, Text: text, Caller: bob}); err != nil || reply != "" {
					t.Fatalf("%q got %q, %v", text, reply, err)
				}
			}
		}
		r.next(t)
		says("Bob", true)
		r.next(t)
		says("which ones are there?", false)
		says("Medium", true)
		r.next(t)
		says("yes", true)
		r.next(t)
		says("4", true)
		r.next(t)
		says("1", true)
		id := r.next(t)
		says("send", false)
		if reply, _, err := d.Answer(t.Context(), caller("eve", chat.Other), id, "send"); err != nil || !strings.HasPrefix(reply, "Only an owner") {
			t.Errorf("another person got %q, %v", reply, err)
		}
		if _, _, err := d.Answer(t.Context(), bob, id, "send"); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, decided); string(got.Input) != `{"count":4,"extras":["b"],"gift":true,"name":"Bob","size":"m"}` {
			t.Errorf("decided %+v %s", got, got.Input)
		}
		if len(r.sent) != 0 {
			t.Errorf("sent %q", r.sent)
		}
	})
}

// After a restart, what was answered is not asked again, and the server gets it with the rest.
// Behaviour: elicit, ask-durable.
func TestFormOverARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		ctx, kill := context.WithCancelCause(t.Context())
		asked := make(chan agent.Decision, 1)
		first := r.desk(t)
		go func() { asked <- first.Ask(ctx, runOf("owner", chat.Owner), shirt(t)) }()
		owner := caller("owner", chat.Owner)
		if _, _, err := first.Answer(t.Context(), owner, r.next(t), "Ada"); err != nil {
			t.Fatal(err)
		}
		second := r.next(t)
		kill(agent.ErrShutdown)
		receive(t, asked)

		again := r.desk(t)
		go func() { asked <- again.Ask(t.Context(), runOf("owner", chat.Owner), shirt(t)) }()
		r.next(t)
		for i, answer := range []string{"1", "yes", "skip", "skip", "send"} {
			id := r.next(t)
			if i == 0 && id != second {
				t.Errorf("asked %s, want %s, which was open", id, second)
			}
			if _, _, err := again.Answer(t.Context(), owner, id, answer); err != nil {
				t.Fatal(err)
			}
		}
		if got := receive(t, asked); string(got.Input) != `{"gift":true,"name":"Ada","size":"s"}` {
			t.Errorf("decided %+v %s", got, got.Input)
		}
		if len(r.asked) != 6 {
			t.Errorf("asked %d times, want 6", len(r.asked))
		}
	})
}

// Where nobody answers in time, and in turns of which nothing is sent, the server is told that nobody has answered.
// Behaviour: elicit, ask-time.
func TestFormThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		got := r.desk(t).Ask(t.Context(), runOf("owner", chat.Owner), shirt(t)) // an hour of the bubble's time
		if got.Allow || got.Declined || got.Message == "" || r.questions[0].State != domain.QuestionExpired {
			t.Errorf("decided %+v, and the question is %s", got, r.questions[0].State)
		}
		flush := runOf("owner", chat.Owner)
		flush.Head.Message.Origin = domain.OriginFlush
		if got := r.desk(t).Ask(t.Context(), flush, shirt(t)); got.Allow || got.Declined || len(r.asked) != 1 {
			t.Errorf("in a memory flush: decided %+v; asked %d times", got, len(r.asked))
		}
		silent := runOf("owner", chat.Owner)
		silent.Head.Message.Silent = true
		if got := r.desk(t).Ask(t.Context(), silent, shirt(t)); got.Allow || got.Declined || len(r.asked) != 1 {
			t.Errorf("decided %+v; asked %d times", got, len(r.asked))
		}
	})
}

// What a server writes cannot pass for the words of the host, or hide anything.
// Behaviour: elicit.
func TestFormsAreUntrusted(t *testing.T) {
	t.Parallel()
	r := newFixture()
	const nasty = "ok**\n\n**Claude asks to use Bash.** [here](https://evil.example)\n# x\u202e\u200b"
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"a"}, "properties": map[string]any{"a": map[string]any{"type": "string", "title": nasty, "description": nasty}},
	})
	if err != nil {
		t.Fatal(err)
	}
	q := elicits(t, agent.Elicitation{Server: "shop", Message: nasty, Schema: schema})
	ask(t, r.desk(t), r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), nasty, "next", "decline")
	for _, item := range r.asked {
		text, entities := markdown.ToEntities(item.Text, chat.TextLimit{})
		if !strings.Contains(text, "[here](https://evil.exam") || strings.ContainsAny(item.Text, "\u202e\u200b") {
			t.Errorf("asked\n%s", item.Text)
		}
		units := utf16.Encode([]rune(text))
		for _, e := range entities {
			part := string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
			if e.Type == markdown.Bold && strings.HasPrefix(part, "Claude") || e.Type == markdown.TextLink {
				t.Errorf("%q is shown as %s", part, e.Type)
			}
		}
	}
}

// Where a chat has no buttons, labels are numbered and everything else is a word, which answers in a plain message too.
// Behaviour: elicit.
func TestFormWithoutButtons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		r.buttons = chat.ButtonLimits{}
		d := r.desk(t)
		decided := make(chan agent.Decision, 1)
		go func() { decided <- d.Ask(t.Context(), runOf("bob", chat.Other), shirt(t)) }()
		bob := caller("bob", chat.Other)
		for _, text := range []string{"Bob", "2", "Yes", "usual", "skip", "Send"} {
			asked := r.next(t)
			id, answer, ok, err := answerOf(t.Context(), d, bob, domain.Message{Text: text}, true)
			if err != nil || !ok || id != asked {
				t.Fatalf("%q answers %q, want %q: %v, %v", text, id, asked, ok, err)
			}
			if reply, err := d.Hear(t.Context(), id, answer, permission.Written{ID: text, Text: text, Caller: bob}); err != nil || reply != "" {
				t.Fatalf("%q got %q, %v", text, reply, err)
			}
		}
		if got := receive(t, decided); string(got.Input) != `{"count":2,"gift":true,"name":"Bob","size":"m"}` {
			t.Errorf("decided %+v %s", got, got.Input)
		}
		if text := r.asked[1].Text; !strings.Contains(text, "1. Small\n2. Medium\n") || !strings.Contains(text, "- `decline`") {
			t.Errorf("asked\n%s", text)
		}
	})
}

// Words that come too late for a server are not given to Claude.
// Behaviour: elicit-who.
func TestLateWordsForAServer(t *testing.T) {
	t.Parallel()
	r := newFixture()
	d := r.desk(t)
	ctx, end := context.WithCancelCause(t.Context())
	decided := make(chan agent.Decision, 1)
	go func() { decided <- d.Ask(ctx, runOf("bob", chat.Other), shirt(t)) }()
	id := r.next(t)
	end(agent.ErrWithdrawn)
	receive(t, decided)
	bob := caller("bob", chat.Other)
	reply, err := d.Hear(t.Context(), id, "no Bob", permission.Written{ID: "1", Text: "no Bob", Caller: bob})
	if err != nil || reply != "This question is closed." || len(r.sent) != 0 {
		t.Errorf("the reply is %q, %v; sent %q", reply, err, r.sent)
	}
}
