package stream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: answer-restarted.
func TestRest(t *testing.T) {
	t.Parallel()
	o := stream.Options{Prefix: "Bot:", Rule: chunk.Rule{Limit: chat.TextLimit{Max: 100, Unit: chat.Runes}}}
	texts := func(pieces []domain.OutboxItem) (list []string) {
		for _, p := range pieces {
			list = append(list, p.Text)
		}
		return list
	}
	for name, tt := range map[string]struct {
		text       string
		out        stream.Outcome
		head, tail string
		want       []string
	}{
		"nothing was sent":           {"One", stream.Outcome{}, "", "", []string{"Bot: One"}},
		"nothing was sent, and more": {"One", stream.Outcome{}, "_head_", "_tail_", []string{"Bot: _head_\n\nOne\n\n_tail_"}},
		"a part":                     {"One\n\nTwo", stream.Outcome{Said: "One", Begun: true}, "", "_tail_", []string{"Two\n\n_tail_"}},
		"in code":                    {"```go\na\nb\n```", stream.Outcome{Said: "```go\na", Begun: true}, "", "", []string{"```go\nb\n```"}},
		"all":                        {"One", stream.Outcome{Said: "One", Begun: true}, "_head_", "", nil},
		"all but the tail":           {"One", stream.Outcome{Said: "One", Begun: true}, "", "_tail_", []string{"_tail_"}},
		"all, by an earlier text":    {"One", stream.Outcome{Whole: []string{"One"}, Begun: true}, "", "", nil},
		"another":                    {"One", stream.Outcome{Said: "Two", Begun: true}, "", "", []string{"_The answer began again:_\n\nOne"}},
		"something before":           {"One", stream.Outcome{Before: []string{"Zero"}}, "", "", []string{"Zero", "Bot: One"}},
		"silence":                    {"", stream.Outcome{Preview: 3}, "", "", []string{""}},
		"a file at the end":          {"One\nMEDIA:/a", stream.Outcome{Begun: true}, "", "_tail_", []string{"One\n\n_tail_"}},
		"a file":                     {"One\nMEDIA:/a\nTwo", stream.Outcome{Begun: true}, "", "", []string{"One", "Two"}},
	} {
		got := o.Items(answer.Parse(tt.text, true), tt.out, stream.Beside{Head: tt.head, Tail: tt.tail})
		if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if tt.out.Preview != 0 && got[0].Edits != tt.out.Preview {
			t.Errorf("%s: the preview stays: %+v", name, got)
		}
	}
}

// Files stand where the text says; those of what was said come first.
// Behaviour: files-place.
func TestRestPlacesFiles(t *testing.T) {
	t.Parallel()
	o := stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 200, Unit: chat.Runes}}}
	a := answer.Parse("MEDIA:/zero\nOne.\nMEDIA:/one\n\nTwo.\nMEDIA:/two\nMEDIA:/three\nThree.", true)
	var files []stream.Placed
	for _, m := range a.Media {
		files = append(files, stream.Placed{At: m.At, Media: []chat.Media{{FileName: m.Path}}})
	}
	for name, tt := range map[string]struct {
		out  stream.Outcome
		want []string
	}{
		"nothing was sent":        {stream.Outcome{Preview: 3}, []string{"/zero", "_head_\n\nOne.", "/one", "Two.", "/two", "/three", "Three.\n\n_tail_"}},
		"a part":                  {stream.Outcome{Said: "One.", Begun: true}, []string{"/zero", "/one", "_head_\n\nTwo.", "/two", "/three", "Three.\n\n_tail_"}},
		"a part, and some of it":  {stream.Outcome{Said: "One.\n\nTw", Begun: true}, []string{"/zero", "/one", "_head_\n\no.", "/two", "/three", "Three.\n\n_tail_"}},
		"all":                     {stream.Outcome{Said: a.Text, Begun: true}, []string{"/zero", "/one", "/two", "/three", "_head_\n\n_tail_"}},
		"all, by an earlier text": {stream.Outcome{Whole: []string{a.Text}, Begun: true}, []string{"/zero", "/one", "/two", "/three", "_head_\n\n_tail_"}},
	} {
		var got []string
		for _, p := range o.Items(a, tt.out, stream.Beside{Head: "_head_", Tail: "_tail_", Files: files}) {
			if p.Text != "" {
				got = append(got, p.Text)
			}
			for _, m := range p.Media {
				got = append(got, m.FileName)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
