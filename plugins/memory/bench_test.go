package main

import (
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// BenchmarkRecall measures a search among 10,000 passages of 80 words each, half of them of a conversation. The words are as frequent as those of a
// language: the second half as often as the first, the third a third as often.
func BenchmarkRecall(b *testing.B) {
	x := opened(b)
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.07, 4, 60_000)
	text := func(n int) string {
		var t strings.Builder
		for range n {
			fmt.Fprintf(&t, "%s ", syllables(zipf.Uint64()))
		}
		return t.String()
	}
	const passages, batch = 5_000, 500
	log := &transcripts{index: x, limit: maxEntries}
	for first := 0; first < passages; first += batch {
		var entries []chat.TranscriptEntry
		for i := first; i < first+batch; i++ {
			entries = append(entries, chat.TranscriptEntry{ID: int64(i + 1), Role: chat.User, Text: text(80), At: today})
		}
		if err := log.append(b.Context(), "s", entries); err != nil {
			b.Fatal(err)
		}
		var changes []swap
		err := x.change(b.Context(), func(tx *sql.Tx) error {
			for i := first; i < first+batch; i++ {
				change, err := replace(b.Context(), tx, origin{path: fmt.Sprintf("memory/%d.md", i)}, today, []passage{{"A heading", text(80)}})
				if err != nil {
					return err
				}
				changes = append(changes, change)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		x.count(changes...)
	}
	counts, total := x.words.snapshot()
	b.Logf("%d passages, %d words", total, len(counts))
	for name, length := range map[string]int{"short": 6, "long": 120} {
		b.Run(name, func(b *testing.B) {
			var times []time.Duration
			found := 0
			for b.Loop() {
				prompt := text(length) + " zzyzxworld" // and a word that is nowhere
				began := time.Now()
				best, err := x.recall(b.Context(), view{session: "s", persons: []string{"p"}}, prompt, today, 5)
				times = append(times, time.Since(began))
				if err != nil {
					b.Fatal(err)
				}
				found += len(best)
			}
			report(b, times)
			b.ReportMetric(float64(found)/float64(len(times)), "found/op")
		})
	}
}

// BenchmarkTurn measures the whole hook with 500 files in the workspace, none of which has changed, alone and among other agents.
func BenchmarkTurn(b *testing.B) {
	for _, others := range []int{0, 20} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			a := benchmarked(b, b.TempDir())
			caller := chat.Caller{Session: "c:anna", Address: chat.Address{Channel: "c", Chat: "anna"}, Kind: chat.Direct, Sender: chat.Sender{ID: "anna"}, Authority: chat.Owner}
			for i := range others {
				if _, err := a.BeforeAgentStart(b.Context(), sdk.AgentStart{Caller: with(fmt.Sprint("agent", i), b.TempDir(), caller), Prompt: "hello"}); err != nil {
					b.Fatal(err)
				}
			}
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				if added, err := a.BeforeAgentStart(b.Context(), sdk.AgentStart{Caller: caller, Prompt: "what was in note 123 of the zebra"}); err != nil || added.Prepend == "" {
					b.Fatal(added, err)
				}
				times = append(times, time.Since(began))
			}
			report(b, times)
		})
	}
}

// syllables spells a number as a word.
func syllables(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var word strings.Builder
	for n += 70; n > 0; n /= 70 {
		word.WriteByte(consonants[n%14])
		word.WriteByte(vowels[n/14%5])
	}
	return word.String() + string(consonants[word.Len()%13])
}

// report tells how long half of the calls and all but one in a hundred took at most.
func report(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

// benchmarked is the plugin over a workspace with as many files as are read.
func benchmarked(b *testing.B, dir string) *agents {
	b.Helper()
	if err := os.Mkdir(filepath.Join(dir, "memory"), 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range maxFiles {
		path := filepath.Join(dir, "memory", fmt.Sprintf("note%d.md", i))
		if err := os.WriteFile(path, fmt.Appendf(nil, "# Note %d\nthe zebra of %d\n", i, i), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, today, today); err != nil {
			b.Fatal(err)
		}
	}
	env := sdk.Env{StateDir: b.TempDir(), Log: slog.New(slog.DiscardHandler)}
	a, err := open(b.Context(), env, config{Workspace: dir, MaxPassages: 5, MaxBytes: 6000, Sessions: true}, func() time.Time { return today.Add(time.Hour) })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.Stop(b.Context()); err != nil {
			b.Error(err)
		}
	})
	if err := a.main.files.sync(b.Context(), ""); err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkRedact measures what an entry of 4 KiB costs before it is stored.
func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("We talked about the boiler, the password is xK9#mQ2$vL7p and the rest. ", 64)[:4096]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redacted(text)
	}
}
