package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/outbox"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// items is a store in memory with one channel: a destination's head is claimed once it is due.
type items struct {
	mu      sync.Mutex
	heads   map[chat.ID][]*item
	journal []string
	ready   chan struct{}
	full    int // ends that fail
	ids     map[int64][]chat.MessageID
}

type item struct {
	domain.Delivery
	due     time.Time
	claimed bool
}

func newPieces(texts map[chat.ID][]string) *items {
	p := &items{heads: map[chat.ID][]*item{}, ready: make(chan struct{}, 1)}
	id := int64(0)
	for _, to := range []chat.ID{"a", "b"} {
		for _, text := range texts[to] {
			id++
			p.heads[to] = append(p.heads[to], &item{Delivery: domain.Delivery{
				ID: id, Key: fmt.Sprint("k", id), Item: domain.OutboxItem{To: chat.Address{Channel: "c", Chat: to}, Text: text}, CreatedAt: time.Now(),
			}})
		}
	}
	return p
}

func (p *items) ClaimDeliveries(ctx context.Context, _ string, most int) ([]domain.Delivery, error) {
	for {
		ds, next := p.claim(most)
		if len(ds) > 0 {
			return ds, nil
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-p.ready:
		case <-due:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *items) DeliveriesDue(context.Context, string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range p.heads {
		if len(list) > 0 && !list[0].claimed && !time.Now().Before(list[0].due) {
			return true, nil
		}
	}
	return false, nil
}

func (p *items) claim(most int) (ds []domain.Delivery, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range []chat.ID{"a", "b"} {
		if len(p.heads[to]) == 0 || p.heads[to][0].claimed || len(ds) == most {
			continue
		}
		head := p.heads[to][0]
		if time.Now().Before(head.due) {
			if next.IsZero() || head.due.Before(next) {
				next = head.due
			}
			continue
		}
		head.claimed = true
		ds = append(ds, head.Delivery)
	}
	return ds, next
}

// end takes an item's head away or gives it back.
func (p *items) end(id int64, entry string, change func(*item)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full > 0 {
		p.full--
		return errors.New("disk full")
	}
	for to, list := range p.heads {
		if len(list) == 0 || list[0].ID != id {
			continue
		}
		p.journal = append(p.journal, fmt.Sprintf("%s %s", entry, list[0].Item.Text))
		if change == nil {
			p.heads[to] = list[1:]
		} else {
			change(list[0])
		}
		if len(p.heads[to]) > 0 {
			select {
			case p.ready <- struct{}{}:
			default:
			}
		}
		return nil
	}
	return domain.ErrNotFound
}

func (p *items) Delivered(_ context.Context, id int64, ids []chat.MessageID) error {
	if p.ids != nil {
		p.ids[id] = ids
	}
	return p.end(id, "delivered", nil)
}

func (p *items) DeadLetter(_ context.Context, id int64, cause string) error {
	return p.end(id, "dead ("+cause+")", nil)
}

func (p *items) EventOfRun(_ context.Context, run int64) (string, chat.EventID, error) {
	return "c", chat.EventID(fmt.Sprint("event-", run)), nil
}

func (p *items) Retry(_ context.Context, id int64, again domain.Retry) error {
	return p.end(id, fmt.Sprintf("retry (uncertain %v)", again.Uncertain), func(head *item) {
		head.due, head.claimed, head.Uncertain = again.At, false, head.Uncertain || again.Uncertain
		if !again.Excused {
			head.Attempts++
		}
	})
}

func (p *items) entries() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.journal...)
}

// network fails as the test says and then takes everything.
type network struct {
	plugintest.Idle

	mu    sync.Mutex
	fails map[string][]error // by text
	took  []string
	keys  map[string]string // by text
	wait  time.Duration
}

func (n *network) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	select {
	case <-time.After(n.wait):
	case <-ctx.Done():
		return chat.Receipt{}, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil {
		n.keys = map[string]string{}
	}
	if key, again := n.keys[out.Text]; again && key != out.Key {
		return chat.Receipt{}, errors.New("another key for the same piece")
	}
	n.keys[out.Text] = out.Key
	if left := n.fails[out.Text]; len(left) > 0 {
		n.fails[out.Text] = left[1:]
		return chat.Receipt{}, left[0]
	}
	n.took = append(n.took, out.Text)
	return chat.Receipt{IDs: []chat.MessageID{"1"}}, nil
}

func refuse(r chat.Reason, after time.Duration) error {
	return &chat.Failure{Reason: r, RetryAfter: after}
}

// running returns a registry in which a channel runs.
func running[T sdk.Channel](t *testing.T, limits chat.Limits, channel T) (*plugins.Registry, *plugintest.Process) {
	t.Helper()
	r := plugintest.Registry("c")
	return r, plugintest.Run(t, r, "c", plugintest.Channel(limits, channel))
}

