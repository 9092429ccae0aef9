package core

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// inboundDir is the folder of the workspace in which the agent finds the files that people send. It may read nothing of
	// the host's own folder.
	inboundDir = "inbound"
	// inboundAge is how long they are kept, there and in the host's own folder.
	inboundAge = 30 * 24 * time.Hour
	// allMedia is how much of them the host's own folder keeps, in bytes.
	allMedia = 2 << 30
)

// attachment puts a file where the agent can read it. One that cannot be put there is told of all the same.
func (h *Host) attachment(channel string, m chat.Media) envelope.Attachment {
	a := envelope.Attachment{Media: m}
	if m.Ref == "" {
		return a
	}
	if ref := string(m.Ref); !filepath.IsLocal(ref) || filepath.Base(ref) != ref {
		h.log.Warn("a plugin names a file that cannot be one of its own", "channel", channel)
		return a
	}
	path, err := h.expose(filepath.Join(h.mediaDir(), channel, string(m.Ref)), string(m.Ref)+extension(m.MIMEType))
	if err != nil {
		h.log.Warn("a file cannot be shown to the agent", "channel", channel, "error", err)
		return a
	}
	a.Path = path
	return a
}

// expose copies a file of the host's into the workspace, under a name of the host's.
func (h *Host) expose(from, name string) (path string, err error) {
	root, err := os.OpenRoot(h.config.Agent.Workspace) // the agent can make links there
	if err != nil {
		return "", err
	}
	defer root.Close()
	name = filepath.Join(inboundDir, name)
	path = filepath.Join(h.config.Agent.Workspace, name)
	if _, err := root.Stat(name); err == nil {
		return path, nil
	}
	if err := root.MkdirAll(inboundDir, 0o700); err != nil {
		return "", err
	}
	source, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer source.Close()
	part := name + ".part"
	if err := root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	target, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // never a pipe that the agent has put there
	if err != nil {
		return "", err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err != nil {
		return "", errors.Join(err, root.Remove(part))
	}
	return path, root.Rename(part, name)
}

// extension is the usual ending of a type's files, or nothing.
func extension(mimeType string) string {
	switch mimeType {
	case "image/jpeg":
		return ".jpg" // the first of several that the system knows is another one
	case "audio/ogg":
		return ".ogg"
	}
	endings, err := mime.ExtensionsByType(mimeType)
	if err != nil || len(endings) == 0 {
		return ""
	}
	return endings[0]
}

// forgetMedia removes the files that plugins stored long ago, and the oldest ones where all of them are too much: whoever
// finds a bot can send it files.
func (h *Host) forgetMedia() error {
	type file struct {
		path string
		info fs.FileInfo
	}
	var files []file
	err := filepath.WalkDir(h.mediaDir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		switch {
		case err == nil:
			files = append(files, file{path, info})
		case errors.Is(err, fs.ErrNotExist): // an upload that failed
			err = nil
		}
		return err
	})
	slices.SortFunc(files, func(a, b file) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	errs := []error{err}
	var bytes int64
	for _, f := range files {
		if bytes += f.info.Size(); bytes > allMedia || time.Since(f.info.ModTime()) > inboundAge {
			errs = append(errs, os.Remove(f.path))
		}
	}
	return errors.Join(errs...)
}

// forgetInbound removes the files that people sent long ago.
func (h *Host) forgetInbound() error {
	root, err := os.OpenRoot(h.config.Agent.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), inboundDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > inboundAge {
			errs = append(errs, root.Remove(filepath.Join(inboundDir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
