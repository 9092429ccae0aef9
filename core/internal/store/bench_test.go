package store_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// benchStore is a store that has this many idle sessions, of the users "user-1" and so on.
func benchStore(tb testing.TB, sessions int) *store.Store {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "clawhost.db")
	open := func() *store.Store {
		s, err := store.Open(tb.Context(), path, store.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
	if err := open().Close(); err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
	if err != nil {
		tb.Fatal(err)
	}
	const users = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) `
	for _, insert := range []string{
		`INSERT INTO claude_sessions (id, session, begun_at, started_at)
			SELECT printf('%036d', i), 'telegram:user-' || i, 1, 1 FROM n`,
		`INSERT INTO sessions (key, claude_session, kind, title, channel, chat, thread, created_at, reset_at, interacted_at, message_at)
			SELECT 'telegram:user-' || i, printf('%036d', i), 1, 'user-' || i, 'telegram', 'user-' || i, '', 1, 1, 1, 1 FROM n`,
		`INSERT INTO lanes (session, lane, next_seq, queued) SELECT 'telegram:user-' || i, 'turn', 1, 0 FROM n`,
		`INSERT INTO dedupe (kind, channel, id, seen_at) SELECT 'event', 'telegram', 'user-' || i || '-0', 1 FROM n`,
	} {
		if _, err := db.Exec(users+insert, sessions); err != nil {
			tb.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	s := open()
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// benchInbound is the nth message of a random one of the users, of 480 bytes.
func benchInbound(sessions, n int) domain.Inbound {
	in := inbound(fmt.Sprintf("user-%d", 1+rand.IntN(sessions)), n)
	in.Message.Text = fmt.Sprintf("%480d", n)
	return in
}

// reportLatency reports the median and the 99th percentile.
func reportLatency(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), name+"-p99-µs")
}

func perSession(b *testing.B, f func(b *testing.B, sessions int)) {
	for _, sessions := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) { f(b, sessions) })
	}
}

func BenchmarkAccept(b *testing.B) {
	perSession(b, func(b *testing.B, sessions int) {
		s, took := benchStore(b, sessions), []time.Duration{}
		for n := 1; b.Loop(); n++ {
			began := time.Now()
			if _, err := s.Accept(b.Context(), benchInbound(sessions, n)); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		reportLatency(b, "accept", took)
	})
}

func BenchmarkAccept16Writers(b *testing.B) {
	perSession(b, func(b *testing.B, sessions int) {
		s, next := benchStore(b, sessions), atomic.Int64{}
		b.SetParallelism(8) // times two processors
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.Accept(b.Context(), benchInbound(sessions, int(next.Add(1)))); err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepts/s")
	})
}

// BenchmarkMessage takes a message all its way, one at a time.
func BenchmarkMessage(b *testing.B) {
	perSession(b, func(b *testing.B, sessions int) {
		s := benchStore(b, sessions)
		var accepted, claimed []time.Duration
		for n := 1; b.Loop(); n++ {
			accept, claim := wholeWay(b, s, benchInbound(sessions, n))
			accepted, claimed = append(accepted, accept), append(claimed, claim)
		}
		reportLatency(b, "accept", accepted)
		reportLatency(b, "claim", claimed)
	})
}

// wholeWay takes a message all its way: accept, claim, consumed, complete with two items, and the delivery of both.
func wholeWay(tb testing.TB, s *store.Store, in domain.Inbound) (accepted, claimed time.Duration) {
	tb.Helper()
	fail := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	began := time.Now()
	_, err := s.Accept(tb.Context(), in)
	fail(err)
	accepted = time.Since(began)
	began = time.Now()
	run, _, err := s.ClaimNow(tb.Context(), domain.TurnLane)
	fail(err)
	claimed = time.Since(began)
	fail(s.Consumed(tb.Context(), run.ID))
	to := run.Head.Message.Address()
	fail(s.Complete(tb.Context(), run.ID, domain.Completion{
		State:      domain.RunDone,
		Items:      []domain.OutboxItem{{To: to, Text: "one"}, {To: to, Text: "two"}},
		Transcript: []chat.TranscriptEntry{{Role: chat.Assistant, Text: "one two", At: began}},
		Turn:       &domain.TurnFigures{Usage: domain.Usage{Turns: 1}, Model: "sonnet", FirstWord: time.Second},
	}))
	for range 2 {
		ds, _, err := s.ClaimDeliveriesNow(tb.Context(), "telegram", 10)
		fail(err)
		fail(s.Delivered(tb.Context(), ds[0].ID, []chat.MessageID{chat.MessageID(ds[0].Key)}))
	}
	return accepted, claimed
}

// The allocations of a message in the store neither grow unnoticed nor stay written down as more than they are. The test
// runs alone, because all allocations of the process count.
func TestAllocationsOfAMessage(t *testing.T) {
	store.SQLiteOnly(t)
	const want = 476
	s, n := benchStore(t, 10), 0
	got := testing.AllocsPerRun(300, func() {
		n++
		wholeWay(t, s, benchInbound(10, n))
	})
	if got < 0.9*want || got > 1.1*want {
		t.Errorf("a message needs %.0f allocations in the store, want %d, ±10 %%", got, want)
	}
}