// open returns an outbox that delivers the items.
func open(p *items, options outbox.Options, log hclog.Logger) *outbox.Outbox {
	if options.Chats == nil {
		options.Chats = activity.NewChats(options.Plugins, nil)
	}
	options.Grace = time.Minute
	return outbox.New(p, options, log)
}

// deliver runs an outbox for a while of the bubble's time.
func deliver(t *testing.T, p *items, n *network, most time.Duration) {
	t.Helper()
	r, _ := running(t, chat.Limits{}, n)
	o := open(p, outbox.Options{Plugins: r, Config: &config.Config{Outbox: config.Outbox{Attempts: 3, MaxAge: 24 * time.Hour}}}, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { o.Run(ctx) })
	time.Sleep(most)
	cancel()
	done.Wait()
}

// Behaviour: delivery.
func TestDelivery(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fails []error
		want  []string
	}{
		"well":              {want: []string{"delivered one", "delivered two"}},
		"a failure passes":  {fails: []error{refuse(chat.Temporary, 0)}, want: []string{"retry (uncertain false) one", "delivered one", "delivered two"}},
		"unknown outcome":   {fails: []error{errors.New("cut")}, want: []string{"retry (uncertain true) one", "delivered one", "delivered two"}},
		"refused for good":  {fails: []error{refuse(chat.Forbidden, 0)}, want: []string{"dead (forbidden) one", "delivered two"}},
		"too many attempts": {fails: []error{refuse(chat.Temporary, 0), refuse(chat.Temporary, 0), refuse(chat.Temporary, 0)}, want: []string{"retry (uncertain false) one", "retry (uncertain false) one", "dead (temporary failure) one", "delivered two"}},
		"patience has no end but age": {
			fails: []error{refuse(chat.RateLimited, time.Minute), refuse(chat.NotConnected, 0), refuse(chat.RateLimited, time.Hour), refuse(chat.NotConnected, 0)},
			want:  []string{"retry (uncertain false) one", "retry (uncertain false) one", "retry (uncertain false) one", "retry (uncertain false) one", "delivered one", "delivered two"},
		},
		"patience is no attempt": {
			fails: []error{refuse(chat.NotConnected, 0), refuse(chat.NotConnected, 0), refuse(chat.RateLimited, 0), refuse(chat.Temporary, 0), refuse(chat.Temporary, 0)},
			want:  append(slices.Repeat([]string{"retry (uncertain false) one"}, 5), "delivered one", "delivered two"),
		},
		"too old": {
			fails: []error{refuse(chat.RateLimited, 13*time.Hour), refuse(chat.RateLimited, 13*time.Hour)},
			want:  []string{"retry (uncertain false) one", "retry (uncertain false) one", "dead (too old to send: 26h0m0s) one", "dead (too old to send: 26h0m0s) two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPieces(map[chat.ID][]string{"a": {"one", "two"}})
				deliver(t, p, &network{fails: map[string][]error{"one": test.fails}}, 48*time.Hour)
				if diff := cmp.Diff(test.want, p.entries()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Behaviour: delivery.
func TestADestinationThatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPieces(map[chat.ID][]string{"a": {"a1", "a2"}, "b": {"b1", "b2"}})
		deliver(t, p, &network{fails: map[string][]error{"a1": {refuse(chat.RateLimited, time.Hour)}}}, time.Minute)
		got := p.entries()
		slices.Sort(got) // the destinations are side by side
		if diff := cmp.Diff([]string{"delivered b1", "delivered b2", "retry (uncertain false) a1"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAStoreThatCannotNoteAnOutcomeIsAskedUntilItCan(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string][]error{"delivered": nil, "retry": {refuse(chat.Temporary, 0)}, "dead letter": {refuse(chat.Forbidden, 0)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPieces(map[chat.ID][]string{"a": {"one", "two"}})
				p.full = 100
				n := &network{fails: map[string][]error{"one": fails}}
				deliver(t, p, n, 2*time.Hour)
				if got := p.entries(); len(got) == 0 || got[len(got)-1] != "delivered two" {
					t.Errorf("%v: the chat is stuck", got)
				}
				if once := slices.Compact(slices.Clone(n.took)); len(once) != len(n.took) {
					t.Errorf("sent %v", n.took)
				}
			})
		})
	}
}

// TestUncertainRepeatIsLogged for channels that may show it twice.
func TestUncertainRepeatIsLogged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits chat.Limits
		warned bool
	}{
		"an idempotent channel": {chat.Limits{IdempotentSend: true}, false},
		"any other":             {chat.Limits{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPieces(map[chat.ID][]string{"a": {"one"}})
				r, _ := running(t, tt.limits, &network{fails: map[string][]error{"one": {errors.New("cut")}}})
				var log bytes.Buffer
				o := open(p, outbox.Options{Plugins: r, Config: &config.Config{Outbox: config.Outbox{Attempts: 3}}}, hclog.New(&hclog.LoggerOptions{Output: &log}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				o.Run(ctx)
				if entries := p.entries(); !slices.Contains(entries, "delivered one") {
					t.Fatalf("the entries: %q", entries)
				}
				if warned := strings.Contains(log.String(), "whose outcome is unknown"); warned != tt.warned {
					t.Errorf("the operator is warned: %t, want %t:\n%s", warned, tt.warned, &log)
				}
			})
		})
	}
}

