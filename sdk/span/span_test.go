package span_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/span"
)

const golden = "2e15117943521695cf3b8507537f8d36 b1aeec047f3363d7"

// Traces of events are never derived in another way, or a trace of an old host has two ids.

func TestTraceOfAnEvent(t *testing.T) {
	t.Parallel()
	id := span.OfEvent("telegram", "tg:1:2")
	if got := id.String() + " " + id.Root().String(); got != golden {
		t.Errorf("%s, want %s", got, golden)
	}
	for _, other := range []span.Trace{span.OfEvent("telegram", "tg:1:3"), span.OfEvent("work", "tg:1:2"), span.OfEvent("telegramt", "g:1:2")} {
		if other == id {
			t.Error("two events have the same trace")
		}
	}
}

func TestShareOfTraces(t *testing.T) {
	t.Parallel()
	recorded := map[float64]int{}
	for i := range 10000 {
		for _, share := range []float64{0, 0.1, 0.5, 1} {
			if span.OfEvent("p", fmt.Sprint(i)).Recorded(share) {
				recorded[share]++
			}
		}
	}
	if recorded[0] != 0 || recorded[1] != 10000 || recorded[0.1] < 850 || recorded[0.1] > 1150 || recorded[0.5] < 4750 || recorded[0.5] > 5250 {
		t.Error(recorded)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	c := span.Context{Trace: span.OfEvent("p", "1"), Span: span.ID{1, 2}}
	if got, ok := span.Parse(c.String()); !ok || got != c {
		t.Errorf("%v, %v", got, ok)
	}
	for _, header := range []string{
		"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319x-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", strings.Repeat("0", 1<<20),
	} {
		if got, ok := span.Parse(header); ok {
			t.Errorf("%.80q: %v", header, got)
		}
	}
}

func TestSpansArrive(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 1700000000123456789)
	spans := []span.Span{
		{ID: span.ID{1}, Parent: span.ID{2}, Name: "Bot API sendMessage", Start: at, End: at.Add(time.Second), Failed: true, Attributes: []span.Attribute{{Name: "status", Value: "429"}}},
		{ID: span.ID{3}, Parent: span.ID{1}, Name: "dial", Start: at, End: at},
	}
	got, err := span.Decode(span.Encode(spans))
	if diff := cmp.Diff(spans, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Whatever a plugin gives, what is sent is bounded and can be read.
func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü\x1b", 1<<16)
	var spans []span.Span
	for i := range 1000 {
		s := span.Span{ID: span.ID{1, byte(i), byte(i >> 8)}, Parent: span.ID{2}, Name: long, Start: time.Now(), End: time.Now()}
		for range 100 {
			s.Attributes = append(s.Attributes, span.Attribute{Name: long, Value: long})
		}
		spans = append(spans, s)
	}
	encoded := span.Encode(spans)
	got, err := span.Decode(encoded)
	if err != nil || len(got) == 0 || len(got) > span.Most || len(encoded) > 8<<10 {
		t.Fatalf("%d spans in %d bytes, %v", len(got), len(encoded), err)
	}
	for _, s := range got {
		if len(s.Name) > span.MaxName || len(s.Attributes) > span.MaxAttributes || len(s.Attributes[0].Value) > span.MaxValue || strings.Contains(s.Name, "\x1b") {
			t.Errorf("%+v", s)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`[{"i":"0100000000000000","p":"0200000000000000","n":"x","s":1,"e":2,"a":["k","v"]}]`)
	f.Add(`[{"i":"0100","p":"0200000000000000","n":"x","s":1,"e":2}]`)
	f.Add(`[{"i":"0100000000000000","p":"0200000000000000","n":"x","s":3,"e":2}]`)
	f.Add(`[{"i":"0000000000000000","p":"0200000000000000","n":"","s":-9,"e":2,"a":["k"]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		spans, err := span.Decode(text)
		if len(spans) > span.Most || err != nil && spans != nil {
			t.Errorf("%d spans, %v", len(spans), err)
		}
		for _, s := range spans {
			if s.ID == (span.ID{}) || s.Parent == (span.ID{}) || s.Name == "" || len(s.Name) > span.MaxName || s.End.Before(s.Start) || len(s.Attributes) > span.MaxAttributes {
				t.Errorf("%+v", s)
			}
		}
	})
}
