package command

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxResumes is for how many of the listed sessions there are buttons.
const maxResumes = 5

// claudeSessions lists the conversations of Claude Code that may be continued here, or those with some words.
func (d hostCommands) claudeSessions(ctx context.Context, call Call) (Answer, error) {
	if gone := d.gone(call); gone != "" {
		return Answer{Text: gone}, nil
	}
	list, err := d.host.Sessions.List(ctx, call.Session, strings.Fields(call.Args))
	if err != nil {
		return d.unlisted(ctx, err)
	}
	shown := make([]wording.ClaudeSession, len(list))
	var buttons []chat.Button
	for i, l := range list {
		shown[i] = shownSession(l)
		if !l.Current && l.Open == nil && len(buttons) < maxResumes {
			buttons = append(buttons, chat.Button{Label: shown[i].ID + " " + wording.OneLine(l.First, maxButton), Data: "/resume " + shown[i].ID})
		}
	}
	return Answer{
		Text: wording.ClaudeSessions(shown, cmp.Or(call.Session.Place(), d.effective(call).Agent.Workspace), call.Args, d.host.Now()), Buttons: buttons,
	}, nil
}

// maxButton bounds the label of a button, in characters.
const maxButton = 40

// idLength is how much of a session's id people see.
const idLength = 8

func shownSession(l sessions.Listed) wording.ClaudeSession {
	s := wording.ClaudeSession{
		ID: l.ID[:min(len(l.ID), idLength)], First: l.First, Found: l.Found, Prompts: l.Prompts, Last: l.Last, Terminal: l.Terminal, Current: l.Current,
	}
	if l.Open != nil {
		s.Open, s.Since = true, l.Open.Since
	}
	return s
}

// unlisted answers where the sessions cannot be read.
func (d hostCommands) unlisted(ctx context.Context, err error) (Answer, error) {
	if ctx.Err() != nil {
		return Answer{}, err
	}
	d.host.Log.Warn("the sessions of Claude Code cannot be read", "error", err)
	return Answer{Text: wording.SessionsUnknown}, nil
}

// resume says which conversation goes on. The change was made when the command was accepted, so that it applies to the next message.
func (d hostCommands) resume(ctx context.Context, call Call) (Answer, error) {
	if call.Args == "" {
		return Answer{Text: wording.ResumeUsage}, nil
	}
	if gone := d.gone(call); gone != "" {
		return Answer{Text: gone}, nil
	}
	found, err := d.host.Sessions.Find(ctx, call.Session, call.Args)
	switch shown := shownSession(found); {
	case errors.Is(err, sessions.ErrUnknown):
		return Answer{Text: wording.NoClaudeSession(call.Args)}, nil
	case err != nil:
		return d.unlisted(ctx, err)
	case found.Current:
		return Answer{Text: wording.Resumed(shown, d.host.Now())}, nil
	case found.Open != nil:
		return Answer{Text: wording.ResumeOpen(shown, d.host.Now())}, nil
	default: // it was not there, or was open, when the command was accepted
		return Answer{Text: wording.NoClaudeSession(call.Args)}, nil
	}
}

// fork says that a copy of the conversation goes on. It was made when the command was accepted.
func (d hostCommands) fork(_ context.Context, call Call) (string, error) {
	if of := call.Session.ForkOf; of != "" {
		return wording.Forked(of[:min(len(of), idLength)]), nil
	}
	return wording.ForkNothing, nil
}

// handoff ends Claude here, and says how the conversation is continued in a terminal.
func (d hostCommands) handoff(ctx context.Context, call Call) (string, error) {
	if gone := d.gone(call); gone != "" {
		return gone, nil
	}
	s, agent := call.Session, d.effective(call).Agent
	switch {
	case !s.ClaudeStarted && s.ForkOf != "":
		return wording.HandoffCopy, nil
	case !s.ClaudeStarted:
		return wording.HandoffNothing, nil
	}
	err := d.host.Claude.Release(ctx, s.ClaudeSession)
	if errors.Is(err, claude.ErrBusy) {
		return wording.HandoffBusy, nil
	}
	if err != nil {
		return "", err
	}
	line := "cd " + process.Quoted(cmp.Or(s.Place(), agent.Workspace)) + " && "
	home, _ := os.UserHomeDir()
	if dir := agent.Claude.ConfigDir; dir != "" && dir != filepath.Join(home, ".claude") {
		line += "CLAUDE_CONFIG_DIR=" + process.Quoted(agent.Claude.ConfigDir) + " "
	}
	return wording.HandedOff(line + "claude --resume " + s.ClaudeSession), nil
}
