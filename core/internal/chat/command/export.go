package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

const (
	exportPage = 1000
	// maxExport bounds the memory of an export. A longer history loses its beginning.
	maxExport = 100_000
	// maxExports bounds the size of all exports, in bytes. None is deleted: people asked for these copies.
	maxExports = 1 << 30
)

// errExportsFull says that an export would exceed maxExports.
var errExportsFull = errors.New("the exports have as many bytes as they may")

// export writes the session's history to a file on the host, one JSON value a line: a header, then each entry, oldest
// first.
func (d hostCommands) export(ctx context.Context, call Call) (string, error) {
	var entries []domain.Entry // newest first
	for before := int64(0); len(entries) < maxExport; before = entries[len(entries)-1].ID {
		page, err := d.store.Entries(ctx, call.Caller.Session, before, exportPage)
		if err != nil {
			return "", err
		}
		if len(page) == 0 {
			break
		}
		slices.Reverse(page)
		entries = append(entries, page...)
	}
	if len(entries) == 0 {
		return wording.NothingToExport, nil
	}
	slices.Reverse(entries)
	path, err := writeExport(d.host.ExportDir, call.Caller.Session, d.host.Now(), entries)
	if errors.Is(err, errExportsFull) {
		return wording.ExportsFull(d.host.ExportDir), nil
	}
	if err != nil {
		return "", fmt.Errorf("export a session: %w", err)
	}
	return wording.Exported(len(entries), path), nil
}

func writeExport(dir, session string, now time.Time, entries []domain.Entry) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	left, err := exportSpace(dir)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, fmt.Sprintf("%s-%s.jsonl", fileName(session), now.UTC().Format("20060102T150405.000Z")))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	buffer := bufio.NewWriter(&bounded{file, left})
	lines := json.NewEncoder(buffer)
	err = lines.Encode(map[string]any{"type": "session", "session": session, "exported_at": now.UTC()})
	for _, e := range entries {
		err = errors.Join(err, lines.Encode(e.Exported()))
	}
	return path, errors.Join(err, buffer.Flush(), file.Close())
}

// exportSpace is how many bytes an export may use.
func exportSpace(dir string) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	left := int64(maxExports)
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // otherwise it was deleted meanwhile
			left -= info.Size()
		}
	}
	return left, nil
}

// bounded is a file with a limited size.
type bounded struct {
	file *os.File
	left int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errExportsFull
	}
	return b.file.Write(p)
}

// fileName makes part of a file name from a session key.
func fileName(key string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, key)
	return name[:min(len(name), 100)]
}
