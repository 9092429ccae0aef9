package sdktest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// sendsPolls sends polls as large as the limits.
func sendsPolls(t testing.TB, s Setup) {
	n, h := s.connect(t)
	limits := h.Limits(chat.Direct).Polls
	if limits.Options == 0 {
		return
	}
	network := as[PollNetwork](t, n, "polls")
	var want []chat.Poll
	for _, p := range []chat.Poll{
		{Question: "Where to?", Options: []string{"the sea", "the hills"}},
		{Question: "And then?", Options: []string{"*home*", "on"}, Multiple: true, Anonymous: limits.Anonymous},
		largest(limits),
	} {
		want = append(want, p)
		out := chat.Outgoing{Key: "key of poll " + fmt.Sprint(len(want)), To: s.first(), Text: p.Question + "\n1. and so on", Poll: &p}
		receipt, err := h.Send(out)
		if err != nil {
			t.Fatalf("send poll %d: %v", len(want), err)
		}
		if h.Limits(chat.Direct).IdempotentSend {
			if again, err := h.Send(out); err != nil || !reflect.DeepEqual(again, receipt) {
				t.Errorf("the same key again gives %v, %v; want %v", again.IDs, err, receipt.IDs)
			}
		}
		eventually(t, fmt.Sprintf("poll %d arrives, once", len(want)), func() []chat.Poll { return network.Polls(s.Chats[0]) },
			func(got []chat.Poll) bool { return reflect.DeepEqual(got, want) })
	}
}

// largest returns a poll that the limits just allow.
func largest(l chat.PollLimits) chat.Poll {
	text := func(limit chat.TextLimit, first string) string {
		if limit.Max <= 0 {
			return first
		}
		return first + strings.Repeat("x", limit.Max-len(first))
	}
	p := chat.Poll{Question: text(l.Question, "Which? ")}
	for i := range l.Options {
		p.Options = append(p.Options, text(l.Option, fmt.Sprint(i, " ")))
	}
	return p
}
