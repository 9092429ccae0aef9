package claude

import (
	"encoding/json"
	"testing"
)

// The short way to read a line finds what the long way finds, or leaves the line to that.
func FuzzDelta(f *testing.F) {
	for _, name := range []string{"2.1.329_cut_twice", "2.1.197_persistent_tools"} {
		for _, line := range recorded(f, name) {
			f.Add(line)
		}
	}
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"é\n\u00e9\ud83d\"}"}},"parent_tool_use_id":null}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":[{"]":"}"}],"delta":{"text":"x"}}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"delta":{"text":"a"},"type":"content_block_delta","delta":{"text":"b"}},"parent_tool_use_id":"t"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var short event
		if !parseDelta(line, &short) || !json.Valid(line) {
			return
		}
		long, err := parseAny(line)
		if err != nil {
			t.Fatalf("only the short way reads %q", line)
		}
		if long.Parent != "" || short.Stream.Delta.Text != long.Stream.Delta.Text || short.Stream.Delta.Thinking != long.Stream.Delta.Thinking ||
			short.Stream.Type != long.Stream.Type {
			t.Fatalf("%q is %+v, the short way %+v", line, long.Stream, short.Stream)
		}
	})
}

// Nearly all lines of a stream go the short way.
func TestDeltasGoTheShortWay(t *testing.T) {
	t.Parallel()
	for _, line := range recorded(t, "2.1.329_cut_twice") {
		e, err := parseAny(line)
		short := parseDelta(line, new(event))
		if want := err == nil && e.Stream.Delta.Text != ""; short != want {
			t.Errorf("the short way: %t, for %s", short, line)
		}
	}
}
