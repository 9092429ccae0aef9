package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// read reads stdout until it ends.
func (p *Process) read(stdout *os.File) {
	buffered := bufio.NewReaderSize(stdout, 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			// It may have been the result: the turn cannot be followed any further.
			p.killForFault("it wrote a line over the limit")
			return
		}
		more := followed(buffered)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.line(line, more)
		}
		if err != nil {
			break
		}
	}
	p.suppressed(p.noise.End())
	// A process that closes its output is useless. If it is exiting, it has time to report how.
	const leave = time.Second
	timer := time.NewTimer(leave)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C:
		p.killForFault("it closed its output")
	}
}

// suppressed logs how many complaints were not logged.
func (p *Process) suppressed(lines int) {
	if lines > 0 {
		p.log.Warn("claude wrote more invalid lines", "lines", lines)
	}
}

// killForFault kills the process because of its own fault.
func (p *Process) killForFault(fault string) {
	p.log.Error("claude is killed", "because", fault)
	p.fault = fault
	p.Kill()
}

// followed reports whether another complete line was already read.
func followed(r *bufio.Reader) bool {
	rest, _ := r.Peek(r.Buffered())
	return bytes.IndexByte(rest, '\n') >= 0
}

// line passes a line on. The text of an invalid one is not logged.
func (p *Process) line(line []byte, more bool) {
	if p.output.Line(line, more) == nil {
		return
	}
	logs, missing := p.noise.Take(0)
	p.suppressed(missing)
	if logs {
		p.log.Warn("claude wrote an invalid line", "bytes", len(line))
	}
}
