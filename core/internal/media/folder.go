package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

const (
	// outboundDir is the folder of the workspace that has a folder for each conversation, in which the agent may put files to be
	// sent.
	outboundDir = "outbound"
	// maxEntries is how many entries of a conversation's folder are looked at.
	maxEntries = 1000
	// inTheMaking is how long after its last change a file may still be one that a turn works on.
	inTheMaking = time.Hour
)

// Ledger knows the files of the conversations' folders that answers have dealt with; see [store.Store].
type Ledger interface {
	OutgoingFiles(ctx context.Context, folder string) ([]domain.OutgoingFile, error)
	DeleteOutgoing(ctx context.Context, files ...domain.OutgoingFile) error
}

// sessionForm is what names a conversation: the uuid of its claude session.
var sessionForm = regexp.MustCompile(`^[0-9a-f-]{8,36}$`)

// Folder is a conversation's folder, relative to the workspace. "": it has no name that could be one.
func Folder(session string) string {
	if !sessionForm.MatchString(session) {
		return ""
	}
	name := strings.ReplaceAll(session, "-", "")
	return filepath.Join(outboundDir, name[:min(len(name), 12)])
}

// Open makes a conversation's folder and returns its path as the agent is told it, relative to the workspace.
func (o *Outgoing) Open(session string) (string, error) {
	folder := Folder(session)
	if folder == "" {
		return "", fmt.Errorf("make the folder of outgoing files: %q names no conversation", session)
	}
	root, err := os.OpenRoot(o.workspace) // the agent can make links there
	if err != nil {
		return "", fmt.Errorf("make the folder of outgoing files: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of outgoing files: %w", err)
	}
	return folder, nil
}

// isFolder tells whether a folder is there, and is none that a link of the agent's making leads elsewhere for.
func isFolder(root *os.Root, folder string) bool {
	for dir := folder; dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// entries are what is in a folder, by name; nothing if it is not there.
func entries(root *os.Root, folder string) ([]string, error) {
	if !isFolder(root, folder) {
		return nil, nil
	}
	dir, err := openDir(root, folder)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// hidden tells whether a file of the folder stays there: its name begins with a dot.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// inFolder tells whether a path is one of those that are sent from the conversation's folder.
func (c *collection) inFolder(path string) bool {
	return filepath.Dir(path) == c.own && !hidden(filepath.Base(path))
}

// version tells a file from a later one of its name.
func version(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// folder takes what the agent has put into the conversation's folder, but for what an answer has dealt with: what was sent is
// about to be removed, and of the others the chat was told.
func (c *collection) folder(ctx context.Context) {
	if c.own == "" {
		return
	}
	names, err := entries(c.root, c.own)
	names = slices.DeleteFunc(names, hidden)
	var dealt []domain.OutgoingFile
	if err == nil && len(names) > 0 {
		dealt, err = c.ledger.OutgoingFiles(ctx, c.own)
	}
	if err != nil {
		c.log.Warn("look for outgoing files", "error", err) // They stay for the next answer.
		return
	}
	for _, name := range names {
		path := filepath.Join(c.own, name)
		info, err := c.root.Lstat(path)
		if err != nil {
			continue // the agent has taken it away
		}
		f := domain.OutgoingFile{Folder: c.own, Name: name, Version: version(info)}
		if slices.ContainsFunc(dealt, func(d domain.OutgoingFile) bool { return d.Name == f.Name && d.Version == f.Version }) {
			continue
		}
		fate := told
		if info.IsDir() {
			c.problem(wording.FileIsFolder(shown(name)))
		} else {
			fate = c.open(ctx, path)
		}
		if f.Sent = fate == sent; fate != kept {
			c.Files = append(c.Files, f)
		}
	}
}

// Clear removes the files of an answer that is durable, as far as they were sent with it. What it cannot remove is not sent
// again, and [Outgoing.Forget] removes it.
func (o *Outgoing) Clear(ctx context.Context, files []domain.OutgoingFile) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(o.workspace)
	if err != nil {
		return fmt.Errorf("remove sent files: %w", err)
	}
	defer root.Close()
	var over []domain.OutgoingFile
	var errs []error
	for _, f := range files {
		gone, err := clearFile(root, f)
		if errs = append(errs, err); gone {
			over = append(over, f)
		}
	}
	errs = append(errs, o.ledger.DeleteOutgoing(ctx, over...))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove sent files: %w", err)
	}
	return nil
}

// clearFile removes a file that was sent, and tells whether it, or what was told of it, is gone, be it for another one.
func clearFile(root *os.Root, f domain.OutgoingFile) (gone bool, err error) {
	path := filepath.Join(f.Folder, f.Name)
	if !isFolder(root, f.Folder) {
		return true, nil
	}
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case version(info) != f.Version:
		return true, nil
	case !f.Sent:
		return false, nil
	}
	err = root.Remove(path)
	return err == nil, err
}

// Discard removes the folders of conversations of long ago, and what sent files are left, as where the host has ended before it
// removed them. Where all are too much, the oldest files go.
func (o *Outgoing) Discard(ctx context.Context) error {
	err := forgetOld(o.workspace, outboundDir, fs.FileInfo.IsDir)
	files, ledgerErr := o.ledger.OutgoingFiles(ctx, "")
	return errors.Join(err, ledgerErr, o.room.clear(), o.Clear(ctx, files))
}

// others tells whether a path of the workspace is the owner's memory, or of other chats than the one whose own folder is given.
func others(path, own string) bool {
	if own != "" && strings.HasPrefix(path, own+string(filepath.Separator)) {
		return false
	}
	first, _, _ := strings.Cut(path, string(filepath.Separator))
	return slices.ContainsFunc([]string{"MEMORY.md", "memory", inboundDir, outboundDir}, func(name string) bool { return strings.EqualFold(first, name) })
}
