package core_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

const (
	faultChats = 5
	faultAhead = 3 // messages that a person writes ahead of the answers
	// faultPause bounds the time between two faults.
	faultPause = 1500 * time.Millisecond
)

// Three hosts have one bot, while they, their plugins, their claudes, their network and their database fail at random. Nothing is lost,
// nothing is answered twice but for what Telegram cannot recognise, which says so, and the order of each chat is kept.
func TestFaultsOfSeveralHosts(t *testing.T) {
	t.Parallel()
	faults, err := strconv.Atoi(os.Getenv("CLAWHOST_FLEET_FAULTS"))
	if err != nil {
		t.Skip("CLAWHOST_FLEET_FAULTS says how many faults")
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d faults", seed, faults)
	names := []string{"a", "b", "c"}
	h := newHosts(t, postgrestest.Start(t), "", names...)
	for _, f := range h.all {
		f.start()
	}
	talks := make([]*fleetTalk, faultChats)
	for i := range talks {
		talks[i] = &fleetTalk{network: h.network, user: h.network.User(int64(i + 1))}
	}
	writing, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	for _, talk := range talks {
		people.Go(func() { talk.write(writing) })
	}
	happened := map[string]int{}
	for n := 0; n < faults && !t.Failed(); n++ {
		wait(time.Duration(random.Int64N(int64(faultPause))))
		happened[h.fault(random, h.all[names[random.IntN(len(names))]])]++
	}
	stop()
	people.Wait()
	for _, f := range h.all {
		if !f.running() {
			f.start()
		}
	}
	written, repeats := 0, 0
	for _, talk := range talks {
		ctx, cancel := context.WithTimeout(t.Context(), drainTime)
		err := talk.await(ctx, talk.written)
		cancel()
		if err != nil {
			t.Errorf("chat %d: %d of %d messages are answered: %v; heard last: %q", talk.user.ID, talk.answered, talk.written, err, talk.last)
		}
		for _, wrong := range talk.wrong {
			t.Errorf("chat %d: %s", talk.user.ID, wrong)
		}
		written, repeats = written+talk.written, repeats+talk.repeats
	}
	kinds := slices.Sorted(maps.Keys(happened))
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", happened[kind], kind)
	}
	t.Logf("%d faults (%s); %d messages; %d sends whose outcome was unknown were repeated", faults, strings.Join(kinds, ", "), written, repeats)
}

// wait returns after d. Faults come at random times.
func wait(d time.Duration) { <-time.After(d) }

// fault has something go wrong with a host, and returns what.
func (h *hosts) fault(random *rand.Rand, f *fleetHost) string {
	h.Helper()
	if !f.running() { // it ends by itself only where its restart fails
		h.Errorf("host %s has ended by itself: %s", f.name, f.cmd.ProcessState)
		return "end"
	}
	short := time.Duration(random.Int64N(int64(fleetLease)))
	switch random.IntN(12) {
	case 0, 1:
		f.kill()
		wait(short)
		f.start()
		return "hosts killed"
	case 2:
		f.signal(syscall.SIGSTOP)
		wait(fleetLease + short)
		f.signal(syscall.SIGCONT)
		return "hosts stopped for longer than a lease"
	case 3:
		f.signal(syscall.SIGSTOP)
		wait(short / 2)
		f.signal(syscall.SIGCONT)
		return "hosts stopped for a moment"
	case 4:
		for _, pid := range childrenOf(f.cmd.Process.Pid, "clawhost-telegram") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return "plugins killed"
	case 5, 6:
		for _, pid := range childrenOf(f.cmd.Process.Pid, "claude-stub") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return "claudes killed"
	case 7:
		f.link.Cut()
		wait(short)
		f.link.Heal()
		return "connections cut"
	case 8:
		f.link.BlackHole()
		wait(2 * short)
		f.link.Heal()
		return "networks that swallow everything"
	case 9:
		f.link.Delay(time.Duration(random.IntN(300)) * time.Millisecond)
		wait(short)
		f.link.Heal()
		return "slow networks"
	case 10:
		h.server.Kill(h.T)
		wait(short / 4)
		h.server.Start(h.T)
		return "databases killed"
	default:
		f.stop()
		f.start()
		return "hosts restarted in order"
	}
}

// fleetTalk is what a person and the bot say in a chat. One goroutine at a time uses it.
type fleetTalk struct {
	network *telegramtest.Server
	user    *telegramtest.User

	written  int
	read     int // messages of the chat
	answered int
	repeats  int
	last     string
	wrong    []string
}

// write writes until ctx ends, but not far ahead of the answers.
func (k *fleetTalk) write(ctx context.Context) {
	for ctx.Err() == nil && len(k.wrong) == 0 {
		k.written++
		k.user.Send(0, chatty{}.says(k.written))
		_ = k.await(ctx, k.written-faultAhead) // it fails when ctx ends
	}
}

// await reads until so many messages are answered, or something is wrong.
func (k *fleetTalk) await(ctx context.Context, answered int) error {
	_, err := k.network.AwaitMessages(ctx, k.user.ID, func(all []telegramtest.Message) bool {
		for _, m := range all[k.read:] {
			if m.From == k.network.Bot().ID {
				k.hear(m.Text)
			}
		}
		k.read = len(all)
		return k.answered >= answered || len(k.wrong) > 0
	})
	return err
}

// hear reads a message of the bot.
func (k *fleetTalk) hear(text string) {
	text, marked := unmarked(text)
	n, err := numberIn(number, text)
	switch {
	case err != nil:
		return // a notice
	case n == k.answered+1:
		k.answered, k.last = n, text
	case n == k.answered && text == k.last && marked:
		k.repeats++
	default:
		k.wrong = append(k.wrong, fmt.Sprintf("heard %q (marked as a repeat: %t) after %q", text, marked, k.last))
	}
}
