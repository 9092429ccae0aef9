//go:build e2e

package e2e

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// desk is a rig whose tools change files without a question.
type desk struct {
	*rig
	workspace string
}

func newDesk(t *testing.T, files map[string]string, edit func(*runner)) desk {
	t.Helper()
	var d desk
	d.rig = newRig(t, messagesapi.Options{}, func(c *runner) {
		c.AllowedTools = []string{"Bash", "Read", "Write", "Edit", "NotebookEdit", "Agent"}
		d.workspace = c.Workspace
		if edit != nil {
			edit(c)
		}
	})
	d.write(files)
	return d
}

func (d desk) path(name string) string { return filepath.Join(d.workspace, name) }

func (d desk) write(files map[string]string) {
	d.Helper()
	for name, text := range files {
		if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
			d.Fatal(err)
		}
	}
}

// holds asserts which files there are in the workspace, and what they hold.
func (d desk) holds(when string, want map[string]string) {
	d.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(d.workspace)
	if err != nil {
		d.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(d.path(e.Name()))
		if err != nil {
			d.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func (d desk) use(name string, input map[string]any) messagesapi.Reply {
	return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: name, Input: input}}}
}

func (d desk) create(name, text string) messagesapi.Reply {
	return d.use("Write", map[string]any{"file_path": d.path(name), "content": text})
}

// edit reads a file and changes it: the CLI wants that.
func (d desk) edit(name, before, after string) []messagesapi.Reply {
	return []messagesapi.Reply{
		d.use("Read", map[string]any{"file_path": d.path(name)}),
		d.use("Edit", map[string]any{"file_path": d.path(name), "old_string": before, "new_string": after}),
	}
}

// would asserts which files a rewinding would change.
func (d desk) would(when string, pool *claude.Pool, message string, want ...string) client.Rewound {
	d.Helper()
	would, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, message, nil)
	if err != nil {
		d.Fatalf("%s: %v", when, err)
	}
	var got []string
	for _, path := range would.Files {
		got = append(got, filepath.Base(path))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("%s, these files would be restored (-want +got):\n%s", when, diff)
	}
	return would
}

// The CLI restores what the tools of the session have changed since a message, in any process that resumes the session: files that
// they have created, edited once or twice, or overwritten. What shell commands and subagents did stays, unless it is to the same
// files; that is lost, and so is what anybody else did to them.
// Behaviour: changes, diff, undo.
func TestRewind(t *testing.T) {
	t.Parallel()
	before := map[string]string{"edited": "one\ntwo\nthree\n", "both": "a\n", "removed": "r\n", "shell": "s\n", "later": "l\n", "other": "o\n"}
	d := newDesk(t, before, nil)
	pool := d.pool()

	// A file that an earlier turn has changed belongs to the session.
	d.api.Enqueue(slices.Concat(d.edit("other", "o", "O"), []messagesapi.Reply{{Text: "done"}})...)
	if got := d.run(pool, d.turn("first")).Changes; len(got.Files) != 1 || got.Added != 1 || got.Removed != 1 || got.Delegated {
		t.Errorf("the first turn reports %+v", got)
	}

	turn := d.turn("second")
	d.api.Enqueue(slices.Concat(
		[]messagesapi.Reply{d.create("created", "x\ny\n")},
		d.edit("edited", "two", "2\n2b"), d.edit("edited", "three", "3"), d.edit("both", "a", "b"),
		[]messagesapi.Reply{
			messagesapi.Bash("rm removed; echo more >>shell; echo more >>both; echo new >made"),
			d.use("Agent", map[string]any{"description": "help", "prompt": "help", "subagent_type": "general-purpose"}),
			d.create("delegated", "u\n"),
			{Text: "helped"},
			{Text: "done"},
		},
	)...)
	got := d.run(pool, turn).Changes
	if len(got.Files) != 3 || got.Added != 6 || got.Removed != 3 || !got.Delegated {
		t.Errorf("the turn reports %+v", got)
	}
	after := map[string]string{
		"created": "x\ny\n", "edited": "one\n2\n2b\n3\n", "both": "b\nmore\n", "shell": "s\nmore\n", "made": "new\n", "later": "l\n", "other": "O\n", "delegated": "u\n",
	}
	d.holds("after the turn", after)

	last, err := pool.LastChanges(claude.Place{Session: d.session})
	if err != nil || last.Message != turn.UUID || len(last.Changes) != 4 || !last.Delegated || last.Cut {
		t.Errorf("the transcript has %+v, %v", last, err)
	}
	if _, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, uuid.NewString(), nil); !errors.Is(err, client.ErrNoCheckpoint) {
		t.Errorf("an unknown message: %v", err)
	}
	if would := d.would("after the turn", pool, turn.UUID, "both", "created", "edited"); would.Added != 3 || would.Removed != 7 {
		t.Errorf("it would add %d and remove %d lines", would.Added, would.Removed)
	}
	d.holds("after a dry run", after)

	// What is said later does not change that, in another process either; what others do to the session's files does.
	d.api.Enqueue(messagesapi.Reply{Text: "thanks"})
	d.run(pool, d.turn("third"))
	d.close(pool)
	pool = d.pool()
	d.write(map[string]string{"other": "somebody\n", "later": "somebody\n"})
	would := d.would("after others", pool, turn.UUID, "both", "created", "edited", "other")
	if _, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, turn.UUID, &client.Rewound{Files: would.Files[:3]}); !errors.Is(err, claude.ErrChanged) {
		t.Errorf("after an agreement to less: %v", err)
	}
	if _, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, turn.UUID, &would); err != nil {
		t.Fatal(err)
	}
	restored := maps.Clone(before)
	maps.Copy(restored, map[string]string{"shell": "s\nmore\n", "made": "new\n", "delegated": "u\n", "later": "somebody\n", "other": "O\n"})
	delete(restored, "removed")
	d.holds("after the rewinding", restored)
	d.would("a second time", pool, turn.UUID)
	d.run(pool, d.turn("fourth"))
	d.remembers("second")
}

