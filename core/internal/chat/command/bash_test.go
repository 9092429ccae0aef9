package command_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// shell is a shell that knows three lines.
type shell struct {
	ran    []string
	output string
}

func (s *shell) run(ctx context.Context, name, line string, output io.Writer) (int, error) {
	s.ran = append(s.ran, name+" "+line)
	if line == "wait" {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	_, err := io.WriteString(output, s.output)
	return 0, err
}

// line is a run of a line of the shell.
func line(text string, by chat.Authority, attempt int) *conversation.Run {
	c := &domain.Run{Lane: domain.ShellLane}
	c.Head.UUID, c.Head.Attempts = "id", attempt
	c.Head.Message.Command = &domain.Command{Name: "bash", Args: text}
	d := &hostCommands{}
	return &conversation.Run{Run: c, Conversation: &conversation.Conversation{Caller: d.call("/bash", by).Caller}}
}

func TestBashIsForOwnersAndRunsOnce(t *testing.T) {
	t.Parallel()
	s := &shell{output: "out\n"}
	r := (&hostCommands{shell: s}).registry()
	for _, by := range []chat.Authority{chat.Other, chat.Authorised} {
		if got, err := r.Answer(t.Context(), line("echo", by, 1)); err != nil || !strings.HasPrefix(got.Text, "You may not use /bash") {
			t.Errorf("authority %d: %q, %v", by, got.Text, err)
		}
		if lane := r.Lane("bash", by); lane == domain.ShellLane {
			t.Errorf("a refusal waits for the shell")
		}
	}
	if got, err := r.Answer(t.Context(), line("echo", chat.Owner, 2)); err != nil || got.Text != wording.BashInterrupted("echo") {
		t.Errorf("a line that was begun before: %q, %v", got.Text, err)
	}
	if len(s.ran) > 0 {
		t.Errorf("it ran %q", s.ran)
	}
	if got, err := r.Answer(t.Context(), line("echo", chat.Owner, 1)); err != nil || got.Text != "```\nout\n```" || len(s.ran) != 1 {
		t.Errorf("%q, %v, ran %q", got.Text, err, s.ran)
	}
	if r.Lane("bash", chat.Owner) != domain.ShellLane {
		t.Error("other commands wait for a line")
	}
	off := (&hostCommands{}).registry()
	if got, err := off.Answer(t.Context(), line("echo", chat.Owner, 1)); err != nil || got.Text != wording.BashOff || off.Lane("bash", chat.Owner) != domain.ControlLane {
		t.Errorf("while it is off: %q, %v", got.Text, err)
	}
}

// Behaviour: bash-bounded.
func TestBashIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := (&hostCommands{shell: &shell{}}).registry()
		begun := time.Now()
		got, err := r.Answer(t.Context(), line("wait", chat.Owner, 1))
		if err != nil || got.Text != "The command was ended, because it took longer than 10m." || time.Since(begun) != 10*time.Minute {
			t.Errorf("%q after %s, %v", got.Text, time.Since(begun), err)
		}
		for _, cause := range []error{agent.ErrStopped, agent.ErrShutdown} {
			ctx, end := context.WithCancelCause(t.Context())
			end(cause)
			got, err := r.Answer(ctx, line("wait", chat.Owner, 1))
			if stopped := cause == agent.ErrStopped; stopped != (err == nil) || stopped != strings.HasPrefix(got.Text, "The command was stopped") {
				t.Errorf("%v: %q, %v", cause, got.Text, err)
			}
		}
	})

	var long strings.Builder
	for i := range 400_000 {
		fmt.Fprintln(&long, i)
	}
	s, kept := &shell{output: long.String()}, storetest.Open(t)
	stored := files.NewStore(files.Options{Dir: t.TempDir(), Rows: kept, MaxBytes: 10 << 20})
	d := &hostCommands{store: kept, shell: s, files: stored, takes: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 10 << 20}}}
	r := d.registry()
	got, err := r.Answer(t.Context(), line("seq", chat.Owner, 1))
	if err != nil || len(got.Media) != 1 || len(got.Text) > 100 {
		t.Fatalf("a long output: %q, %d files, %v", got.Text, len(got.Media), err)
	}
	_, data, err := stored.Read(t.Context(), "telegram", got.Media[0].Ref, 10<<20)
	file := string(data)
	if err != nil || len(file) > 1<<20+100 || !strings.HasPrefix(file, "0\n1\n") || !strings.HasSuffix(file, "\n399999\n") ||
		!strings.Contains(file, "bytes were left out here …]") {
		t.Errorf("the file of a long output: %d bytes, %v", len(file), err)
	}
	d.takes = nil
	r = d.registry()
	s.output = strings.Repeat("\x1bx\n", 100_000) + "the \xffend\n"
	got, err = r.Answer(t.Context(), line("seq", chat.Owner, 1))
	if err != nil || len(got.Media) != 0 || len(got.Text) > 16<<10 || !strings.HasPrefix(got.Text, "The end of the output:\n\n```\nx\n") || !strings.HasSuffix(got.Text, "x\nthe �end\n```") {
		t.Errorf("without files: %d bytes, %.60q, %v", len(got.Text), got.Text, err)
	}
	s.output = strings.Repeat("x", 1<<20)
	if got, err = r.Answer(t.Context(), line("one", chat.Owner, 1)); err != nil || len(got.Text) > 16<<10 || !strings.Contains(got.Text, "xxx") {
		t.Errorf("one line: %d bytes, %v", len(got.Text), err)
	}
}

func TestAPluginDoesNotTakeBash(t *testing.T) {
	t.Parallel()
	s := &shell{}
	d := &hostCommands{shell: s, plugins: []chat.CommandSpec{{Name: "bash"}}, overrides: []string{"bash"}, plugin: answering(t, answer)}
	if got, err := d.registry().Answer(t.Context(), line("x", chat.Owner, 1)); err != nil || got.Text == "ran" || len(s.ran) != 1 {
		t.Errorf("a plugin took /bash: %q, %v", got.Text, err)
	}
}
