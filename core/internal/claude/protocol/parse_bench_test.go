package protocol

import "testing"

// BenchmarkParse reads the lines that come most.
func BenchmarkParse(b *testing.B) {
	const tail = `"session_id":"9155a9da-1661-4671-b766-68c8e4d76d01","parent_tool_use_id":null,"uuid":"3ec8059e-c9aa-4d86-a6ad-27a7d1ed9a39"}`
	for name, line := range map[string]string{
		"delta": `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"1234 "}},` + tail,
		"start": `{"type":"stream_event","event":{"type":"message_start","message":{"model":"claude-sonnet-5-5","id":"msg_5244f2bf5943e573ee819eff","type":"message",` +
			`"role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":12,` +
			`"cache_read_input_tokens":19000,"output_tokens":1}}},` + tail,
		"message": `{"type":"assistant","message":{"model":"claude-sonnet-5-5","id":"msg_5244f2bf5943e573ee819eff","type":"message","role":"assistant",` +
			`"content":[{"type":"text","text":"It said hi, and went on to say a few things more."}],"stop_reason":null,"stop_sequence":null,` +
			`"usage":{"input_tokens":3,"cache_creation_input_tokens":12,"cache_read_input_tokens":19000,"output_tokens":1}},` + tail,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse([]byte(line)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
