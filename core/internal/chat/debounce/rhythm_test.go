package debounce_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/sdk/chat"
)

// written is a message with when it arrived, and when the network said before that its writer types.
type written struct {
	domain.Message
	at      time.Duration
	signals []time.Duration
}

// rhythm is a conversation in which people write in one way. Each burst is to be answered as one, and no two together.
type rhythm struct {
	name   string
	typed  bool // a network may say that the person types
	bursts [][]written
}

// What people write in one message, and in several.
var (
	wholes = []string{
		"Can you check why the build fails?", "please run the tests again", "what is the weather in Berlin tomorrow", "Summarise this page for me.",
		"rename the function to Parse and fix the callers", "yes", "ok go on", "How many open issues are there?", "remind me to call Bob",
		"write a haiku about rain", "Looks good, merge it.", "show me the last 20 lines of the log", "why?", "translate it to French",
	}
	pieces = [][]string{
		{"hey", "can you check the build"},
		{"the build fails", "on main, since this morning"},
		{"Please deploy it.", "but only to staging"},
		{"look at this:", "panic: runtime error: index out of range"},
		{"ok", "then merge it", "and tell Bob"},
		{"I have an idea", "we could cache it"},
		{"is it done", "?"},
		{"run the tests", "and the linter"},
		{"hi Claude", "what's new"},
		{"wait", "not that one"},
		{"Thanks!", "one more thing", "the docs need it too"},
		{"use the other key", "the one in the vault"},
		{"how long does it take", "roughly"},
	}
)

// rhythms makes the set. The times of keys are those of two public studies: with a keyboard, 239 ms a key with a standard deviation of
// 112 ms between people (Dhakal et al., CHI 2018: 168,000 people); on a phone, 36.2 words of five letters a minute, with one of 13.2
// (Palin et al., MobileHCI 2019: 37,370 people). What programs send in one go arrives as far apart as a network's jitter.
func rhythms(r *rand.Rand) []rhythm {
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(r.Int64N(int64(high-low))) }
	var now time.Duration
	say := func(text string, after time.Duration) written {
		now += after
		return written{Message: says(text), at: now}
	}
	next := func() { now += between(20*time.Second, 3*time.Minute) }
	times := func(n int, f func() []written) (bursts [][]written) {
		now = 0
		for range n {
			bursts = append(bursts, f())
			next()
		}
		return bursts
	}
	parts := func() []written {
		list := []written{say(strings.Repeat("a part ", 585), 0)}
		for range r.IntN(3) {
			list = append(list, say(strings.Repeat("a part ", 585), between(10*ms, 150*ms)))
		}
		return append(list, say("the rest of it", between(10*ms, 150*ms)))
	}
	forwards := func() []written {
		list := []written{say("What do they mean?", 0)}
		for range 1 + r.IntN(5) {
			m := say(wholes[r.IntN(len(wholes))], between(5*ms, 110*ms))
			m.Forwarded = &chat.Forward{From: "Eve"}
			list = append(list, m)
		}
		return list
	}
	online := func() []written {
		list := []written{say(wholes[r.IntN(len(wholes))], 0)}
		for range 1 + r.IntN(4) {
			list = append(list, say(wholes[r.IntN(len(wholes))], between(5*ms, 100*ms)))
		}
		return list
	}
	shared := func() []written {
		return []written{say("https://example.com/articles/2026/how-it-works", 0), say("Summarise this page for me.", between(20*ms, 110*ms))}
	}
	// typing returns a person with a time for a key, which varies by a third.
	typing := func(key time.Duration) func() []written {
		press := func() time.Duration { return time.Duration(float64(key) * math.Exp(0.3*r.NormFloat64()-0.045)) }
		return func() []written {
			var list []written
			for i, text := range pieces[r.IntN(len(pieces))] {
				var took time.Duration
				first := press()
				for range len(text) { // the last key sends it
					took += press()
				}
				if i == 0 {
					list = append(list, say(text, 0))
					continue
				}
				sent := now
				m := say(text, first+took)
				latency := between(30*ms, 120*ms)
				for at := sent + first + latency; at < m.at; at += 8 * time.Second {
					m.signals = append(m.signals, at)
				}
				list = append(list, m)
			}
			return list
		}
	}
	var list []rhythm
	for range 10 { // people
		list = append(list,
			rhythm{name: "a long text in parts", bursts: times(5, parts)},
			rhythm{name: "forwarded with a question", bursts: times(5, forwards)},
			rhythm{name: "a phone that is online again", bursts: times(5, online)},
			rhythm{name: "a link that is shared", bursts: times(5, shared)},
			rhythm{name: "typed with a keyboard", typed: true, bursts: times(5, typing(max(100*ms, time.Duration(239+112*r.NormFloat64())*ms)))},
			rhythm{name: "typed on a phone", typed: true, bursts: times(5, typing(time.Duration(12_000/max(15, 36.2+13.2*r.NormFloat64()))*ms))},
			rhythm{name: "one message at a time", typed: true, bursts: times(15, func() []written { return []written{say(wholes[r.IntN(len(wholes))], 0)} })},
		)
	}
	return list
}

