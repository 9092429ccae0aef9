package stub

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/uuid"
)

// output writes events.
type output struct {
	to      io.Writer
	w       *bufio.Writer
	session string
	quiet   bool // only results: the output formats text and json
	held    hold
}

func newOutput(w io.Writer, opts options) *output {
	return &output{to: w, w: bufio.NewWriterSize(w, 64<<10), session: opts.session, quiet: opts.output != "stream-json", held: hold{wait: opts.hold}}
}

// send buffers an event, with the fields that all events have.
func (o *output) send(event map[string]any) {
	if event["session_id"] == nil {
		event["session_id"] = o.session
	}
	if event["uuid"] == nil {
		event["uuid"] = uuid.NewString()
	}
	o.bare(event)
}

// bare buffers an event unchanged, after what is held.
func (o *output) bare(event map[string]any) {
	if o.quiet && event["type"] != "result" || o.held.takes(event) {
		return
	}
	o.release()
	o.write(event)
}

// release buffers what is held.
func (o *output) release() {
	if held := o.held.release(); held != nil {
		o.write(held)
	}
}

// write buffers an event. As with the CLI its type comes first: readers depend on that.
func (o *output) write(event map[string]any) {
	kind := event["type"]
	delete(event, "type")
	rest, err := json.Marshal(event)
	if err != nil {
		panic(err) // only maps of plain values come here
	}
	fmt.Fprintf(o.w, "{\"type\":%q,%s\n", kind, rest[1:])
}

// raw buffers text that is not an event.
func (o *output) raw(text string) { o.w.WriteString(text) }

// endless writes a line without an end, as long as it is read.
func (o *output) endless() {
	for err := error(nil); err == nil; {
		_, err = o.w.WriteString(`{"type":"system","x":"`)
	}
}

// close closes the output while the process continues.
func (o *output) close() {
	o.release()
	o.flush()
	if c, ok := o.to.(io.Closer); ok {
		_ = c.Close()
	}
}

// flush hands everything to the reader.
func (o *output) flush() { o.w.Flush() }
