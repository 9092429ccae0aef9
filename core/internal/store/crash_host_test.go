package store_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// crashHostEnv makes the test binary the host of TestCrash: its value is the folder, the seed and the life's number.
const crashHostEnv = "CLAWHOST_TEST_CRASH_HOST"

// crashServerEnv is the DSN of its database in PostgreSQL; empty: it has a file in its folder.
const crashServerEnv = "CLAWHOST_TEST_CRASH_SERVER"

func TestMain(m *testing.M) {
	if args := os.Getenv(crashHostEnv); args != "" {
		if err := runCrashHost(args); err != nil {
			fmt.Fprintln(os.Stderr, "crash host:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashHost does what a host does, without a network and an agent. It reads events from stdin, "EVENT SESSION N", and
// answers on stdout: "accepted EVENT" or "duplicate EVENT". It notes what a run does and what a network would have seen
// in two files, each note one write, which outlives the process.
type crashHost struct {
	store *store.Store
	runs  *os.File // "life N", "start SESSION N N …", "join SESSION N", "resume SESSION", "end SESSION N", the last one that is answered
	sent  *os.File // "KEY SESSION N PIECE certain|uncertain TARGET|-", "KEY SESSION preview", "KEY SESSION delete TARGET"

	mu      sync.Mutex
	random  *rand.Rand
	changed chan struct{} // poked when a delivery or a run has ended
}

func runCrashHost(args string) error {
	var dir string
	var seed, life uint64
	if _, err := fmt.Sscan(args, &dir, &seed, &life); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	open, at := store.Open, filepath.Join(dir, "clawhost.db")
	if dsn := os.Getenv(crashServerEnv); dsn != "" {
		open, at = store.OpenServer, dsn
	}
	s, err := open(ctx, at, store.Options{})
	if err != nil {
		return err
	}
	if _, _, err := s.Reclaim(ctx); err != nil {
		return err
	}
	h := &crashHost{store: s, random: rand.New(rand.NewPCG(seed, life)), changed: make(chan struct{}, 1)}
	for name, f := range map[string]**os.File{"runs": &h.runs, "sent": &h.sent} {
		if *f, err = os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	note(h.runs, "life %d", life)

	var work sync.WaitGroup
	work.Go(func() { h.dispatch(ctx, &work) })
	work.Go(func() { h.deliver(ctx, &work) })
	work.Go(func() { h.readHistory(ctx) })
	fmt.Println("ready")
	if err := h.feed(ctx); err != nil {
		return err
	}
	cancel()
	work.Wait()
	return s.Close()
}

func note(f *os.File, format string, args ...any) {
	if _, err := fmt.Fprintf(f, format+"\n", args...); err != nil {
		panic(err)
	}
}

// chance is true once in n.
func (h *crashHost) chance(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(n) == 0
}

// must ends the host as a crash would: the test sees it, and finds the reason on stderr.
func must(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		panic(err)
	}
}

// feed takes events in until the test has it drain and everything is delivered, or until the test is gone.
func (h *crashHost) feed(ctx context.Context) error {
	lines := bufio.NewScanner(os.Stdin)
	var accepts sync.WaitGroup
	defer accepts.Wait()
	for lines.Scan() {
		if lines.Text() == "drain" {
			return h.drain(ctx)
		}
		var event, session string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &event, &session, &n); err != nil {
			return err
		}
		accepts.Go(func() {
			a, err := h.store.Accept(ctx, crashInbound(event, session, n, h.chance(50)))
			must(ctx, err)
			// The test does not feed much faster than the turns run, or the lives would be too short to get to the deliveries.
			select {
			case <-time.After(time.Duration(max(a.Waiting-4, 0)) * 10 * time.Millisecond):
			case <-ctx.Done():
			}
			verdict := "accepted"
			if a.Duplicate {
				verdict = "duplicate"
			}
			fmt.Println(verdict, event)
		})
	}
	return errors.New("the test is gone")
}

// crashInbound is the nth event of a session. Five in a row wait in the same way: each for itself, as a burst, to be
// collected, to be steered into the running turn. Not all sessions begin with the same.
func crashInbound(event, session string, n int, fresh bool) domain.Inbound {
	in := domain.Inbound{
		EventID: chat.EventID(event), Session: session, Lane: domain.TurnLane,
		Message: domain.Message{
			Channel: "test", Chat: chat.Chat{ID: chat.ID(session), Kind: chat.Direct}, Sender: chat.Sender{ID: chat.UserID(session)},
			Text: fmt.Sprint(n), Fresh: fresh,
		},
	}
	switch (n/5 + int(session[len(session)-1])) % 4 {
	case 1:
		in.Burst = domain.Burst{Gap: 3 * time.Millisecond, Pause: 3 * time.Millisecond, By: session, Messages: 3, Bytes: 1000, Wait: 20 * time.Millisecond}
	case 2:
		in.Queue = domain.Queueing{Mode: domain.Collect, Quiet: 2 * time.Millisecond}
	case 3:
		in.Queue = domain.Queueing{Mode: domain.Steer}
	}
	return in
}

func (h *crashHost) drain(ctx context.Context) error {
	for {
		lanes, err := h.store.Lanes(ctx)
		if err != nil {
			return err
		}
		destinations, err := h.store.Destinations(ctx)
		if err != nil {
			return err
		}
		if len(lanes) == 0 && len(destinations) == 0 {
			fmt.Println("drained")
			return nil
		}
		<-h.changed
	}
}

// dispatch runs turns, eight at a time.
func (h *crashHost) dispatch(ctx context.Context, work *sync.WaitGroup) {
	slots := make(chan struct{}, 8)
	for ctx.Err() == nil {
		var run *domain.Run
		must(ctx, h.store.Claim(ctx, domain.TurnLane, domain.Anybodys, func(claimed *domain.Run) { run = claimed }))
		if run == nil {
			return
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			h.turn(ctx, run)
		})
	}
}

// turn answers the messages of a run and some of those that it got meanwhile: the first ones, as claude takes them in
// order.
func (h *crashHost) turn(ctx context.Context, run *domain.Run) {
	defer h.poke() // all of it may be delivered by then
	session, answered := run.Session.Key, []string{run.Head.Message.Text}
	for _, m := range run.More {
		answered = append(answered, m.Message.Text)
	}
	note(h.runs, "start %s %s", session, strings.Join(answered, " "))
	if !run.Session.ClaudeStarted && h.chance(2) {
		must(ctx, h.store.BeginAs(ctx, run.ID, fmt.Sprint("spare", run.ID)))
	}
	must(ctx, h.store.Consumed(ctx, run.ID))
	a := crashAnswer{host: h, run: run, left: crashPieces(run, answered)}
	a.resume()
	if run.Said == "" && h.chance(30) {
		_, err := h.store.ReplaceSession(ctx, run.ID)
		must(ctx, err)
		a.preview = 0
	}
	var covered []string
	left := false
	for !h.chance(3) && ctx.Err() == nil {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
		if h.chance(2) {
			a.early(ctx)
		}
		joined, err := h.store.Join(ctx, run.ID)
		must(ctx, err)
		for _, m := range joined {
			note(h.runs, "join %s %s", session, m.Message.Text)
			if left = left || h.chance(3); !left {
				answered, covered = append(answered, m.Message.Text), append(covered, m.UUID)
			}
		}
	}
	if ctx.Err() != nil {
		return
	}
	note(h.runs, "end %s %s", session, answered[len(answered)-1])
	if h.chance(20) {
		must(ctx, h.store.Release(ctx, run.ID, time.Time{}, ""))
		return
	}
	a.left = append(a.left, crashPieces(run, answered[1+len(run.More):])...)
	must(ctx, h.store.Complete(ctx, run.ID, domain.Completion{
		State: domain.RunDone, Covered: covered, Turn: &domain.TurnFigures{Usage: domain.Usage{Turns: int64(len(answered))}},
		Items: a.final(),
	}))
}

// crashPieces is the answer to messages: two items for each.
func crashPieces(run *domain.Run, messages []string) (items []domain.OutboxItem) {
	for _, n := range messages {
		for item := range 2 {
			items = append(items, domain.OutboxItem{To: run.Head.Message.Address(), Text: fmt.Sprint(n, " ", item)})
		}
	}
	return items
}

// crashAnswer is an answer that is sent as it is written. What was said of it is a semicolon for each of its items.
type crashAnswer struct {
	host    *crashHost
	run     *domain.Run
	said    string
	preview int64
	left    []domain.OutboxItem
}

// resume goes on where an earlier attempt was.
func (a *crashAnswer) resume() {
	a.said, a.preview = a.run.Said, a.run.Preview
	if a.said != "" || a.preview != 0 {
		note(a.host.runs, "resume %s", a.run.Session.Key)
	}
	a.left = a.left[len(a.said):]
}

// early sends the next item, if there is one, perhaps with a preview of the one after it.
func (a *crashAnswer) early(ctx context.Context) {
	if len(a.left) == 0 {
		return
	}
	said := a.said + ";"
	e := domain.Early{Items: a.take(a.left[:1]), Said: said, Unpreview: true}
	if a.host.chance(2) {
		e.Preview = &domain.OutboxItem{To: a.run.Head.Message.Address(), Text: "preview"}
	}
	preview, err := a.host.store.Early(ctx, a.run.ID, e)
	must(ctx, err)
	a.said, a.preview, a.left = said, preview, a.left[1:]
}

// take has the first of the items take the place of the preview.
func (a *crashAnswer) take(items []domain.OutboxItem) []domain.OutboxItem {
	items = slices.Clone(items)
	if a.preview != 0 && len(items) > 0 {
		items[0].Edits, items[0].OrSend = a.preview, true
	}
	return items
}

// final is the rest of the answer.
func (a *crashAnswer) final() []domain.OutboxItem {
	if a.preview != 0 && len(a.left) == 0 {
		return []domain.OutboxItem{{To: a.run.Head.Message.Address(), Edits: a.preview}}
	}
	return a.take(a.left)
}

// deliver sends what is due.
func (h *crashHost) deliver(ctx context.Context, work *sync.WaitGroup) {
	for ctx.Err() == nil {
		ds, err := h.store.ClaimDeliveries(ctx, "test", 10)
		must(ctx, err)
		for _, d := range ds {
			work.Go(func() { h.send(ctx, d) })
		}
	}
}

// send is now and then refused, and now and then the network's answer is lost.
func (h *crashHost) send(ctx context.Context, d domain.Delivery) {
	defer h.poke()
	soon := time.Now().Add(time.Millisecond)
	if h.chance(30) {
		must(ctx, h.store.Retry(ctx, d.ID, domain.Retry{At: soon, Cause: "refused"}))
		return
	}
	certainty := "certain"
	if d.Uncertain {
		certainty = "uncertain"
	}
	target := cmp.Or(string(d.Target), "-")
	ids := []chat.MessageID{chat.MessageID(d.Key)}
	switch {
	case d.Item.Kept:
		note(h.sent, "%s %s preview", d.Key, d.Item.To.Chat)
	case d.Item.Text == "":
		note(h.sent, "%s %s delete %s", d.Key, d.Item.To.Chat, target)
		ids = nil
	default:
		note(h.sent, "%s %s %s %s %s", d.Key, d.Item.To.Chat, d.Item.Text, certainty, target)
	}
	if h.chance(100) {
		must(ctx, h.store.Retry(ctx, d.ID, domain.Retry{At: soon, Cause: "timeout", Uncertain: true}))
		return
	}
	must(ctx, h.store.Delivered(ctx, d.ID, ids))
}

func (h *crashHost) poke() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// readHistory keeps a reader busy alongside the writer.
func (h *crashHost) readHistory(ctx context.Context) {
	for ctx.Err() == nil {
		sessions, err := h.store.Sessions(ctx, "", 5)
		must(ctx, err)
		for _, s := range sessions {
			_, err := h.store.Transcript(ctx, s.Key, 0, 50)
			must(ctx, err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
