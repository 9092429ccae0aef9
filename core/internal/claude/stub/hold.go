package stub

import "time"

// hold keeps the pieces of a block for a moment and joins them, as the CLI does if it is given a time for that. The first
// piece of a block is not held.
type hold struct {
	wait time.Duration // zero: nothing is held

	opened bool             // the last event of the stream began a block
	event  map[string]any   // the first piece that is held, with the text of all; nil: none is
	due    <-chan time.Time // when it is written at the latest
}

// takes reports whether an event is held. If it is not, what is held must be written before it.
func (h *hold) takes(event map[string]any) bool {
	if h.wait == 0 || event["type"] != "stream_event" {
		return false
	}
	first, kind := h.opened, streamed(event)["type"]
	h.opened = kind == "content_block_start"
	if first || kind != "content_block_delta" {
		return false
	}
	if h.event == nil {
		h.event, h.due = event, time.After(h.wait)
		return true
	}
	held := delta(h.event)
	for name, piece := range delta(event) {
		if name != "type" {
			held[name] = held[name].(string) + piece.(string)
		}
	}
	return true
}

// release returns what is held, which is no longer; nil: nothing.
func (h *hold) release() map[string]any {
	event := h.event
	h.event, h.due = nil, nil
	return event
}

func streamed(event map[string]any) map[string]any { return event["event"].(map[string]any) }

func delta(event map[string]any) map[string]any { return streamed(event)["delta"].(map[string]any) }
