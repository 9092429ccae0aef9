package debounce_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/sdk/chat"
)

const ms = time.Millisecond

var (
	start = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	auto  = config.Inbound{Debounce: config.AutoDebounce}
)

func says(text string) domain.Message {
	return domain.Message{Channel: "tg", Sender: chat.Sender{ID: "anna"}, Text: text}
}

// Behaviour: burst-auto.
func TestHowCompleteAMessageLooks(t *testing.T) {
	t.Parallel()
	forwarded, file := says("It has been decided."), says("What is this?")
	forwarded.Forwarded, file.Media = &chat.Forward{From: "Eve"}, []chat.Media{{Kind: chat.Image}}
	for name, test := range map[string]struct {
		message domain.Message
		want    domain.Wait
	}{
		"a sentence":             {says("Please run the tests again."), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"a question":             {says("does it build now?"), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"in quotes":              {says(`he said "run it!"`), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"in Chinese":             {says("今天的测试通过了吗？"), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"in Hindi":               {says("कृपया फिर से जाँच करें।"), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"a symbol":               {says("that works 👍"), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"one word that ends":     {says("Thanks!"), domain.Wait{For: 120 * ms, Why: domain.WaitSentence}},
		"without an end":         {says("what is the weather in Berlin"), domain.Wait{For: 180 * ms, Why: domain.WaitUsual}},
		"a link":                 {says("https://example.com/a/b"), domain.Wait{For: 180 * ms, Why: domain.WaitUsual}},
		"code":                   {says("```\ngo test ./...\n```"), domain.Wait{For: 180 * ms, Why: domain.WaitUsual}},
		"a greeting":             {says("hey Claude"), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"nothing":                {says(""), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"before a list":          {says("these are the errors that I see:"), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"within a sentence":      {says("if the tests are green, "), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"an ellipsis":            {says("let me think about that…"), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"three dots":             {says("let me think about that..."), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"open code":              {says("it says\n```\npanic: nil pointer"), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"as long as a part":      {says(strings.Repeat("word ", 800) + "."), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"another one's words":    {forwarded, domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
		"a file":                 {file, domain.Wait{Why: domain.WaitFile}},
		"what is not UTF-8":      {says("it says \xff\xfe and so on"), domain.Wait{For: 180 * ms, Why: domain.WaitUsual}},
		"only spaces and quotes": {says(" \n\" "), domain.Wait{For: 500 * ms, Why: domain.WaitUnfinished}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := debounce.New()
			b := j.Message(auto, "s", test.message, true, start)
			got, ok := j.Last("s", "tg", "anna")
			if !ok || got != test.want {
				t.Errorf("it waits %+v, want %+v", got, test.want)
			}
			if b.Now != (len(test.message.Media) > 0) || !b.Now && b.Pause != test.want.For || b.Gap != 500*ms || b.Wait != 2500*ms || b.By != "anna" {
				t.Errorf("the burst is %+v", b)
			}
		})
	}
}

// A fixed time stays as it is, whatever is written and seen.
// Behaviour: burst.
func TestFixed(t *testing.T) {
	t.Parallel()
	fixed := config.Inbound{Debounce: 300 * ms}
	j := debounce.New()
	for i := range 3 {
		now := start.Add(time.Duration(i) * 100 * ms)
		if b := j.Message(fixed, "s", says("and then:"), true, now); b.Gap != 300*ms || b.Pause != 300*ms || b.Wait != 1500*ms {
			t.Errorf("the burst is %+v", b)
		}
		if until, ok := j.Typing(fixed, "s", "tg", "anna", false, true, now.Add(90*ms)); ok {
			t.Errorf("it waits until %v, because its writer types", until)
		}
	}
	if got, _ := j.Last("s", "tg", "anna"); got != (domain.Wait{For: 300 * ms, Why: domain.WaitConfig}) {
		t.Errorf("it waits %+v", got)
	}
	if b := j.Message(config.Inbound{}, "s", says("and then:"), true, start); b != (domain.Burst{}) {
		t.Errorf("without a debounce the burst is %+v", b)
	}
}

// A person who has written two messages within two seconds gets the longest wait for ten minutes, in that session and nobody else.
// Behaviour: burst-auto.
func TestAWriterInPieces(t *testing.T) {
	t.Parallel()
	j := debounce.New()
	at := func(d time.Duration, session string, m domain.Message) time.Duration {
		return j.Message(auto, session, m, true, start.Add(d)).Pause
	}
	other := says("Does it work?")
	other.Sender.ID = "bert"
	for _, step := range []struct {
		at      time.Duration
		session string
		message domain.Message
		want    time.Duration
	}{
		{0, "s", says("Does it work?"), 120 * ms},
		{3 * time.Second, "s", says("Does it work?"), 120 * ms},
		{5 * time.Second, "s", says("Does it work?"), 500 * ms}, // two seconds after the one before
		{6 * time.Second, "s", other, 120 * ms},
		{6 * time.Second, "t", says("Does it work?"), 120 * ms},
		{10 * time.Minute, "s", says("Does it work?"), 500 * ms},
		{10*time.Minute + 6*time.Second, "s", says("Does it work?"), 120 * ms},
	} {
		if got := at(step.at, step.session, step.message); got != step.want {
			t.Errorf("after %v the message waits %v, want %v", step.at, got, step.want)
		}
	}
}

// Behaviour: burst-typing.
func TestTyping(t *testing.T) {
	t.Parallel()
	type signal struct {
		at      time.Duration
		stopped bool
	}
	for name, test := range map[string]struct {
		signals []signal
		want    time.Duration // the end of the wait, after a message that by itself waits 180 ms
	}{
		"none":                 {nil, 180 * ms},
		"of the message":       {[]signal{{at: 20 * ms}}, 180 * ms},
		"of the next one":      {[]signal{{at: 150 * ms}}, 10_150 * ms},
		"after the wait":       {[]signal{{at: 180 * ms}}, 180 * ms},
		"again":                {[]signal{{at: 150 * ms}, {at: 4000 * ms}}, 14_000 * ms},
		"for long":             {[]signal{{at: 150 * ms}, {at: 9000 * ms}, {at: 14_000 * ms}}, 15_000 * ms},
		"that has stopped":     {[]signal{{at: 150 * ms}, {at: 2000 * ms, stopped: true}}, 2180 * ms},
		"that goes on":         {[]signal{{at: 150 * ms}, {at: 2000 * ms, stopped: true}, {at: 2100 * ms}}, 12_100 * ms},
		"that stops too early": {[]signal{{at: 20 * ms, stopped: true}}, 180 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := debounce.New()
			end := start.Add(j.Message(auto, "s", says("what is the weather in Berlin"), true, start).Pause)
			for _, s := range test.signals {
				if until, ok := j.Typing(auto, "s", "tg", "anna", s.stopped, true, start.Add(s.at)); ok {
					end = until
				}
				if _, ok := j.Typing(auto, "s", "tg", "bert", false, true, start.Add(s.at)); ok {
					t.Error("somebody else's typing holds the message")
				}
			}
			if got := end.Sub(start); got != test.want {
				t.Errorf("it waits %v, want %v", got, test.want)
			}
			if got, _ := j.Last("s", "tg", "anna"); test.want > 180*ms && got != (domain.Wait{For: test.want, Why: domain.WaitTyping}) {
				t.Errorf("it says that it waits %+v", got)
			}
		})
	}
}

// A burst that has lasted as long as it may waits no longer, whatever is typed.
func TestTypingAfterALongBurst(t *testing.T) {
	t.Parallel()
	j := debounce.New()
	for i := range 6 {
		j.Message(auto, "s", says("and then:"), true, start.Add(time.Duration(i)*480*ms))
	}
	if until, ok := j.Typing(auto, "s", "tg", "anna", false, true, start.Add(2600*ms)); ok {
		t.Errorf("it waits until %v after its first message", until.Sub(start))
	}
}

// The next message of a person who was seen typing joins the burst, however long it took.
func TestAMessageThatWasSeenTyped(t *testing.T) {
	t.Parallel()
	j := debounce.New()
	j.Message(auto, "s", says("what is the weather"), true, start)
	if _, ok := j.Typing(auto, "s", "tg", "anna", false, true, start.Add(150*ms)); !ok {
		t.Fatal("the message does not wait")
	}
	b := j.Message(auto, "s", says("in Berlin, I mean."), true, start.Add(6*time.Second))
	if b.Gap <= 6*time.Second || b.Wait <= 6*time.Second || b.Pause != 500*ms {
		t.Errorf("it joins by %+v", b)
	}
	if b = j.Message(auto, "s", says("Thank you very much."), true, start.Add(time.Minute)); b.Gap != 500*ms || b.Wait != 2500*ms {
		t.Errorf("a later message joins by %+v", b)
	}
}

// A person who goes on after an answer does not write in pieces.
func TestAWriterWhoWasAnswered(t *testing.T) {
	t.Parallel()
	j := debounce.New()
	for i := range 5 {
		now := start.Add(time.Duration(i) * time.Second)
		if b := j.Message(auto, "s", says("Does it work?"), false, now); b.Pause != 120*ms {
			t.Errorf("message %d waits %v", i+1, b.Pause)
		}
		j.Typing(auto, "s", "tg", "anna", false, false, now.Add(500*ms))
	}
	j.Typing(auto, "s", "tg", "anna", false, true, start.Add(4500*ms))
	if b := j.Message(auto, "s", says("Does it work?"), false, start.Add(10*time.Second)); b.Pause != 500*ms {
		t.Errorf("a message after one that was typed before the answer waits %v", b.Pause)
	}
}

// Strangers cannot fill the memory.
func TestAJudgeForgets(t *testing.T) {
	t.Parallel()
	j := debounce.New()
	for i := range 10_000 {
		m := says("hello")
		m.Sender.ID = chat.UserID(fmt.Sprint(i))
		j.Message(auto, "s", m, true, start)
	}
	known := 0
	for i := range 10_000 {
		if _, ok := j.Last("s", "tg", chat.UserID(fmt.Sprint(i))); ok {
			known++
		}
	}
	if known < 2000 || known > 4000 {
		t.Errorf("%d of 10,000 writers are known", known)
	}
	if _, ok := j.Last("s", "tg", "9999"); !ok {
		t.Error("the last writer is not known")
	}
}
