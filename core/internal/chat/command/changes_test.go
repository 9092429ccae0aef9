package command_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// used answers a command that is used alone.
func (d *hostCommands) used(t *testing.T, text string, by chat.Authority) (command.Answer, error) {
	t.Helper()
	call := d.call(text, by)
	c := &domain.Run{Session: call.Session}
	c.Head.Message.Command = &domain.Command{Name: call.Name, Args: call.Args, And: call.And}
	return d.registry().Answer(t.Context(), &conversation.Run{Run: c, Conversation: &conversation.Conversation{Caller: call.Caller}})
}

// edited is a change of one line of a file.
func edited(path string) protocol.Change {
	return protocol.Change{Path: path, Hunks: []protocol.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []string{"-one", "+two"}}}}
}

// An agreement counts for what was shown, and for nothing else.
// Behaviour: undo, undo-told.
func TestUndoAgreesToWhatWasShown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.changed = transcript.Changed{Message: "m1", Changes: []protocol.Change{edited("/w/a"), edited("/w/b")}}
		d.rewinds.would = client.Rewound{Files: []string{"/w/a", "/w/c"}, Added: 1, Removed: 2}
		shown, err := d.used(t, "/undo", chat.Owner)
		if err != nil || len(shown.Buttons) != 1 || !strings.Contains(shown.Text, "1 file is changed since by something else.\n- `/w/c`") ||
			!strings.Contains(shown.Text, "1 file is already as before, or cannot be restored:\n- `/w/b`") {
			t.Fatalf("%+v, %v", shown, err)
		}
		agree := shown.Buttons[0].Data
		for why, change := range map[string]func(){
			"another turn":  func() { d.changed.Message = "m2" },
			"another file":  func() { d.rewinds.would.Files = []string{"/w/a"} },
			"another count": func() { d.rewinds.would.Removed++ },
		} {
			changed, would := d.changed, d.rewinds.would
			change()
			again, err := d.used(t, agree, chat.Owner)
			if err != nil || len(d.rewinds.done) > 0 || len(again.Buttons) != 1 || again.Buttons[0].Data == agree ||
				!strings.HasPrefix(again.Text, "That button is for something else") {
				t.Errorf("%s: %+v, %v, restored for %v", why, again, err, d.rewinds.done)
			}
			d.changed, d.rewinds.would = changed, would
		}
		for _, by := range []chat.Authority{chat.Other, chat.Authorised} {
			if got, _ := d.used(t, agree, by); !strings.HasPrefix(got.Text, "You may not use /undo") || len(d.rewinds.done) > 0 {
				t.Errorf("authority %d: %q, restored for %v", by, got.Text, d.rewinds.done)
			}
		}
		done, err := d.used(t, strings.ToLower(agree), chat.Owner)
		if err != nil || len(d.rewinds.done) != 1 || d.rewinds.done[0] != "m1" || !strings.HasPrefix(done.Text, "Restored 2 files.") {
			t.Errorf("%+v, %v, restored for %v", done, err, d.rewinds.done)
		}
		d.write(t, domain.TurnLane, message("and now?"))
		if notes := d.claim(t, domain.TurnLane).Notes; len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "Files were restored as they were before your last changes: /w/a, /w/c.") {
			t.Errorf("claude is told %+v", notes)
		}
	})
}

func TestUndoThatCannotBe(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		answers := func(want string) {
			t.Helper()
			if got, err := d.used(t, "/undo", chat.Owner); err != nil || got.Text != want || len(got.Buttons) > 0 {
				t.Errorf("%+v, %v, want %q", got, err, want)
			}
		}
		answers(wording.NothingChanged)
		d.changed = transcript.Changed{Delegated: true}
		answers(wording.DelegatedOnly)
		if got, err := d.used(t, "/diff", chat.Owner); err != nil || got.Text != wording.DelegatedOnly {
			t.Errorf("/diff: %+v, %v", got, err)
		}
		d.changed.Message, d.changed.Changes = "m1", []protocol.Change{edited("/w/a")}
		answers(wording.UndoNothing)
		for _, tt := range []struct {
			err  error
			want string
		}{
			{claude.ErrBusy, wording.UndoBusy},
			{claude.ErrChanged, wording.UndoChanged},
			{client.ErrNoCheckpoint, wording.UndoTooOld},
			{client.ErrNoRewind, wording.UndoOff},
			{&agent.Failure{Class: agent.Unavailable}, wording.UndoUnavailable},
		} {
			d.rewinds.err = tt.err
			answers(tt.want)
		}
		d.rewinds.err = errors.New("disk I/O error")
		if got, err := d.used(t, "/undo", chat.Owner); !errors.Is(err, d.rewinds.err) || got.Text != wording.CommandFailed("undo") {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := d.used(t, "/undo it", chat.Owner); err != nil || !strings.Contains(got.Text, "yes CODE") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// Behaviour: diff.
func TestDiffOfAFile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.changed = transcript.Changed{Message: "m1", Changes: []protocol.Change{edited("/w/x/a"), edited("/w/b"), edited("/w/y/a"), edited("/w/b")}}
		for args, want := range map[string]string{
			"":         "Changed 3 files: +4 −4.",
			" /w/b":    "Changed 1 file: +2 −2.",
			" a":       "Changed 2 files: +2 −2.",
			" x/a":     "Changed 1 file: +1 −1.",
			" `./x/a`": "Changed 1 file: +1 −1.",
			" c":       "The last turn that changed files has not changed `c`.",
		} {
			if got, err := d.used(t, "/diff"+args, chat.Owner); err != nil || !strings.HasPrefix(got.Text, want) {
				t.Errorf("/diff%s: %q, %v, want %q", args, got.Text, err, want)
			}
		}
	})
}
