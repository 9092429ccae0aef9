package jobs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// The output of a job is kept in files: its beginning in the first, and, if that is full, its end in the two others, of which the
// older one is replaced when the newer one is full. So the end has at least a quarter of what is kept.
const (
	outputFile = "output"
	newerFile  = "output.newer"
	olderFile  = "output.older"
)

// output keeps the output of a job.
type output struct {
	folder  string
	most    int64
	written int64 // bytes, also those that are not kept
	first   *os.File
	full    bool     // the first one is
	newer   *os.File // nil: there is none yet, or it could not be created
	left    int64    // bytes until the file that is written is full
}

func newOutput(folder string, most int64) (*output, error) {
	first, err := create(filepath.Join(folder, outputFile))
	if err != nil {
		return nil, err
	}
	return &output{folder: folder, most: most, first: first, left: most / 2}, nil
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

// Write writes to the files.
func (o *output) Write(p []byte) (int, error) {
	o.written += int64(len(p))
	for rest := p; len(rest) > 0; {
		if o.left == 0 {
			if err := o.turn(); err != nil {
				return 0, err // and this is not kept
			}
		}
		n := min(int64(len(rest)), o.left)
		to := o.first
		if o.full {
			to = o.newer
		}
		if _, err := to.Write(rest[:n]); err != nil {
			return 0, err
		}
		o.left -= n
		rest = rest[n:]
	}
	return len(p), nil
}

// turn begins the next file.
func (o *output) turn() error {
	o.full = true
	newer := filepath.Join(o.folder, newerFile)
	if o.newer != nil {
		_ = o.newer.Close()
		o.newer = nil
		if err := os.Rename(newer, filepath.Join(o.folder, olderFile)); err != nil {
			return err
		}
	}
	next, err := create(newer)
	if err != nil {
		return err
	}
	o.newer, o.left = next, o.most/4
	return nil
}

// Close closes the files.
func (o *output) Close() error {
	err := o.first.Close()
	if o.newer != nil {
		err = errors.Join(err, o.newer.Close())
	}
	return err
}

// readOutput returns a part of what is kept of a job's output: size bytes from an offset, or, if that is negative, the last ones;
// and how many are kept.
func readOutput(from *workspace.Workspace, offset, size int64) (part []byte, kept int64, err error) {
	folder, err := from.Open()
	if err != nil {
		return nil, 0, err
	}
	defer folder.Close()
	var files []*workspace.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for _, name := range []string{outputFile, olderFile, newerFile} {
		f, err := folder.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, 0, err
		}
		files = append(files, f)
		kept += f.Info().Size()
	}
	if offset < 0 {
		offset = max(0, kept-size)
	}
	for _, f := range files {
		has := f.Info().Size()
		if offset >= has {
			offset -= has
			continue
		}
		piece, err := io.ReadAll(io.NewSectionReader(f, offset, min(size-int64(len(part)), has-offset)))
		part = append(part, piece...)
		offset = 0
		if err != nil || int64(len(part)) == size {
			return part, kept, err
		}
	}
	return part, kept, nil
}

// place is the folder of a job.
func place(folder string, id int64) string { return filepath.Join(folder, strconv.FormatInt(id, 10)) }
