package main

import (
	"bytes"
	"testing"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

func TestAskPrintsAGrowingAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events []admin.TurnEvent
		answer admin.Answer
		want   string
		failed bool
	}{
		"at once":       {nil, admin.Answer{Text: "tea"}, "tea\n", false},
		"bit by bit":    {[]admin.TurnEvent{{More: "te"}, {More: "a\n"}}, admin.Answer{Text: "tea\nor cake"}, "tea\nor cake\n", false},
		"restarted":     {[]admin.TurnEvent{{More: "cof"}, {Restarted: true}, {More: "te"}}, admin.Answer{Text: "tea"}, "cof\n\ntea\n", false},
		"another":       {[]admin.TurnEvent{{More: "I look."}}, admin.Answer{Text: "tea"}, "I look.\n\ntea\n", false},
		"failed":        {[]admin.TurnEvent{{More: "te"}}, admin.Answer{Error: "over"}, "te\n\n", true},
		"failed early":  {nil, admin.Answer{Error: "over"}, "", true},
		"held":          {[]admin.TurnEvent{{Held: "no\x1b space"}, {More: "tea"}}, admin.Answer{Text: "tea"}, "clawhost: waiting: no  space\ntea\n", false},
		"with controls": {[]admin.TurnEvent{{More: "a\x1b[2J\tb"}}, admin.Answer{Text: "a\x1b[2J\tb\r\nc"}, "a [2J\tb \nc\n", false},
	} {
		var out bytes.Buffer
		p := page{out: &out, notes: &out, grows: true}
		for _, e := range test.events {
			p.show(e)
		}
		if err := p.end(test.answer); out.String() != test.want || (err != nil) != test.failed {
			t.Errorf("%s: %q, %v; want %q", name, out.String(), err, test.want)
		}
	}
}

func TestFailuresArePrintedPlainly(t *testing.T) {
	t.Parallel()
	p := page{out: &bytes.Buffer{}}
	err := p.end(admin.Answer{Error: "It failed. Try again.\n\n```\nauth: no\x1b login\n```\n\nAsk somebody."})
	if want := "It failed. Try again.\n  auth: no  login\nAsk somebody."; err == nil || err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
