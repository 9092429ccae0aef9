package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// diffFile is the name of the file that longer changes are sent as.
	diffFile = "changes.diff"
	// maxTold is how many of the restored files Claude learns.
	maxTold = 50
	// maxName bounds their names there, in characters.
	maxName = 200
)

// diff shows what the last turn that has changed files has done to them, or to one of them.
func (d hostCommands) diff(ctx context.Context, call Call) (Answer, error) {
	if gone := d.gone(call); gone != "" {
		return Answer{Text: gone}, nil
	}
	of, name := d.place(call), d.naming(call)
	changed, err := d.host.Claude.LastChanges(of)
	if err != nil {
		return Answer{}, err
	}
	if changed.Message == "" {
		return Answer{Text: nothingChanged(changed)}, nil
	}
	files := changedFiles(changed, name)
	shown := wording.Diff{Missing: changed.Cut}
	wanted := meant(files, call.Args)
	if len(wanted) == 0 {
		return Answer{Text: wording.DiffOther(call.Args, files)}, nil
	}
	var text strings.Builder
	for _, file := range wanted { // the changes of a file follow one another
		for _, c := range changed.Changes {
			if name(c.Path) == file {
				added, removed := c.Count()
				shown.Added, shown.Removed = shown.Added+added, shown.Removed+removed
				text.WriteString(c.Diff(file))
			}
		}
	}
	shown.Files = len(wanted)
	return d.shown(ctx, call, diffFile, []byte(text.String()), &shown.Output, &shown), nil
}

// undo shows what would be taken back of the last turn that has changed files, or takes it back.
func (d hostCommands) undo(ctx context.Context, call Call) (Answer, error) {
	if gone := d.gone(call); gone != "" {
		return Answer{Text: gone}, nil
	}
	of, name := d.place(call), d.naming(call)
	words := strings.Fields(call.Args)
	if len(words) > 0 && (len(words) != 2 || !strings.EqualFold(words[0], "yes")) {
		return Answer{Text: wording.UnknownArgument("undo", call.Args, wording.UndoOptions)}, nil
	}
	changed, err := d.host.Claude.LastChanges(of)
	if err != nil {
		return Answer{}, err
	}
	if changed.Message == "" {
		return Answer{Text: nothingChanged(changed)}, nil
	}
	would, err := d.host.Claude.Rewind(ctx, of, changed.Message, nil)
	if err != nil {
		return d.notUndone(err)
	}
	if len(would.Files) == 0 {
		return Answer{Text: wording.UndoNothing}, nil
	}
	u := wording.Undo{
		Added: would.Added, Removed: would.Removed, Delegated: changed.Delegated, Code: undoCode(changed.Message, would),
		Outdated: len(words) > 0,
	}
	mine := changedFiles(changed, name)
	for _, p := range would.Files {
		file := name(p)
		if u.Files = append(u.Files, file); !slices.Contains(mine, file) {
			u.Others = append(u.Others, file)
		}
	}
	for _, file := range mine {
		if !slices.Contains(u.Files, file) {
			u.Left = append(u.Left, file)
		}
	}
	if len(words) == 0 || !strings.EqualFold(words[1], u.Code) {
		return Answer{
			Text: u.Preview(), Buttons: []chat.Button{{Label: wording.UndoLabel, Data: "/undo yes " + u.Code}},
		}, nil
	}
	done, err := d.host.Claude.Rewind(ctx, of, changed.Message, &would)
	if err != nil {
		return d.notUndone(err)
	}
	u.Skipped = done.Skipped
	d.host.Log.Info("files were restored", "session", call.Caller.Session, "files", len(u.Files), "by", who(call.Caller))
	if err := d.tell(context.WithoutCancel(ctx), call, restored(u.Files)); err != nil {
		d.host.Log.Error("claude is not told that files were restored", "session", call.Caller.Session, "error", err)
	}
	return Answer{Text: u.Done()}, nil
}

func nothingChanged(changed transcript.Changed) string {
	if changed.Delegated {
		return wording.DelegatedOnly
	}
	return wording.NothingChanged
}

// notUndone answers where nothing is taken back.
func (d hostCommands) notUndone(err error) (Answer, error) {
	var failure *agent.Failure
	switch {
	case errors.Is(err, claude.ErrBusy):
		return Answer{Text: wording.UndoBusy}, nil
	case errors.Is(err, claude.ErrChanged):
		return Answer{Text: wording.UndoChanged}, nil
	case errors.Is(err, client.ErrNoCheckpoint):
		return Answer{Text: wording.UndoTooOld}, nil
	case errors.Is(err, client.ErrNoRewind):
		return Answer{Text: wording.UndoOff}, nil
	case errors.As(err, &failure):
		d.host.Log.Warn("claude could not be started to restore files", "error", err)
		return Answer{Text: wording.UndoUnavailable}, nil
	default:
		return Answer{}, err
	}
}

// restored tells Claude which files were restored.
func restored(files []string) string {
	var told []string
	for _, file := range files[:min(len(files), maxTold)] {
		told = append(told, wording.OneLine(file, maxName))
	}
	text := "Files were restored as they were before your last changes: " + strings.Join(told, ", ")
	if more := len(files) - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ". Read them again before you change them."
}

// undoCode agrees to a rewinding: to what it would do now, so that no old agreement is taken for another.
func undoCode(message string, would client.Rewound) string {
	files := slices.Sorted(slices.Values(would.Files))
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %q", message, would.Added, would.Removed, files))
	return fmt.Sprintf("%X", sum[:4])
}

// place is where the caller's conversation is with Claude.
func (d hostCommands) place(call Call) claude.Place {
	return claude.Place{Agent: d.effective(call).Agent.Label, Folder: call.Session.Place(), Session: call.Session.ClaudeSession}
}

// naming returns how files are called: by their path in the folder in which the agent works, if they are there.
func (d hostCommands) naming(call Call) func(path string) string {
	folders := []string{cmp.Or(call.Session.Place(), d.effective(call).Agent.Workspace)}
	if real, err := filepath.EvalSymlinks(folders[0]); err == nil {
		folders = append(folders, real)
	}
	return func(file string) string {
		for _, folder := range folders {
			if in, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(in) {
				return filepath.ToSlash(in)
			}
		}
		return file
	}
}

// changedFiles are the files that a turn has changed, in order.
func changedFiles(changed transcript.Changed, name func(string) string) (files []string) {
	for _, c := range changed.Changes {
		if file := name(c.Path); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// meant are the files that a person means: all, if nothing is written; else that of this path, or those that end with it.
func meant(files []string, written string) []string {
	if written = strings.Trim(strings.TrimSpace(written), "`"); written == "" {
		return files
	}
	written = path.Clean(filepath.ToSlash(written))
	if slices.Contains(files, written) {
		return []string{written}
	}
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !strings.HasSuffix(file, "/"+written) })
}