// A turn that a kill has divided is rewound from its message, and nothing is rewound while a turn runs.
func TestRewindOfADividedTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, nil)
	pool := d.pool()
	turn := d.turn("write")
	seconds := unheardOf()
	d.api.Enqueue(d.create("begun", "1\n"), messagesapi.Bash("sleep "+seconds))
	a := d.begin(d.ctx, pool, turn)
	d.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
	// The CLI writes its transcript some time behind; what it has not written is not in the divided turn.
	d.poll("the tool is in the transcript", func() bool { return strings.Contains(d.transcript(d.session), "sleep "+seconds) })
	if _, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, turn.UUID, nil); !errors.Is(err, claude.ErrBusy) {
		t.Errorf("while the turn runs: %v", err)
	}
	d.signal(pool, syscall.SIGKILL)
	<-a.done
	d.wantClass(a.err, agent.Died)

	d.api.Enqueue(d.create("ended", "2\n"), messagesapi.Reply{Text: "done"})
	turn.Again = true
	if got := d.run(pool, turn).Changes; len(got.Files) != 2 || got.Added != 2 {
		t.Errorf("the turn reports %+v", got)
	}
	if last, err := pool.LastChanges(claude.Place{Session: d.session}); err != nil || last.Message != turn.UUID || len(last.Changes) != 2 {
		t.Errorf("the transcript has %+v, %v", last, err)
	}
	would := d.would("after the turn", pool, turn.UUID, "begun", "ended")
	if _, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, turn.UUID, &would); err != nil {
		t.Fatal(err)
	}
	d.holds("after the rewinding", map[string]string{})
}

// A process that is set not to keep files says so.
func TestRewindIsOff(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil, func(c *runner) { c.Env["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "0" })
	pool := d.pool()
	turn := d.turn("write")
	d.api.Enqueue(d.create("a", "1\n"), messagesapi.Reply{Text: "done"})
	d.run(pool, turn)
	if _, err := pool.Rewind(d.ctx, claude.Place{Session: d.session}, turn.UUID, nil); !errors.Is(err, client.ErrNoRewind) {
		t.Errorf("error = %v", err)
	}
}
