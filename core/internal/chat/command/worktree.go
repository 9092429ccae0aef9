package command

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
	"github.com/clawhost/clawhost/sdk/chat"
)

// worktree lists the worktrees of the agent, merges one, removes one in two steps, or restores one.
func (d hostCommands) worktree(ctx context.Context, call Call) (Answer, error) {
	words := strings.Fields(call.Args)
	if len(words) == 0 {
		return d.worktrees(ctx, call)
	}
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	var act func(context.Context, Call, domain.Worktree, []string) (Answer, error)
	switch what := strings.ToLower(words[0]); {
	case what == "merge" && len(words) <= 2:
		act = d.mergeWorktree
	case what == "remove" && (len(words) <= 2 || len(words) == 4 && strings.EqualFold(words[2], "yes")):
		act = d.removeWorktree
	case what == "restore" && len(words) <= 2:
		act = d.restoreWorktree
	default:
		return Answer{Text: wording.UnknownArgument("worktree", call.Args, wording.WorktreeOptions)}, nil
	}
	t, err := d.host.Worktrees.Find(ctx, call.Session, name)
	if errors.Is(err, domain.ErrNotFound) && name != "" {
		return Answer{Text: wording.NoWorktree(name)}, nil
	}
	if errors.Is(err, domain.ErrNotFound) {
		return Answer{Text: wording.WorktreeNoneHere}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	answer, err := act(ctx, call, t, words)
	if errors.Is(err, worktree.ErrBusy) {
		return Answer{Text: wording.WorktreeInUse}, nil
	}
	if kept, ok := errors.AsType[*worktree.KeptError](err); ok {
		return Answer{Text: d.keptWorktree(t, kept.State, words[0])}, nil
	}
	return answer, err
}

// worktrees lists those of the agent.
func (d hostCommands) worktrees(ctx context.Context, call Call) (Answer, error) {
	list, err := d.host.Worktrees.List(ctx, d.effective(call).Agent.Label)
	if err != nil {
		return Answer{Text: wording.WorktreeCannot("listed", err.Error())}, ctx.Err()
	}
	shown := make([]wording.Worktree, len(list))
	for i, t := range list {
		shown[i] = d.shownWorktree(t.Worktree, t.State)
		shown[i].Busy, shown[i].Gone, shown[i].Why = t.Busy, t.Gone, t.Why
		shown[i].Here = t.Session == call.Session.Key && t.Folder == call.Session.Folder
	}
	return Answer{Text: wording.Worktrees(shown)}, nil
}

// shownWorktree is how a worktree is shown.
func (d hostCommands) shownWorktree(t domain.Worktree, s worktree.State) wording.Worktree {
	return wording.Worktree{
		Name: filepath.Base(t.Root), Unready: !t.Ready, RemovedAt: t.RemovedAt, Until: t.RemovedAt.Add(worktree.KeptFor).In(d.host.Zone),
		Uncommitted: s.Uncommitted, Ahead: s.Ahead, Ignored: s.Ignored, Unfinished: s.Unfinished,
	}
}

// keptWorktree says why nothing is done with a worktree.
func (d hostCommands) keptWorktree(t domain.Worktree, s worktree.State, what string) string {
	shown := d.shownWorktree(t, s)
	switch {
	case strings.EqualFold(what, "merge"):
		return wording.WorktreeKept(shown, "merged")
	case s.Uncommitted > 0 || s.Unfinished != "":
		return wording.WorktreeKept(shown, "removed")
	default:
		return wording.WorktreeUnmerged(shown)
	}
}

// mergeWorktree merges the branch of a worktree into the one that it began at.
func (d hostCommands) mergeWorktree(ctx context.Context, _ Call, t domain.Worktree, _ []string) (Answer, error) {
	if why := notThere(t); why != "" {
		return Answer{Text: why}, nil
	}
	name := filepath.Base(t.Root)
	done, err := d.host.Worktrees.Merge(ctx, t)
	conflict, conflicts := errors.AsType[*worktree.ConflictError](err)
	switch {
	case err == nil:
		return Answer{Text: wording.WorktreeMerged(name, done.Base, done.Commits)}, nil
	case conflicts:
		return Answer{Text: wording.WorktreeConflict(name, done.Base, conflict.Files)}, nil
	case errors.Is(err, worktree.ErrNoBase):
		return Answer{Text: wording.WorktreeNoBase}, nil
	default:
		return cannot(ctx, "merged", err)
	}
}

// removeWorktree shows what would be removed of a worktree, or removes it, if it is as it was shown.
func (d hostCommands) removeWorktree(ctx context.Context, call Call, t domain.Worktree, words []string) (Answer, error) {
	if why := notThere(t); why != "" {
		return Answer{Text: why}, nil
	}
	name := filepath.Base(t.Root)
	state, err := d.host.Worktrees.Look(ctx, t)
	switch {
	case err != nil:
		return cannot(ctx, "removed", err)
	case !state.Disposable():
		return Answer{}, &worktree.KeptError{State: state}
	}
	code := state.Head[:8]
	if len(words) < 4 {
		command := "/worktree remove " + name + " yes " + code
		return Answer{
			Text:    wording.WorktreePreview(d.shownWorktree(t, state), command),
			Buttons: []chat.Button{{Label: wording.WorktreeRemoveLabel, Data: command}},
		}, nil
	}
	if !strings.EqualFold(words[3], code) {
		return Answer{Text: wording.WorktreeChanged}, nil
	}
	s, err := d.store.Session(ctx, t.Session)
	if err != nil {
		return Answer{}, err
	}
	d.host.Claude.Retire(s.ClaudeSession)
	if err := d.host.Worktrees.Remove(ctx, t); err != nil {
		return cannot(ctx, "removed", err)
	}
	d.host.Log.Info("a worktree was removed", "worktree", t.Root, "by", who(call.Caller))
	return Answer{Text: wording.WorktreeGone(name)}, nil
}

// restoreWorktree makes a removed worktree again.
func (d hostCommands) restoreWorktree(ctx context.Context, _ Call, t domain.Worktree, _ []string) (Answer, error) {
	if notThere(t) == "" {
		return Answer{Text: wording.WorktreeThere}, nil
	}
	if err := d.host.Worktrees.Restore(ctx, t); err != nil {
		return cannot(ctx, "restored", err)
	}
	return Answer{Text: wording.WorktreeRestored(filepath.Base(t.Root))}, nil
}

// notThere says why nothing can be done with a worktree; empty: it exists.
func notThere(t domain.Worktree) string {
	switch {
	case !t.RemovedAt.IsZero():
		return wording.WorktreeRemoved
	case !t.Ready || !worktree.Exists(t):
		return wording.WorktreeAway
	}
	return ""
}

// cannot answers an error of git. Others are returned.
func cannot(ctx context.Context, what string, err error) (Answer, error) {
	kept := &worktree.KeptError{}
	if ctx.Err() != nil || errors.Is(err, worktree.ErrBusy) || errors.As(err, &kept) {
		return Answer{}, err
	}
	return Answer{Text: wording.WorktreeCannot(what, err.Error())}, nil
}
