package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// maxChanges bounds the changes that are kept of a turn, in bytes of their lines.
const maxChanges = 4 << 20

// Changed is what the tools of a turn have done to files.
type Changed struct {
	Message   string // the id of its message; empty: no turn has changed files
	Changes   []protocol.Change
	Cut       bool // there are more changes
	Delegated bool // subagents may have changed files, in this turn or a later one

	bytes int
}

// LastChanges reads the last turn of a session that has changed files.
func (f Folder) LastChanges(session string) (Changed, error) {
	file, err := f.open(session)
	if errors.Is(err, fs.ErrNotExist) {
		return Changed{}, nil
	}
	if err != nil {
		return Changed{}, fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	found, err := lastChanges(file)
	if err != nil {
		return found, fmt.Errorf("read transcript: %w", err)
	}
	return found, nil
}

func lastChanges(r io.Reader) (last Changed, err error) {
	var now Changed // the current turn
	var uses exchange.Changes
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			err = protocol.SkipLine(buffered)
		}
		var l transcriptLine
		if protocol.Unmarshal(line, &l) == nil && !l.Sidechain && l.Message != nil {
			switch {
			case l.Type == "assistant":
				uses.Assistant(l.Message)
			case l.Type == "user" && l.Source != "" && !asksToGoOn(l.Message):
				now, uses = Changed{Message: l.UUID}, exchange.Changes{}
			case l.Type == "user" && now.Message != "":
				change, changed, delegated := uses.User(l.Message, l.Reported)
				if delegated {
					now.Delegated, last.Delegated = true, true
				}
				if changed {
					now.take(change)
					last = now
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
	}
}

// take adds a change.
func (c *Changed) take(change protocol.Change) {
	for _, h := range change.Hunks {
		for _, line := range h.Lines {
			c.bytes += len(line)
		}
	}
	if c.bytes > maxChanges {
		c.Cut, change.Hunks = true, nil
	}
	c.Changes = append(c.Changes, change)
}
