package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// crashHostEnv makes the test binary the host of TestCrash: its value is the folder, the seed and the life's number.
const crashHostEnv = "CLAWHOST_TEST_CRASH_HOST"

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

// crashHost does what a host does, without a network and an agent. It is told of events on stdin, "EVENT SESSION N", and
// answers on stdout: "accepted EVENT" or "duplicate EVENT". It notes what a run does and what a network would have seen
// in two files, each note one write, which outlives the process.
type crashHost struct {
	store *store.Store
	runs  *os.File // "life N", "start SESSION N", "end SESSION N"
	sent  *os.File // "KEY SESSION N PIECE certain|uncertain"

	mu      sync.Mutex
	random  *rand.Rand
	changed chan struct{} // poked when a delivery has ended
}

func runCrashHost(args string) error {
	var dir string
	var seed, life uint64
	if _, err := fmt.Sscan(args, &dir, &seed, &life); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := store.Open(ctx, filepath.Join(dir, "clawhost.db"), store.Options{})
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

// feed takes events in until it is told to drain and everything is delivered, or until the test is gone.
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
			a, err := h.store.Accept(ctx, store.Inbound{
				EventID: chat.EventID(event), Session: session, Lane: store.TurnLane,
				Message: store.Message{
					Channel: "test", Chat: chat.Chat{ID: chat.ID(session), Kind: chat.Direct},
					Text: fmt.Sprint(n), Fresh: h.chance(50),
				},
			})
			must(ctx, err)
			// The test does not feed faster than the turns run, or the lives would be too short to get to the deliveries.
			select {
			case <-time.After(time.Duration(a.Waiting) * 10 * time.Millisecond):
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
		run, _, err := h.store.Claim(ctx, store.TurnLane)
		must(ctx, err)
		if run == nil {
			select {
			case <-h.store.Ready(store.TurnLane):
			case <-ctx.Done():
			}
			continue
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			h.turn(ctx, run)
		})
	}
}

func (h *crashHost) turn(ctx context.Context, run *store.Run) {
	session, n := run.Session.Key, run.Message.Message.Text
	note(h.runs, "start %s %s", session, n)
	must(ctx, h.store.Consumed(ctx, run.ID))
	if h.chance(30) {
		_, err := h.store.Rebind(ctx, run.ID)
		must(ctx, err)
	}
	note(h.runs, "end %s %s", session, n)
	if h.chance(20) {
		must(ctx, h.store.Release(ctx, run.ID, time.Time{}, ""))
		return
	}
	to := run.Message.Message.Address()
	must(ctx, h.store.Complete(ctx, run.ID, store.Completion{
		State:  store.RunDone,
		Pieces: []store.Piece{{To: to, Text: n + " 0"}, {To: to, Text: n + " 1"}},
		Turn:   &store.TurnFigures{Usage: store.Usage{Turns: 1}},
	}))
}

// deliver sends what is due.
func (h *crashHost) deliver(ctx context.Context, work *sync.WaitGroup) {
	for ctx.Err() == nil {
		ds, next, err := h.store.ClaimDeliveries(ctx, "test", 10)
		must(ctx, err)
		for _, d := range ds {
			work.Go(func() { h.send(ctx, d) })
		}
		if len(ds) > 0 {
			continue
		}
		timer := time.NewTimer(time.Hour)
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-timer.C:
		case <-h.store.DeliveriesReady():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// send is now and then refused, and now and then the network's answer is lost.
func (h *crashHost) send(ctx context.Context, d store.Delivery) {
	defer func() {
		select {
		case h.changed <- struct{}{}:
		default:
		}
	}()
	soon := time.Now().Add(time.Millisecond)
	if h.chance(30) {
		must(ctx, h.store.Retry(ctx, d.ID, store.Again{At: soon, Cause: "refused"}))
		return
	}
	certainty := "certain"
	if d.Uncertain {
		certainty = "uncertain"
	}
	note(h.sent, "%s %s %s %s", d.Key, d.Piece.To.Chat, d.Piece.Text, certainty)
	if h.chance(100) {
		must(ctx, h.store.Retry(ctx, d.ID, store.Again{At: soon, Cause: "timeout", Uncertain: true}))
		return
	}
	must(ctx, h.store.Delivered(ctx, d.ID, []chat.MessageID{chat.MessageID(strings.ReplaceAll(d.Piece.Text, " ", "/"))}))
}

// readHistory keeps a reader busy beside the writer.
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
