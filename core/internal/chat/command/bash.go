package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// bashTime is how long a line of the shell may take.
	bashTime = 10 * time.Minute
	// maxOutput is how much is kept of the beginning of its output, and of its end.
	maxOutput = 512 << 10
	// maxShown bounds the output within a message, in bytes, where the network has no limit.
	maxShown = 16 << 10
	// outputFile is the name of the file that longer output is sent as.
	outputFile = "output.txt"
)

// errOutOfTime ends a line that takes too long.
var errOutOfTime = errors.New("the line takes too long")

// bashOff answers when the config does not switch the shell on.
func (d hostCommands) bashOff(context.Context, Call) (string, error) { return wording.BashOff, nil }

// bash runs a line of the shell for an owner. One that was begun before is not run again: it is unknown how far it came.
func (d hostCommands) bash(ctx context.Context, call Call) (Answer, error) {
	switch {
	case call.Attempt > 1:
		return Answer{Text: wording.BashInterrupted(call.Args)}, nil
	case call.Args == "":
		return Answer{Text: wording.BashUsage}, nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, bashTime, errOutOfTime)
	defer cancel()
	output := &clipped{most: maxOutput}
	begun := time.Now()
	code, err := d.host.Claude.Shell(bounded, d.effective(call).Agent.Label, call.Session.Folder, "shell:"+call.ID, call.Args, output)
	ran := wording.Bash{Code: code, Took: time.Since(begun)}
	switch {
	case errors.Is(err, agent.ErrStopped):
		ran.Stopped = true
	case errors.Is(err, errOutOfTime):
		ran.TimedOut = true
	case errors.Is(err, agent.ErrShutdown):
		return Answer{}, err
	case err != nil:
		return Answer{Text: wording.CommandFailed(call.Name)}, fmt.Errorf("command bash: %w", err)
	}
	d.host.Log.Info("an owner ran a line of the shell", "session", call.Caller.Session, "by", who(call.Caller),
		"code", code, "took", ran.Took.Round(time.Millisecond))
	return d.shown(context.WithoutCancel(ctx), call, ran, output.Bytes()), nil
}

// shown makes the answer of a line that ran: its output as code if that fits into a message, else as a file. If the chat
// takes no files, it is the end of the output.
func (d hostCommands) shown(ctx context.Context, call Call, ran wording.Bash, output []byte) Answer {
	conversation := d.effective(call)
	limit := conversation.Rule().Limit
	fits := func() bool {
		text := ran.String()
		return len(text) <= maxShown && len(chunk.Split(text, chunk.Rule{Limit: limit})) <= 1
	}
	ran.Output = readable(output)
	if fits() {
		return Answer{Text: ran.String()}
	}
	file, taken, err := d.host.Files.Keep(ctx, call.Caller.Address.Channel, conversation.Limits.MediaOut,
		chat.Media{FileName: outputFile}, bytes.NewReader(output))
	switch {
	case err != nil:
		d.host.Log.Warn("the output of a line of the shell cannot be sent as a file", "error", err)
	case taken:
		ran.Output, ran.File = "", len(output)
		return Answer{Text: ran.String(), Media: []chat.Media{file}}
	}
	ran.Cut = true
	for lines := strings.SplitAfter(ran.Output, "\n"); !fits(); lines = strings.SplitAfter(ran.Output, "\n") {
		if len(lines) > 1 {
			ran.Output = strings.Join(lines[(len(lines)+3)/4:], "")
			continue
		}
		runes := []rune(ran.Output)
		ran.Output = string(runes[(len(runes)+3)/4:])
	}
	return Answer{Text: ran.String()}
}

// readable is output without what is no text.
func readable(output []byte) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(output), "�")), "\n")
}
