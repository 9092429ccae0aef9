package forget

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	maxLeft    = 1000      // files that are named
	maxDepth   = 40        // of folders
	pieceBytes = 256 << 10 // that are searched at once
)

// search returns the files that still name the person: of the state, of Claude Code, of the workspaces, and the log. Names of files
// count, too.
func search(ctx context.Context, c *config.Config, terms []string) (left []Left, more bool, err error) {
	f := &finder{ctx: ctx, terms: store.Spellings(terms), seen: map[string]bool{}}
	places := []string{c.StateDir}
	for _, a := range c.AllAgents() {
		places = append(places, a.Workspace)
		if a.Claude.ConfigDir != "" {
			places = append(places, a.Claude.ConfigDir)
		}
	}
	for _, place := range places {
		if err := f.folder(place, ""); err != nil {
			return f.left, f.more, err
		}
	}
	if c.Log.File != "" {
		name := filepath.Base(c.Log.File)
		err = f.folder(filepath.Dir(c.Log.File), strings.TrimSuffix(name, filepath.Ext(name))) // also the full ones
	}
	return f.left, f.more, err
}

// finder searches files.
type finder struct {
	ctx   context.Context // of the call that it lives for
	terms []string
	seen  map[string]bool // folders
	left  []Left
	more  bool
}

// folder searches a folder, with those below it unless names have to begin somehow.
func (f *finder) folder(dir, begin string) error {
	if len(f.terms) == 0 || f.seen[dir] {
		return nil
	}
	f.seen[dir] = begin == ""
	root, err := workspace.New(dir).Open()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := f.in(root, dir, ".", begin, 0); !errors.Is(err, fs.ErrNotExist) { // a missing folder can be opened, and not listed
		return err
	}
	return nil
}

func (f *finder) in(root *workspace.Folder, dir, name, begin string, depth int) error {
	entries, more, err := root.List(name, maxListed)
	if err != nil {
		return err
	}
	f.more = f.more || more || depth > maxDepth
	if depth > maxDepth {
		return nil
	}
	for _, e := range entries {
		if f.ctx.Err() != nil {
			return context.Cause(f.ctx)
		}
		at := path.Join(name, e.Name())
		switch {
		case begin != "" && (e.IsDir() || !strings.HasPrefix(e.Name(), begin)):
		case e.IsDir() && !f.seen[filepath.Join(dir, at)]:
			err = f.in(root, dir, at, "", depth+1)
		case e.Type().IsRegular():
			err = f.file(root, dir, at)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *finder) file(root *workspace.Folder, dir, name string) error {
	term := f.find([]byte(path.Base(name)))
	if term == "" {
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		term, err = f.read(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	switch {
	case term == "":
	case len(f.left) == maxLeft:
		f.more = true
	default:
		f.left = append(f.left, Left{Path: filepath.Join(dir, filepath.FromSlash(name)), Term: term})
	}
	return nil
}

// read returns the first term in a file; empty: there is none. Pieces overlap, so that none is between two.
func (f *finder) read(file io.Reader) (string, error) {
	overlap := 2 * utf8.UTFMax
	for _, term := range f.terms {
		overlap = max(overlap, len(term)+2*utf8.UTFMax)
	}
	piece := make([]byte, 0, pieceBytes+overlap)
	for {
		n, err := io.ReadFull(file, piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		if term := f.find(piece); term != "" {
			return term, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		piece = piece[:copy(piece[:cap(piece)], piece[max(0, len(piece)-overlap):])]
	}
}

func (f *finder) find(text []byte) string {
	i := slices.IndexFunc(f.terms, func(term string) bool {
		// In a database, values stand next to each other.
		return bytes.Contains(text, []byte(term)) && (bytes.IndexByte(text, 0) >= 0 || store.HasTerm(string(text), term))
	})
	if i < 0 {
		return ""
	}
	return f.terms[i]
}
