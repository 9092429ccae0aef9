package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// groupsFolder has a folder for each group, and groupsEnd is behind all paths in it.
	groupsFolder = "memory/groups/"
	groupsEnd    = "memory/groups0"

	maxNote  = 2000     // bytes of a note
	maxNotes = 64 << 10 // bytes of a group's notes of a day
)

// ownGroups is the value of the setting groups that gives each group a memory of its own.
const ownGroups = "own"

// groupTold is what the prompt says about a group's own memory.
const groupTold = "This group has a memory of its own, apart from what your owner has told you: memory_note keeps something in it, memory_search and memory_get find it."

var errNoGroup = errors.New("this is not a group: write into MEMORY.md or memory/ yourself")

// groupFolder returns the folder of a group's memory, which the group's threads share. False: the session is not a group's.
func groupFolder(session string) (string, bool) {
	parts := strings.Split(session, ":")
	if n := len(parts); n != 3 && (n != 5 || parts[3] != "thread") || parts[0] == "peer" || parts[1] != "group" {
		return "", false
	}
	sum := sha256.Sum256([]byte(strings.Join(parts[:3], ":")))
	readable := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, parts[0]+" "+parts[2])
	return groupsFolder + readable[:min(len(readable), 60)] + "-" + hex.EncodeToString(sum[:8]), true
}

// openFolder opens the workspace, or a group's folder in it, to which no link leads.
func openFolder(w *workspace.Workspace, folder string) (*workspace.Folder, error) {
	root, err := w.Open()
	if err != nil || folder == "" {
		return root, err
	}
	defer root.Close()
	for at := folder; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s: %w", at, workspace.ErrNoFolder)
		}
	}
	return root.Folder(folder)
}

type noteIn struct {
	Text string `json:"text" jsonschema:"What is to be remembered, in a sentence or two."`
}

// note appends to the memory of the caller's group.
func (m *memory) note(ctx context.Context, call sdk.ToolCall, in noteIn) (string, error) {
	v, err := m.open(ctx, call)
	switch {
	case err != nil:
		return "", err
	case v.folder == "":
		return "", errNoGroup
	}
	text := printable(redacted(in.Text))
	if text == "" || len(text) > maxNote {
		return "", fmt.Errorf("a note has 1 to %d bytes, this one has %d", maxNote, len(text))
	}
	if err := m.files.note(ctx, v.folder, text); err != nil {
		if errors.Is(err, errFull) {
			return "", errFull
		}
		m.log.Error("a note cannot be written", "folder", v.folder, "error", err)
		return "", errors.New("the note cannot be written at the moment; go on without it")
	}
	return "Noted, for this group only.", nil
}

var errFull = errors.New("this group has as many notes of today as are kept")

// note appends a line to a group's notes of the day.
func (f *files) note(ctx context.Context, folder, text string) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	root, err := f.workspace.Open()
	if err != nil {
		return err
	}
	err = root.Do(func(root *os.Root) error { return root.MkdirAll(folder, 0o700) })
	if err := errors.Join(err, root.Close()); err != nil {
		return err
	}
	notes, err := openFolder(f.workspace, folder)
	if err != nil {
		return err
	}
	defer notes.Close()
	name, line := f.now().Format(time.DateOnly)+".md", "- "+text+"\n"
	switch info, err := notes.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w", name, workspace.ErrNoFile)
	case info.Size()+int64(len(line)) > maxNotes:
		return errFull
	}
	return notes.Append(name, []byte(line))
}
