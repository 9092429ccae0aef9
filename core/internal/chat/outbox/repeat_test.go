package outbox_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: delivery-repeat.
func TestRepeatsAreMarked(t *testing.T) {
	t.Parallel()
	const line = wording.SentAgain
	cut, away, gone, over := errors.New("cut"), refuse(chat.NotConnected, 0), refuse(chat.TargetGone, 0), refuse(chat.Invalid, 0)
	marks := config.Delivery{MarkRepeats: true}
	space := chat.TextLimit{Max: len(line) + len("\n\n12345"), Unit: chat.Runes}
	message := domain.Delivery{Item: domain.OutboxItem{Text: "x", ReplyTo: "m", Buttons: [][]chat.Button{{{Label: "Go", Data: "/go"}}}}}
	const plain, marked = "send x[{Go /go}] to m", "send " + line + "\n\nx[{Go /go}] to m"
	doubtful := func(item domain.OutboxItem) domain.Delivery { return domain.Delivery{Item: item, Uncertain: true} }
	orSend := domain.Delivery{Item: domain.OutboxItem{Text: "x", Edits: 7, OrSend: true}, Target: "m", Uncertain: true}
	second := domain.Delivery{Item: domain.OutboxItem{Text: "x", Edits: 7, OrSend: true}, Target: "m", TargetRepeated: true}
	unsent := orSend
	unsent.Target = ""
	files := []chat.Media{{FileName: "a.png"}}
	poll := &chat.Poll{Question: "Tea?", Options: []string{"yes", "no"}}
	polls := chat.PollLimits{Options: 4, Question: chat.TextLimit{Max: 300, Unit: chat.Runes}, Option: chat.TextLimit{Max: 100, Unit: chat.Runes}}
	short := polls
	short.Question.Max = len(line)
	for name, test := range map[string]struct {
		piece  domain.Delivery
		limits chat.Limits
		seen   config.Delivery
		fails  map[string][]error
		calls  []string
	}{
		"arrived":                {message, chat.Limits{}, marks, nil, []string{plain}},
		"cut off, twice":         {message, chat.Limits{}, marks, map[string][]error{"send": {cut, cut}}, []string{"send fails", "send fails", marked}},
		"not sent":               {message, chat.Limits{}, marks, map[string][]error{"send": {away}}, []string{"send fails", plain}},
		"cut off, then not sent": {message, chat.Limits{}, marks, map[string][]error{"send": {cut, away}}, []string{"send fails", "send fails", marked}},
		"the reply refused": {
			message,
			chat.Limits{},
			marks,
			map[string][]error{"send": {cut, gone}},
			[]string{"send fails", "send fails", "send " + line + "\n\nx[{Go /go}]"},
		},
		"shown once by the network": {message, chat.Limits{IdempotentSend: true}, marks, map[string][]error{"send": {cut}}, []string{"send fails", plain}},
		"not wanted":                {message, chat.Limits{}, config.Delivery{}, map[string][]error{"send": {cut}}, []string{"send fails", plain}},
		"when the host ended":       {doubtful(domain.OutboxItem{Text: "x"}), chat.Limits{}, marks, nil, []string{"send " + line + "\n\nx"}},
		"as long as possible":       {doubtful(domain.OutboxItem{Text: "12345"}), chat.Limits{Text: space}, marks, nil, []string{"send " + line + "\n\n12345"}},
		"too long for it":           {doubtful(domain.OutboxItem{Text: "123456"}), chat.Limits{Text: space}, marks, nil, []string{"send 123456"}},
		"files":                     {doubtful(domain.OutboxItem{Media: files}), chat.Limits{}, marks, nil, []string{"send " + line + " +a.png"}},
		"files that are refused": {
			doubtful(domain.OutboxItem{Media: files}),
			chat.Limits{},
			marks,
			map[string][]error{"send": {refuse(chat.MediaRejected, 0)}},
			[]string{"send fails", "send " + line + "\n\n(Could not be sent: `a.png`)"},
		},
		"a poll":            {doubtful(domain.OutboxItem{Text: "Tea? 1. yes 2. no", Poll: poll}), chat.Limits{Polls: polls}, marks, nil, []string{"send Tea? 1. yes 2. no ? " + line + " Tea?"}},
		"a poll, too long":  {doubtful(domain.OutboxItem{Text: "Tea? 1. yes 2. no", Poll: poll}), chat.Limits{Polls: short}, marks, nil, []string{"send Tea? 1. yes 2. no ? Tea?"}},
		"an edit":           {orSend, chat.Limits{}, marks, nil, []string{"edit a/m=x[]"}},
		"an edit of one":    {second, chat.Limits{}, marks, nil, []string{"edit a/m=" + line + "\n\nx[]"}},
		"an edit, too long": {second, chat.Limits{Text: chat.TextLimit{Max: 9, Unit: chat.Runes}}, marks, nil, []string{"edit a/m=x[]"}},
		"an edit of one, not wanted": {
			second, chat.Limits{}, config.Delivery{}, nil, []string{"edit a/m=x[]"},
		},
		"a message that was never sent": {unsent, chat.Limits{}, marks, nil, []string{"send " + line + "\n\nx"}},
		"a replacement that may be there": {
			orSend,
			chat.Limits{},
			marks,
			map[string][]error{"edit": {gone}, "delete": {gone}},
			[]string{"edit fails", "delete fails", "send " + line + "\n\nx"},
		},
		"a replacement that cannot be there": {
			orSend,
			chat.Limits{},
			marks,
			map[string][]error{"edit": {over}},
			[]string{"edit fails", "delete a/m", "send x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &screen{fails: test.fails}
				if test.piece.Target != "" {
					test.piece.TargetSentAt = time.Now()
				}
				journal := handTo(t, editor{s}, test.limits, test.seen, test.piece)
				if diff := cmp.Diff(test.calls, s.calls); diff != "" {
					t.Errorf("the network gets (-want +got):\n%s", diff)
				}
				if last := journal[len(journal)-1]; !strings.HasPrefix(last, "delivered") {
					t.Errorf("the store gets %q", journal)
				}
			})
		})
	}
}
