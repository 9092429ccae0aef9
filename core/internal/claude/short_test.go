package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The short way to read a line finds what the long way finds, or leaves the line to that.
func FuzzShort(f *testing.F) {
	for _, name := range []string{"2.1.329_cut_twice", "2.1.197_persistent_tools"} {
		for _, line := range recorded(f, name) {
			f.Add(line)
		}
	}
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"é\n\u00e9\ud83d\"}"}},"parent_tool_use_id":null}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":[{"]":"}"}],"delta":{"text":"x"}}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"delta":{"text":"a"},"type":"content_block_delta","delta":{"text":"b"}},"parent_tool_use_id":"t"}`))
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"usage":{"input_tokens":1.5}}}`))
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"a","citations":[]}],"stop_reason":null},"error":"unknown"}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"message_start","message":{"content":[],"usage":{"input_tokens":3,"server":{"a":[1]}}}}}`))
	f.Add([]byte(`{"type":"system","subtype":"init","tools":["a"],"permissionMode":"plan"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var short event
		if !parseShort(line, &short) || !json.Valid(line) {
			return
		}
		long, err := parseAny(line)
		if err != nil {
			t.Fatalf("only the short way reads %q", line)
		}
		// The rest is of other types of lines.
		read := func(e *event) []any {
			return []any{e.Type, e.Subtype, e.UUID, e.Parent, e.State, e.Command, e.Status, e.Mode, e.Stream, e.Message, e.Error}
		}
		if diff := cmp.Diff(read(long), read(&short), cmp.AllowUnexported(apiEvent{}, delta{}, tokens{}, message{}, block{})); diff != "" {
			t.Fatalf("%q (-long way +short way):\n%s", line, diff)
		}
	})
}

// Nearly all lines of a stream go the short way.
func TestMostLinesGoTheShortWay(t *testing.T) {
	t.Parallel()
	for _, line := range recorded(t, "2.1.329_cut_twice") {
		e, err := parseAny(line)
		short := parseShort(line, new(event))
		known := err == nil && (e.Stream.Delta.Text != "" || strings.HasPrefix(e.Stream.Type, "message_") ||
			e.Stream.Type == "content_block_start" || e.Stream.Type == "content_block_stop" || e.Subtype == "init" || e.Subtype == "status" ||
			e.Type == "command_lifecycle" || e.Subtype == "session_state_changed" ||
			e.Type == "assistant" && len(e.Message.Content) == 1 && e.Message.Content[0].Type == "text")
		if short != known {
			t.Errorf("the short way: %t, for %s", short, line)
		}
	}
}
