package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	maxFound = 16_000 // bytes of passages that a search returns
	maxLines = 500    // of a file per call
	maxRead  = 48_000 // bytes per call
)

// Errors for the model.
var (
	errNotOpen = errors.New("the memory is not open in this chat: only its owner can ask for it, in a direct chat")
	errBroken  = errors.New("the memory cannot be read at the moment; go on without it")
	errNoFile  = errors.New("there is no such file: the paths are MEMORY.md and memory/<name>.md, and a search finds them")
)

// Tools returns the agents' tools. They work for callers with a view of their agent's memory, and for no others.
func (a *agents) Tools() []sdk.AgentTool {
	tools := []sdk.AgentTool{
		sdk.Tool("search", "Search the notes in MEMORY.md and memory/*.md and earlier conversations, by words. "+
			"Use it for what you might have been told before and do not see now: people, dates, decisions, preferences, things to do. "+
			"Each passage tells where it is from; read more of a file with memory_get.", using(a, (*memory).search)),
		sdk.Tool("get", "Read lines of a memory file: MEMORY.md or memory/<name>.md.", using(a, (*memory).get)),
	}
	if a.config.Groups == ownGroups {
		tools = append(tools, sdk.Tool("note",
			"In a group: keep something in the group's own memory, which nobody else's conversations have.", using(a, (*memory).note)).
			Remembers(chat.Group, chat.Broadcast))
	}
	return tools
}

// using returns a tool that uses the memory of the caller's agent.
func using[In any](
	a *agents, use func(*memory, context.Context, sdk.ToolCall, In) (string, error),
) func(context.Context, sdk.ToolCall, In) (string, error) {
	return func(ctx context.Context, call sdk.ToolCall, in In) (string, error) {
		m, err := a.memory(ctx, call.Caller)
		if err != nil {
			a.log.Error("the memory of an agent cannot be opened", "agent", call.Caller.Agent, "error", err)
			_ = a.alarm.report(err) // ends Run if the index is damaged
			return "", errBroken
		}
		return use(m, ctx, call, in)
	}
}

type searchIn struct {
	Query string `json:"query" jsonschema:"Words that are likely to stand in the notes, with names and other forms of them."`
	Limit int    `json:"limit" default:"5" jsonschema:"How many passages at most, from 1 to 20."`
}

// search finds passages.
func (m *memory) search(ctx context.Context, call sdk.ToolCall, in searchIn) (string, error) {
	v, err := m.open(ctx, call)
	if err != nil {
		return "", err
	}
	best, err := m.find(ctx, v, in.Query, max(1, min(in.Limit, 20)))
	if err != nil {
		return "", m.hide(err)
	}
	if text := block(best, maxFound); text != "" {
		return text, nil
	}
	return "Nothing in the memory fits. Other words may.", nil
}

type getIn struct {
	Path  string `json:"path" jsonschema:"MEMORY.md or memory/<name>.md."`
	From  int    `json:"from" default:"1" jsonschema:"The first line, counted from 1."`
	Lines int    `json:"lines" default:"100" jsonschema:"How many lines, at most 500."`
}

// get reads lines of a file.
func (m *memory) get(ctx context.Context, call sdk.ToolCall, in getIn) (string, error) {
	v, err := m.open(ctx, call)
	if err != nil {
		return "", err
	}
	text, err := m.files.read(v.folder, in.Path)
	if err != nil {
		return "", err
	}
	if !v.private {
		text = redacted(text)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	from := max(1, in.From)
	if from > len(lines) {
		return "", fmt.Errorf("%s has only %d lines", in.Path, len(lines))
	}
	to, size := from-1, 0
	for last := min(len(lines), from-1+max(1, min(in.Lines, maxLines))); to < last; to++ {
		if size += len(lines[to]) + 1; size > maxRead && to >= from {
			break
		}
	}
	return fmt.Sprintf("%s, lines %d to %d of %d:\n%s", in.Path, from, to, len(lines),
		shorten(strings.Join(lines[from-1:to], "\n"), maxRead)), nil
}

// open returns the view of a caller. The error is for the model.
func (m *memory) open(ctx context.Context, call sdk.ToolCall) (view, error) {
	v, allowed, err := m.access.look(ctx, call.Caller)
	switch {
	case err != nil:
		return view{}, m.hide(err)
	case !allowed:
		return view{}, errNotOpen
	}
	return v, nil
}

// hide replaces an error of the index by one for the model.
func (m *memory) hide(err error) error {
	m.log.Error("the memory cannot be read", "error", err)
	_ = m.alarm.report(err) // ends Run if the index is damaged
	return errBroken
}

// read reads a memory file: of a group's folder, or else one of the owner's. Links out of memory/, or out of the group's folder, are
// refused, and so is MEMORY.md as a link.
func (f *files) read(folder, name string) (string, error) {
	if !filepath.IsLocal(name) || path.Clean(name) != name || folder == "" && f.groups && strings.HasPrefix(name, groupsFolder) {
		return "", errNoFile
	}
	root, err := openFolder(f.workspace, folder)
	if err != nil {
		return "", errNoFile
	}
	defer root.Close()
	if folder != "" {
		own, ok := strings.CutPrefix(name, folder+"/")
		if !ok || strings.Contains(own, "/") || !strings.EqualFold(path.Ext(own), ".md") {
			return "", errNoFile
		}
		return readText(root, own)
	}
	if below, ok := strings.CutPrefix(name, "memory/"); ok && strings.EqualFold(path.Ext(name), ".md") {
		folder, err := root.Folder("memory")
		if err != nil {
			return "", errNoFile
		}
		defer folder.Close()
		return readText(folder, below)
	}
	if info, err := root.Lstat(name); name != "MEMORY.md" || err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return "", errNoFile
	}
	return readText(root, name)
}

func readText(root *workspace.Folder, name string) (string, error) {
	text, _, err := readFile(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNoFile
	case err != nil:
		return "", errors.New("the file cannot be read: it is too large, no text, or no file of the memory")
	}
	return string(text), nil
}