// outcome is how a rhythm's bursts were answered.
type outcome struct {
	whole []bool          // by burst
	waits []time.Duration // by answer, after its last message
}

// answer replays a rhythm, with a Claude who answers at once.
func (r rhythm) answer(c config.Inbound, seen bool) (o outcome) {
	j := debounce.New()
	var first, end, last time.Duration // of what waits
	waiting := false
	for _, burst := range r.bursts {
		whole := true
		for i, m := range burst {
			for _, at := range m.signals {
				if !seen {
					break
				}
				if until, ok := j.Typing(c, "s", "tg", "anna", false, true, start.Add(at)); ok {
					end = until.Sub(start)
				}
			}
			joins := waiting && m.at < end
			if !joins {
				if waiting {
					o.waits = append(o.waits, end-last)
				}
				first, whole = m.at, whole && i == 0
			}
			b := j.Message(c, "s", m.Message, true, start.Add(m.at))
			end, last, waiting = min(m.at+b.Pause, first+b.Wait), m.at, true
		}
		o.whole = append(o.whole, whole)
	}
	return o
}

// TestRhythms compares the judgement with a fixed time of 500 ms, by a set of which each burst is known to belong together: what that
// time answers as one, the judgement does, too, in 95 % at least; and a message alone does not wait half as long.
// Behaviour: burst-auto, burst-typing.
func TestRhythms(t *testing.T) {
	t.Parallel()
	type count struct{ all, fixed, both, unseen, seen int }
	counts, names := map[string]*count{}, []string{}
	var alone []time.Duration
	for _, r := range rhythms(rand.New(rand.NewPCG(1, 2))) {
		c := counts[r.name]
		if c == nil {
			c, names = &count{}, append(names, r.name)
			counts[r.name] = c
		}
		if !r.typed {
			for i := range r.bursts {
				for k := range r.bursts[i] {
					r.bursts[i][k].signals = nil
				}
			}
		}
		fixed, unseen, seen := r.answer(config.Inbound{Debounce: 500 * ms}, false), r.answer(auto, false), r.answer(auto, true)
		for i := range r.bursts {
			if len(r.bursts[i]) == 1 {
				continue
			}
			c.all++
			for _, add := range []struct {
				to  *int
				yes bool
			}{{&c.fixed, fixed.whole[i]}, {&c.both, fixed.whole[i] && unseen.whole[i]}, {&c.unseen, unseen.whole[i]}, {&c.seen, seen.whole[i]}} {
				if add.yes {
					*add.to++
				}
			}
		}
		if r.name == "one message at a time" {
			alone = append(alone, unseen.waits...)
		}
	}
	var total count
	for _, name := range names {
		c := *counts[name]
		total = count{total.all + c.all, total.fixed + c.fixed, total.both + c.both, total.unseen + c.unseen, total.seen + c.seen}
		t.Logf("%-30s of %3d bursts, 500 ms answer %3d as one, the judgement %3d, with signals %3d", name, c.all, c.fixed, c.unseen, c.seen)
	}
	slices.Sort(alone)
	median := alone[len(alone)/2]
	t.Logf("of %d that 500 ms answer as one, the judgement does so with %d; a message alone waits %v", total.fixed, total.both, median)
	if total.all < 200 || total.fixed < 100 || total.both*100 < total.fixed*95 {
		t.Errorf("of %d bursts, 500 ms answer %d as one, and the judgement %d of these", total.all, total.fixed, total.both)
	}
	if typed := counts["typed with a keyboard"].seen + counts["typed on a phone"].seen; typed <= 2*(counts["typed with a keyboard"].fixed+counts["typed on a phone"].fixed) {
		t.Errorf("with signals %d typed bursts are answered as one", typed)
	}
	if median > 200*ms {
		t.Errorf("a message alone waits %v", median)
	}
}