// drafts is a chat that notes when it shows a draft.
type drafts struct {
	stream.Surface

	items *items
	seen  []string
}

func (d *drafts) Draft(context.Context, string) error {
	d.seen = append(d.seen, strings.Join(d.items.entries(), ", "))
	return nil
}

// A chat learns, once the store knows it, of each item that no longer waits.
// Behaviour: draft-refresh.
func TestAChatLearnsOfDeliveries(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fails []error
		want  string
	}{
		"delivered":       {want: "delivered one"},
		"delivered later": {[]error{refuse(chat.Temporary, 0)}, "retry (uncertain false) one, delivered one"},
		"given up":        {[]error{refuse(chat.Forbidden, 0)}, "dead (forbidden) one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPieces(map[chat.ID][]string{"a": {"one"}})
				p.full = 1
				r, _ := running(t, chat.Limits{}, &network{fails: map[string][]error{"one": test.fails}})
				seen, chats, to := &drafts{items: p}, activity.NewChats(r, nil), p.heads["a"][0].Item.To
				shown := stream.New(stream.Options{Mode: stream.Draft, To: to}, seen, &domain.Run{})
				shown.Start(t.Context())
				chats.Begin(shown, to)
				shown.Progress(agent.Progress{Text: "so far"})
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				open(p, outbox.Options{Plugins: r, Config: &config.Config{Outbox: config.Outbox{Attempts: 3}}, Chats: chats}, hclog.NewNullLogger()).Run(ctx)
				shown.End()
				if diff := cmp.Diff([]string{"", test.want}, seen.seen); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestShutdownDeliversDueItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPieces(map[chat.ID][]string{"a": {"one", "two", "three"}})
		deliver(t, p, &network{wait: 10 * time.Second}, time.Second)
		if diff := cmp.Diff([]string{"delivered one", "delivered two", "delivered three"}, p.entries()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestShutdownEndsWithTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPieces(map[chat.ID][]string{"a": {"one", "two"}})
		deliver(t, p, &network{wait: 50 * time.Second}, time.Second)
		// The second send is cut by the end of the grace: the result of it is not known.
		if diff := cmp.Diff([]string{"delivered one", "retry (uncertain true) two"}, p.entries()); diff != "" {
			t.Error(diff)
		}
	})
}

// What becomes due when the channel has gone down waits for it, and is not claimed.
func TestChannelStopsWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPieces(map[chat.ID][]string{"a": {"one"}})
		p.heads["a"][0].due = time.Now().Add(time.Minute)
		r, c := running(t, chat.Limits{}, &network{})
		o := open(p, outbox.Options{Plugins: r, Config: &config.Config{Outbox: config.Outbox{Attempts: 1}}}, hclog.NewNullLogger())
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { o.Run(ctx) })
		synctest.Wait()
		c.Leave()
		time.Sleep(time.Hour)
		if got := p.entries(); len(got) != 0 {
			t.Errorf("%q while the channel is down", got)
		}
		c.Enter(r)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"delivered one"}, p.entries()); diff != "" {
			t.Error(diff)
		}
		cancel()
		done.Wait()
	})
}

// Behaviour: delivery.
func TestAChannelThatIsDownIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPieces(map[chat.ID][]string{"a": {"one"}})
		r := plugintest.Registry("c")
		o := open(p, outbox.Options{Plugins: r, Config: &config.Config{Outbox: config.Outbox{Attempts: 1}}}, hclog.NewNullLogger())
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { o.Run(ctx) })
		time.Sleep(time.Hour)
		if got := p.entries(); len(got) != 0 {
			t.Errorf("with the channel down: %v", got)
		}
		plugintest.Run(t, r, "c", plugintest.Channel(chat.Limits{}, &network{}))
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"delivered one"}, p.entries()); diff != "" {
			t.Error(diff)
		}
		cancel()
		done.Wait()
	})
}
