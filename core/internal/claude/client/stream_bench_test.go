package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
)

// BenchmarkTokens is what 10,000 streamed tokens cost from the line on stdout to the call of Watcher.Progress.
func BenchmarkTokens(b *testing.B) {
	const tokens = 10_000
	line := func(event string) []byte {
		return []byte(`{"type":"stream_event","event":` + event + `,"session_id":"9155a9da-1661-4671-b766-68c8e4d76d01",` +
			`"parent_tool_use_id":null,"uuid":"3ec8059e-c9aa-4d86-a6ad-27a7d1ed9a39","api_message_id":"msg_5244f2bf5943e573ee819eff"}`)
	}
	lines := [][]byte{
		line(`{"type":"message_start","message":{"id":"msg_5244f2bf5943e573ee819eff","model":"claude-sonnet-5-5","content":[]}}`),
		line(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
	}
	for i := range tokens {
		lines = append(lines, line(fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%d "}}`, i)))
	}
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		reported := 0
		s := &Client{log: hclog.NewNullLogger(), moved: make(chan struct{})}
		s.follow(exchange.New("m"), progressFunc(func(agent.Progress) { reported++ }))
		for _, line := range lines {
			if err := s.Line(line, false); err != nil {
				b.Fatal(err)
			}
		}
		if reported != tokens {
			b.Fatalf("%d pieces were told, want %d", reported, tokens)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// cpu is the time that the process has had, which other processes do not lengthen.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
