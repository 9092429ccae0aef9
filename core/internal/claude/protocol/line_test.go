package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readLine cuts a stream into its lines, of any length and whatever the buffer's size; of one over the limit it does not
// read more than that.
func TestReadLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,150}`)).Draw(t, "lines")
		var want []string
		for _, l := range lines {
			if len(l)+1 > limit {
				l = "too long"
			}
			want = append(want, l)
		}
		tail := rapid.StringMatching(`[a-z]{0,99}`).Draw(t, "tail")
		want = append(want, tail)
		text := tail
		if len(lines) > 0 {
			text = strings.Join(lines, "\n") + "\n" + tail
		}
		r := bufio.NewReaderSize(strings.NewReader(text), rapid.IntRange(16, 300).Draw(t, "buffer"))
		var got []string
		for {
			line, err := readLine(r, bounds{line: limit, whole: limit, kept: limit})
			if errors.Is(err, ErrLineTooLong) {
				line, err = []byte("too long"), SkipLine(r)
			}
			got = append(got, string(line))
			if err != nil {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Of a long line the strings are shortened, and it stays the JSON that it was.
// Behaviour: claude-output-bounded.
func TestLongLinesStayJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := bounds{line: 1 << 20, whole: rapid.IntRange(0, 60).Draw(t, "whole"), text: rapid.IntRange(0, 12).Draw(t, "text"), kept: 1 << 20}
		value := rapid.Custom(func(t *rapid.T) any { return drawn(t, 3) }).Draw(t, "value")
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReaderSize(bytes.NewReader(append(written, '\n')), rapid.IntRange(16, 64).Draw(t, "buffer"))
		line, err := readLine(r, b)
		if err != nil {
			t.Fatal(err)
		}
		var was, is any
		if err := json.Unmarshal(written, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &is); err != nil {
			t.Fatalf("%s became %s: %v", written, line, err)
		}
		if !shortened(was, is) {
			t.Fatalf("%s became %s", written, line)
		}
		const slack = 6 + utf8.UTFMax // the last escape sequence, and the cut that falls into a buffer
		if most := b.whole + 64 + strings.Count(string(written), `"`)*(b.text+slack) + len(written)/2; len(line) > len(written) || len(line) > most && len(written) > 4*most {
			t.Fatalf("of %d bytes %d were kept", len(written), len(line))
		}
	})
}

// drawn is a JSON value.
func drawn(t *rapid.T, depth int) any {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("[\"\\\\\n\u2028<é😀a]{0,40}"))
	switch n := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case n == 0 && depth > 0:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawn(t, depth-1) }), 0, 4).Draw(t, "list")
	case n == 1 && depth > 0:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			object["k"+string(rune('a'+len(object)))] = drawn(t, depth-1)
		}
		return object
	case n == 2:
		return rapid.Float64().Draw(t, "number")
	case n == 3:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "word")
	default:
		return text.Draw(t, "text")
	}
}

// shortened reports whether a value is another one but for the ends of its strings. Keys may be shortened as well.
func shortened(was, is any) bool {
	switch was := was.(type) {
	case string:
		is, ok := is.(string)
		is = strings.TrimRight(is, string(utf8.RuneError)) // of a character that was cut
		return ok && strings.HasPrefix(was, is)
	case []any:
		is, ok := is.([]any)
		if !ok || len(is) != len(was) {
			return false
		}
		for i := range was {
			if !shortened(was[i], is[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok || len(is) > len(was) {
			return false
		}
		for name, value := range is {
			if full, there := was[name]; there && !shortened(full, value) {
				return false
			}
		}
		return true
	default:
		return cmp.Equal(was, is)
	}
}

// A line of 60 MB costs a fraction of that.
// Behaviour: claude-output-bounded.
func TestLongLineIsCheap(t *testing.T) { // not together with others, whose memory would count
	const size, most = 60 << 20, 100 << 20
	head := `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":[{"type":"text","text":"`
	tail := `"}]}]},"parent_tool_use_id":"t0","uuid":"u1"}` + "\n"
	r := bufio.NewReaderSize(io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, size), strings.NewReader(tail)), 64<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	line, err := ReadLine(r)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse(line)
	runtime.ReadMemStats(&after)
	if err != nil || e.Parent != "t0" || e.UUID != "u1" || len(e.Message.Content) != 1 || e.Message.Content[0].ToolUseID != "t1" {
		t.Fatalf("the line was read as %+v, %v", e, err)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > most {
		t.Errorf("it took %d MB", cost>>20)
	} else {
		t.Logf("it took %d MB", cost>>20)
	}
}

// endless is a text without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
