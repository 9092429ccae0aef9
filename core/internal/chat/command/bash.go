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
	"github.com/clawhost/clawhost/core/internal/claude/cli"
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
	if gone := d.gone(call); gone != "" {
		return Answer{Text: gone}, nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, bashTime, errOutOfTime)
	defer cancel()
	output := &clipped{most: maxOutput}
	begun := time.Now()
	code, err := d.host.Claude.Shell(bounded, d.effective(call).Agent.Label, call.Session.Place(), cli.Line{
		Name: "shell:" + call.ID, Text: call.Args, Stdout: output, Stderr: output,
	})
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
	return d.shown(context.WithoutCancel(ctx), call, outputFile, output.Bytes(), &ran.Output, &ran), nil
}

// shown makes an answer of an output: it is shown as code if that fits into a message, else as a file of this name. If the chat takes
// no files, it is the end of the output. The text contains what was made of it.
func (d hostCommands) shown(ctx context.Context, call Call, name string, output []byte, made *wording.Output, text fmt.Stringer) Answer {
	conversation := d.effective(call)
	limit := conversation.Rule().Limit
	fits := func() bool {
		text := text.String()
		return len(text) <= maxShown && len(chunk.Split(text, chunk.Rule{Limit: limit})) <= 1
	}
	made.Text = readable(output)
	if fits() {
		return Answer{Text: text.String()}
	}
	file, taken, err := d.host.Files.Keep(ctx, call.Caller.Address.Channel, conversation.Limits.MediaOut,
		chat.Media{FileName: name}, bytes.NewReader(output))
	switch {
	case err != nil:
		d.host.Log.Warn("the output of a command cannot be sent as a file", "command", call.Name, "error", err)
	case taken:
		made.Text, made.File = "", len(output)
		return Answer{Text: text.String(), Media: []chat.Media{file}}
	}
	made.Cut = true
	for lines := strings.SplitAfter(made.Text, "\n"); !fits(); lines = strings.SplitAfter(made.Text, "\n") {
		if len(lines) > 1 {
			made.Text = strings.Join(lines[(len(lines)+3)/4:], "")
			continue
		}
		runes := []rune(made.Text)
		made.Text = string(runes[(len(runes)+3)/4:])
	}
	return Answer{Text: text.String()}
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
