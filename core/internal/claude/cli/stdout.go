package cli

import (
	"bufio"
	"bytes"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// read takes the lines from stdout until it ends.
func (p *Process) read(stdout *batchReader) {
	buffered := bufio.NewReaderSize(stdout, 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			// It may have been the result: the turn cannot be followed any more.
			p.condemn("it wrote a line over the limit")
			return
		}
		more := followed(buffered)
		var patience time.Duration
		if line = bytes.TrimSpace(line); len(line) > 0 {
			patience = p.line(line, more)
		}
		if err != nil {
			break
		}
		if patience > 0 && buffered.Buffered() == 0 {
			stdout.Pause(patience, p.gone)
		}
	}
	p.suppressed(p.noise.End())
	// What closes its output while it runs is as good as dead. One that leaves is given time to say how.
	const leave = time.Second
	timer := time.NewTimer(leave)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C:
		p.condemn("it closed its output")
	}
}

// suppressed says how many complaints are missing in the log.
func (p *Process) suppressed(lines int) {
	if lines > 0 {
		p.log.Warn("claude wrote more lines that are no events", "lines", lines)
	}
}

// condemn kills the process for a fault of its own.
func (p *Process) condemn(fault string) {
	p.log.Error("claude is killed", "because", fault)
	p.fault = fault
	p.Kill()
}

// followed reports whether another whole line was read already.
func followed(r *bufio.Reader) bool {
	rest, _ := r.Peek(r.Buffered())
	return bytes.IndexByte(rest, '\n') >= 0
}

// line hands a line on. No text of one that is no event is logged.
func (p *Process) line(line []byte, more bool) time.Duration {
	patience, err := p.output.Line(line, more)
	if err == nil {
		return patience
	}
	logs, missing := p.noise.Take(0)
	p.suppressed(missing)
	if logs {
		p.log.Warn("claude wrote a line that is no event", "bytes", len(line))
	}
	return 0
}
