package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Plan is what is to be done.
type Plan struct {
	Steps []Step
	Notes []string // what is left as it is although it differs, and why
}

// Step is one thing to do. Its text is what a person would say or type.
type Step interface {
	fmt.Stringer
	do(context.Context, *Service) error
}

func (p *Plan) add(steps ...Step) { p.Steps = append(p.Steps, steps...) }

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// Do takes the steps in their order, up to the first that fails.
func (s *Service) Do(ctx context.Context, p *Plan) error {
	for _, step := range p.Steps {
		if err := step.do(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// folder makes a folder, or changes its permissions.
type folder struct {
	path string
	mode fs.FileMode
}

// String implements Step.
func (f folder) String() string { return fmt.Sprintf("make the folder %s (%04o)", f.path, f.mode) }

func (f folder) do(_ context.Context, s *Service) error {
	if err := os.MkdirAll(s.at(f.path), f.mode); err != nil {
		return err
	}
	return os.Chmod(s.at(f.path), f.mode) // whatever the umask is
}

// file writes a file.
type file struct {
	path    string
	mode    fs.FileMode
	text    string
	differs string // from what is there, a line each; empty: nothing is there
}

// String implements Step.
func (f file) String() string {
	text := fmt.Sprintf("write %s (%04o)", f.path, f.mode)
	switch {
	case f.differs != "":
		return text + ", changed:\n" + f.differs
	case f.text == "":
		return text + ", empty"
	}
	return text
}

// Text is the text of the file that a step writes; empty: it writes none, or shows what it changes.
func Text(step Step) string {
	if f, ok := step.(file); ok && f.differs == "" {
		return f.text
	}
	return ""
}

func (f file) do(_ context.Context, s *Service) error {
	return replace(s.at(f.path), f.mode, strings.NewReader(f.text))
}

// copied copies a file.
type copied struct {
	from, to string
	mode     fs.FileMode
}

// String implements Step.
func (c copied) String() string { return fmt.Sprintf("copy %s to %s (%04o)", c.from, c.to, c.mode) }

func (c copied) do(_ context.Context, s *Service) error {
	from, err := os.Open(s.at(c.from))
	if err != nil {
		return err
	}
	defer from.Close()
	return replace(s.at(c.to), c.mode, from)
}

// removed removes a file, or a folder if it is empty.
type removed struct {
	path   string
	folder bool
}

// String implements Step.
func (r removed) String() string {
	if r.folder {
		return fmt.Sprintf("remove %s, if it is empty", r.path)
	}
	return "remove " + r.path
}

func (r removed) do(_ context.Context, s *Service) error {
	if r.folder {
		if list, err := os.ReadDir(s.at(r.path)); err != nil || len(list) > 0 {
			return err
		}
	}
	if err := os.Remove(s.at(r.path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace writes a file beside its place and moves it there, so that whoever opens or executes it has the old one or the whole new one.
func replace(path string, mode fs.FileMode, text io.Reader) (err error) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = io.Copy(f, text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
